import type { QueryInitializer } from "convex/server";
import {
  getConvexSize,
  type GenericId,
  type Infer,
  type ObjectType,
  v,
  type Value,
} from "convex/values";
import type {
  Doc,
  Gate,
  Host,
  HostCtx,
  HostQueryCtx,
  MutationCtx,
  PoolDataModel,
  QueryCtx,
  Slot,
  Work,
} from "./context.js";
import { readGate } from "./gate.js";
import { setAside } from "./set-aside.js";

/** Larger arguments are stored apart: a completion reads many rows of the queue. */
const QUEUED_ARGS_BYTES = 512;

export async function joinQueue(
  ctx: MutationCtx,
  { work, fn, args, argsInRecord = false, timeoutMs, brief, group }: Work,
): Promise<void> {
  const large = !argsInRecord && getConvexSize(args as Value) >= QUEUED_ARGS_BYTES;
  await ctx.db.insert("waiting", {
    work,
    fn,
    args: large || argsInRecord ? null : args,
    largeArgs: large ? await ctx.db.insert("largeArgs", { args }) : undefined,
    timeoutMs,
    brief,
    group,
    at: ctx.db.vars.commitTs,
  });
}

const vAsking = v.object({ number: v.number(), of: v.number() });
/** A slot that takes a work, and how many slots there are. */
type Asking = Infer<typeof vAsking>;

export const queueHeadArgs = { count: v.number(), asking: v.optional(vAsking) };

/**
 * The oldest waiting works, for reading from a stale snapshot. For a slot it goes on only up to a
 * work that the slot prefers, but sees whether {@link few} wait.
 */
export async function queueHead(
  ctx: HostQueryCtx,
  { count, asking }: ObjectType<typeof queueHeadArgs>,
): Promise<GenericId<"waiting">[]> {
  const head: GenericId<"waiting">[] = [];
  let most = count;
  for await (const { _id } of ctx.db.query("waiting").withIndex("by_commit")) {
    head.push(_id);
    if (asking !== undefined && slotFor(_id, asking.of) === asking.number) most = few(asking);
    if (head.length >= most) break;
  }
  return head;
}

const few = ({ of }: Asking): number => Math.ceil(of / 2);

/** A slot prefers other works each second, so that no work depends on one slot. */
const PREFERS_FOR_MS = 1_000;

/**
 * The number of the slot, of so many, that prefers a work: so completions of one moment, and the
 * drain for the slots that are free, take different works.
 */
export function slotFor(id: GenericId<"waiting">, slots: number): number {
  let hash = Math.floor(Date.now() / PREFERS_FOR_MS);
  for (const char of id) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  return hash % slots;
}

/** In a pool of so many slots or more, the window is four times the pool. */
const FULL_WINDOW_FROM = 30;

/** Of how many oldest waiting works a completion takes one. */
export function windowOf(maxParallelism: number): number {
  if (maxParallelism <= 1) return 1;
  return Math.ceil(maxParallelism * Math.min(4, 1 + (3 * maxParallelism) / FULL_WINDOW_FROM));
}

/** The oldest waiting works, from a stale snapshot: no dependency, and no proof. */
export async function seeQueue(
  ctx: MutationCtx,
  host: Host,
  count: number,
  asking?: Asking,
): Promise<GenericId<"waiting">[]> {
  const head = { count, asking };
  return await ctx.runQuery(host.functions.queueHead, head, { useStaleSnapshot: true });
}

/** Whether more works seem to wait than the pool runs at once. */
export async function isCrowded(ctx: HostCtx, host: Host): Promise<boolean> {
  const gate = await readGate(ctx);
  if (gate === null || gate.open) return false;
  return (await seeQueue(ctx, host, gate.maxParallelism)).length === gate.maxParallelism;
}

/**
 * Sees the queue as far as a slot must that is to take a work.
 * @returns works to try, in this order, and whether these are all that wait.
 */
export async function seeNearFirst(
  ctx: MutationCtx,
  host: Host,
  { maxParallelism }: Gate,
  { number }: Slot,
) {
  const asking = { number, of: maxParallelism };
  const count = windowOf(maxParallelism);
  const head = await seeQueue(ctx, host, count, asking);
  const preferred = head.findIndex((id) => slotFor(id, maxParallelism) === number);
  const start = preferred < 0 ? Math.floor(Math.random() * head.length) : preferred;
  const all = head.length < (preferred < 0 ? count : few(asking));
  return { seen: [...head.slice(start), ...head.slice(0, start)], all };
}

/** Takes the first of these works that is there off the queue; `seen` keeps those after it. */
export async function leaveQueueAmong(ctx: MutationCtx, seen: GenericId<"waiting">[]) {
  for (let id = seen.shift(); id !== undefined; id = seen.shift()) {
    const work = await leaveQueueAt(ctx, id);
    if (work !== null) return work;
  }
  return null;
}

/** Whether a work waits, from a serializable read. */
export async function anyWaits(ctx: QueryCtx): Promise<boolean> {
  return (await ctx.db.query("waiting").withIndex("by_commit").first()) !== null;
}

/** Takes this work off the queue; null if it is gone, or had to be set aside. */
export async function leaveQueueAt(ctx: MutationCtx, id: GenericId<"waiting">) {
  const row = await ctx.db.get("waiting", id);
  return row === null ? null : await leaveQueue(ctx, row);
}

/** Takes the oldest waiting work off the queue; null if nothing waits. */
export async function leaveQueueFirst(ctx: MutationCtx): Promise<Work | null> {
  for (;;) {
    const first = await ctx.db.query("waiting").withIndex("by_commit").first();
    if (first === null) return null;
    const work = await leaveQueue(ctx, first);
    if (work !== null) return work;
  }
}

/** Takes a work that shall not run any more off the queue. @returns whether it was waiting. */
export async function leaveQueueCanceled(ctx: HostCtx, work: string): Promise<boolean> {
  const row = await waitingRow(ctx, work);
  if (row === null) return false;
  await leaveQueue(ctx, row);
  return true;
}

/** The work of a group that has joined the queue last, of those that wait; null if none does. */
export async function lastWaitingOf(ctx: HostQueryCtx, group: string): Promise<string | null> {
  const waiting: QueryInitializer<PoolDataModel["waiting"]> = ctx.db.query("waiting");
  const ofGroup = waiting.withIndex("by_group", (q) => q.eq("group", group));
  return (await ofGroup.order("desc").first())?.work ?? null;
}

export async function isWaiting(ctx: HostQueryCtx, work: string): Promise<boolean> {
  return (await waitingRow(ctx, work)) !== null;
}

async function waitingRow(ctx: QueryCtx, work: string): Promise<Doc<"waiting"> | null> {
  return await ctx.db
    .query("waiting")
    .withIndex("by_work", (q) => q.eq("work", work))
    .first();
}

/** Takes the row off the queue. @returns its work, or null if it had to be set aside. */
async function leaveQueue(ctx: MutationCtx, row: Doc<"waiting">): Promise<Work | null> {
  await ctx.db.delete("waiting", row._id);
  const { work, fn, timeoutMs, brief, group } = row;
  const rest = { work, fn, timeoutMs, brief, group };
  if (row.largeArgs === undefined) {
    // Arguments are never null, but for those that the host keeps.
    const argsInRecord = row.args === null;
    return { ...rest, args: argsInRecord ? {} : row.args, argsInRecord };
  }
  const large = await ctx.db.get("largeArgs", row.largeArgs);
  if (large === null) {
    await setAside(ctx, work, `The arguments of the waiting work "${work}" are gone`);
    return null;
  }
  await ctx.db.delete("largeArgs", row.largeArgs);
  return { ...rest, args: large.args };
}
