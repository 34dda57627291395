import type { QueryInitializer } from "convex/server";
import { type GenericId, type Infer, type ObjectType, v } from "convex/values";
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
import { isFair, randomLane } from "./fair.js";
import { knownGate, readGate } from "./gate.js";
import {
  blockLine,
  giveBackUnused,
  leaveLineCanceled,
  limitedRow,
  lineOf,
  ringLines,
} from "./limits/lines.js";
import { nthHere } from "./limits/joined.js";
import { hasLeftQueue, keepOfBuckets, letGo } from "./limits/buckets.js";
import { freePermits, limitedBy, type Held, takePermits } from "./limits/permits.js";
import { watchWait } from "./limits/unattended.js";
import { queuedOf, workOfQueued } from "./queued.js";
import { poolTx } from "./transaction.js";

export async function joinQueue(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  work: Work,
): Promise<void> {
  letGo(ctx, work.work);
  const group = work.permits === undefined ? work.group : lineOf(gate, work);
  const lane = randomLane(work, lanesOf(gate));
  if (work.fair !== undefined && !isFair(poolTx(ctx).gate ?? gate)) {
    await ctx.db.patch("gate", gate._id, { fair: true });
    // From here on it holds in this transaction too.
    await readGate(ctx);
  }
  const nth = group === undefined ? undefined : await nthHere(ctx, work, group, true);
  const row = { ...(await queuedOf(ctx, host, work)), nth, lane, group };
  const id = await ctx.db.insert("waiting", row);
  poolTx(ctx).joined.set(work.work, id);
  await watchWait(ctx, host, work);
}

/** A place in the order of commits: before what was committed from that time on, in ms. */
export const placeAt = (ms: number): bigint => BigInt(Math.floor(ms)) * 1_000_000n;

/**
 * The place of a work that comes at a time: by its commit, or earlier by its priority. A later
 * attempt has that of the first.
 */
export function placeOf({ cameAt, priorityMs = 0, isAgain }: Coming): bigint | undefined {
  return isAgain || priorityMs > 0 ? placeAt(cameAt - priorityMs) : undefined;
}

interface Coming {
  /** When it could have started first, in ms since the epoch. */
  readonly cameAt: number;
  /** By how many ms it goes earlier. Default: 0. */
  readonly priorityMs?: number | undefined;
  /** It has had an attempt. */
  readonly isAgain: boolean;
}

/** How many lanes the queue has: one per slot, or more if the pool had more when works came. */
export function lanesOf({ maxParallelism, lanes = 1 }: Gate): number {
  return Math.max(lanes, maxParallelism);
}

/** A slot takes from another lane each second, so that no work waits for the end of one other. */
export const TURN_MS = 1_000;

/** The lane of a slot, which is no other slot's at that moment. */
function laneFor(gate: Gate, { number }: Pick<Slot, "number">): number {
  // guard: preference, else 0
  return (number + Math.floor(Date.now() / TURN_MS)) % lanesOf(gate);
}

/**
 * A completion looks at so many works, or one per slot. With 6 it tells few from many less well,
 * and twice as many ends conflict at 3/4 of what a pool of 50 can do; with 12 it reads 4 documents
 * more for nothing.
 */
export const LOOK = 8;
/**
 * Few wait if there are fewer per lane than this. With 0.25, ends conflict thirty times as often at
 * that load, as they compete for the few.
 */
const FEW_PER_LANE = 0.5;

/** Ends of a smaller pool seldom meet, and leaving works to the drain costs 0.7 calls for each. */
export const LARGE_POOL = 16;

const vLook = v.object({ lane: v.number(), count: v.number() });
type Look = Infer<typeof vLook>;
export const looksArgs = { looks: v.array(vLook) };

/** What a look has found, of up to `count` works. */
export const vSeen = v.object({
  /** The oldest of the lane itself, then works that are not the oldest of theirs. */
  free: v.array(v.id("waiting")),
  /** The oldest of other lanes: other slots may take them at the same moment. */
  others: v.array(v.id("waiting")),
  /** Says whether few works wait, as far as was seen. */
  areFew: v.boolean(),
  /** Says whether no others wait. */
  areAll: v.boolean(),
});
type Seen = Infer<typeof vSeen>;

/**
 * Returns the oldest works of each look's lane, and then those of the lanes behind it, all around.
 * Read it from a stale snapshot.
 */
export async function lookAtLanes(
  ctx: HostQueryCtx,
  { looks }: ObjectType<typeof looksArgs>,
): Promise<Seen[]> {
  const seen: Seen[] = [];
  for (const asked of looks) seen.push(await lookAt(ctx, asked));
  return seen;
}

async function lookAt(ctx: HostQueryCtx, { lane, count }: Look): Promise<Seen> {
  const waiting: QueryInitializer<PoolDataModel["waiting"]> = ctx.db.query("waiting");
  // Rows of an earlier version have no lane: they are the first of the first one.
  const from = lane === 0 ? undefined : lane;
  const behind = await waiting.withIndex("by_lane", (q) => q.gte("lane", from)).take(count);
  const left = count - behind.length;
  const isAround = left > 0 && lane > 0;
  const before = isAround
    ? await waiting.withIndex("by_lane", (q) => q.lt("lane", lane)).take(left)
    : [];
  const areAll = left > before.length;
  const lanes = before.length > 0 ? Infinity : (behind.at(-1)?.lane ?? lane) - lane + 1;
  const areFew = areAll || count < lanes * FEW_PER_LANE;
  const [own, rest] =
    behind.length > 0 && (behind[0]!.lane ?? 0) === lane
      ? [behind.slice(0, 1), behind.slice(1)]
      : [[], behind];
  const others: GenericId<"waiting">[] = [];
  const free: GenericId<"waiting">[] = [];
  let last = own.length > 0 ? lane : undefined;
  for (const row of [...rest, ...before]) {
    const at = row.lane ?? 0;
    (at === last ? free : others).push(row._id);
    last = at;
  }
  // Slots whose lanes are empty see the same works.
  const first = Math.floor(Math.random() * free.length);
  const inTurn = [...free.slice(first), ...free.slice(0, first)];
  return { free: [...own.map(({ _id }) => _id), ...inTurn], others, areFew, areAll };
}

/** What works wait, from a stale snapshot: no dependency, and no proof. */
async function look(ctx: MutationCtx, host: Host, looks: Look[]): Promise<Seen[]> {
  return await ctx.runQuery(host.functions.lookAtLanes, { looks }, { useStaleSnapshot: true });
}

type Whose = Pick<Slot, "number" | "fair">;

/** The same for these slots, where slots are shared by keys. */
async function lookForKeys(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  slots: readonly Whose[],
  tells?: boolean,
) {
  const [count, after] = [slots.length, slots.at(-1)?.fair];
  const args = { count, after, lanes: lanesOf(gate), slots: gate.maxParallelism, tells };
  return await ctx.runQuery(host.functions.lookFairly, args, { useStaleSnapshot: true });
}

/** What the slot of a work that ends may take. */
export async function seeQueueFor(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  slot: Whose,
): Promise<Seen> {
  if (isFair(gate)) {
    const tells = gate.maxParallelism >= LARGE_POOL;
    const { rows, areFew } = await lookForKeys(ctx, host, gate, [slot], tells);
    return { free: rows, others: [], areFew, areAll: areFew };
  }
  const count = Math.min(LOOK, gate.maxParallelism);
  const [seen] = await look(ctx, host, [{ lane: laneFor(gate, slot), count }]);
  return seen!;
}

/**
 * Works for free slots. If there are enough, they are those that ends of other works seldom take:
 * of each slot's lane, and then the last that are seen.
 */
export async function seeQueueForAll(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  slots: readonly Whose[],
): Promise<GenericId<"waiting">[]> {
  if (isFair(gate)) return (await lookForKeys(ctx, host, gate, slots)).rows;
  const [some] = await look(ctx, host, [{ lane: 0, count: slots.length }]);
  const { free, others, areAll } = some!;
  if (areAll) return [...free, ...others];
  const looks = slots.map((slot) => ({ lane: laneFor(gate, slot), count: 2 }));
  const own = (await look(ctx, host, looks)).flatMap((seen) => seen.free.slice(0, 1));
  const seldom = [...new Set([...own, ...free.reverse()])];
  return seldom.length > 0 ? seldom : others;
}

/** Says whether so many works seem to wait. */
export async function seemToWait(ctx: MutationCtx, host: Host, count: number): Promise<boolean> {
  const [seen] = await look(ctx, host, [{ lane: 0, count }]);
  return !seen!.areAll;
}

/** Says whether more works seem to wait than the pool runs at once. */
export async function isCrowded(ctx: HostCtx, host: Host): Promise<boolean> {
  const gate = await readGate(ctx);
  if (gate === null || gate.open) return false;
  return await seemToWait(ctx, host, gate.maxParallelism);
}

/** Takes the first of these works that is there off the queue; `seen` keeps those after it. */
export async function leaveQueueAmong(
  ctx: MutationCtx,
  host: Host,
  seen: GenericId<"waiting">[],
): Promise<Work | null> {
  for (let id = seen.shift(); id !== undefined; id = seen.shift()) {
    const work = await leaveQueueAt(ctx, host, id);
    if (work !== null) return work;
  }
  return null;
}

/** Says whether a work waits, from a serializable read. */
export async function anyWaits(ctx: QueryCtx): Promise<boolean> {
  return (await ctx.db.query("waiting").withIndex("by_commit").first()) !== null;
}

/** Takes this work off the queue; null if it is gone, is set aside, or waits for a limit now. */
export async function leaveQueueAt(ctx: MutationCtx, host: Host, id: GenericId<"waiting">) {
  const row = await ctx.db.get("waiting", id);
  return row === null ? null : await leaveQueue(ctx, host, row);
}

/** Says whether a work has a function of its own: executors run the others. */
export const isAlone = ({ fn }: Pick<Doc<"waiting">, "fn">): boolean => fn !== undefined;

/** Takes the oldest waiting work off the queue: undefined if that cannot start, null if none is. */
export async function leaveQueueFirst(ctx: MutationCtx, host: Host) {
  const first = await ctx.db.query("waiting").withIndex("by_commit").first();
  return first === null ? null : ((await leaveQueue(ctx, host, first)) ?? undefined);
}

/**
 * Takes a work that shall not run now out of the queue, or out of its line. @returns its place
 * there, for `at` of a work that is to have it again; null if it was not waiting.
 */
export async function leaveQueueCanceled(ctx: HostCtx, host: Host, work: string) {
  const row = await waitingRow(ctx, work);
  if (row === null) return await leaveLineCanceled(ctx, work);
  await ctx.db.delete("waiting", row._id);
  await workOfQueued(ctx, row);
  await ringLines(ctx, host, row.permits);
  await hasLeftQueue(ctx, host, row);
  return row.at;
}

/** The work of a group that has joined the queue last, of those that wait; null if none does. */
export async function lastWaitingOf(ctx: HostQueryCtx, group: string): Promise<string | null> {
  const waiting: QueryInitializer<PoolDataModel["waiting"]> = ctx.db.query("waiting");
  const ofGroup = waiting.withIndex("by_group", (q) => q.eq("group", group));
  return (await ofGroup.order("desc").first())?.work ?? null;
}

/** Says whether a work waits: for a slot, or for a limit. */
export async function isWaiting(ctx: HostQueryCtx, work: string): Promise<boolean> {
  return (await waitingRow(ctx, work)) !== null || (await limitedRow(ctx, work)) !== null;
}

async function waitingRow(ctx: QueryCtx, work: string): Promise<Doc<"waiting"> | null> {
  return await ctx.db
    .query("waiting")
    .withIndex("by_work", (q) => q.eq("work", work))
    .first();
}

/** Takes the row off the queue, with its permits. @returns null if there are none, as above. */
async function leaveQueue(ctx: MutationCtx, host: Host, row: Doc<"waiting">): Promise<Work | null> {
  const held = row.permits === undefined ? undefined : await permitsOf(ctx, host, row, row.permits);
  await ctx.db.delete("waiting", row._id);
  if (held === null) return null;
  const work = await workOfQueued(ctx, row);
  if (held === undefined) return work;
  if (work === null) await giveBackUnused(ctx, host, { permits: row.permits, held });
  return work === null ? null : { ...work, held };
}

/** Takes the permits that a row of the queue needs; null if it goes back to its line. */
async function permitsOf(
  ctx: MutationCtx,
  host: Host,
  { _id, _creationTime, lane: _lane, ...row }: Doc<"waiting">,
  permits: readonly string[],
): Promise<Held[] | null> {
  const gate = await knownGate(ctx);
  const line = lineOf(gate, row);
  const names = limitedBy(gate, permits);
  const free = await freePermits(ctx, gate, names, { host });
  const full = "full" in free ? free : await keepOfBuckets(ctx, gate, row, true);
  if (full === null && "numbers" in free) return await takePermits(ctx, row.work, free.numbers);
  await ctx.db.insert("limited", { ...row, line });
  if (full !== null) await blockLine(ctx, host, line, full);
  // It no longer stands for those that wait for the others.
  await ringLines(
    ctx,
    host,
    names.filter((name) => name !== full?.full),
  );
  return null;
}
