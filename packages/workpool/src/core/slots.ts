import type { FunctionHandle } from "convex/server";
import { type Infer, type ObjectType, v } from "convex/values";
import type {
  Gate,
  Host,
  HostCtx,
  HostQueryCtx,
  JobId,
  MutationCtx,
  QueryCtx,
  Slot,
  SlotId,
  Work,
} from "./context.js";
import { takeCounts } from "./counts.js";
import { knownGate, lacksPlaces, slotsWithPlace } from "./gate.js";
import { cancelPending, isPending } from "./jobs.js";
import { spend } from "./limits/buckets.js";
import { turnAfter } from "./limits/lines.js";
import { poolTx } from "./transaction.js";

export const freeSlotArgs = { from: v.number(), count: v.number(), upTo: v.number() };

/** Free slots, and whether slots change hands so often that enqueues would conflict. */
export const vFreeSlots = v.object({
  free: v.array(v.object({ _id: v.id("slots"), number: v.number(), fair: v.optional(v.string()) })),
  contended: v.boolean(),
});
type Free = Infer<typeof vFreeSlots>["free"];

/** How long an enqueue takes, in ms: slots that are taken again as soon are wanted by others. */
const ENQUEUE_MS = 50;
/** The more free slots are seen, the better their mean is known: up to this many raise the bar. */
const SLOTS_TO_KNOW = 8;
/** If no slot is free: works that end so far apart, in ms, hardly ever end at the same moment. */
const BETWEEN_ENDS_MS = 1_000;

/** Up to `count` free slots, from number `from` on first; null without any slot. Read it stale. */
export async function freeSlotsFrom(
  ctx: HostQueryCtx,
  { from, count, upTo }: ObjectType<typeof freeSlotArgs>,
): Promise<Infer<typeof vFreeSlots> | null> {
  const now = Date.now();
  const slots = await freeSlots(ctx, from, count, upTo);
  if (slots.length > 0) {
    const freeForMs = slots.reduce((sum, { heldSince }) => sum + now - heldSince, 0);
    const bar = ENQUEUE_MS * Math.min(slots.length, SLOTS_TO_KNOW);
    const contended = freeForMs < bar * slots.length;
    return { free: slots.map(({ _id, number, fair }) => ({ _id, number, fair })), contended };
  }
  const last: Slot | null = await ctx.db
    .query("slots")
    .withIndex("by_number", (q) => q.lt("number", upTo))
    .order("desc")
    .first();
  if (last === null) return null;
  return { free: [], contended: now - last.startedAt < BETWEEN_ENDS_MS * (last.number + 1) };
}

/** Up to `count` free slots, from a serializable read: it conflicts with whoever frees one. */
export async function freeSlots(
  ctx: QueryCtx,
  from: number,
  count: number,
  upTo: number,
): Promise<Slot[]> {
  const above: Slot[] = await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.eq("work", undefined).gte("number", from).lt("number", upTo))
    .take(count);
  if (above.length === count || from === 0) return above;
  const below: Slot[] = await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.eq("work", undefined).lt("number", from))
    .take(count - above.length);
  return [...above, ...below];
}

/**
 * Free slots, from a stale snapshot: that creates no dependency, and proves nothing.
 * @param count so many at most. Default: all.
 */
export async function seeFreeSlots(
  ctx: MutationCtx,
  host: Host,
  { maxParallelism }: Gate,
  count = maxParallelism,
): Promise<Free> {
  const some = { from: 0, count, upTo: maxParallelism };
  const seen = await ctx.runQuery(host.functions.freeSlots, some, { useStaleSnapshot: true });
  return seen?.free ?? [];
}

/** One free slot in so many is left to other enqueues that may be in flight. */
const SLOTS_PER_ENQUEUE = 16;

/**
 * Up to `count` free slots that an enqueue may take; none if enqueues of the same moment would
 * conflict over them. It sees them in a stale snapshot, from a random number on, and confirms each
 * by a point read. That snapshot lacks what this transaction has written itself, such as the slot
 * that it offers.
 * @returns them, and whether others may be free.
 */
export async function claimable(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  count: number,
): Promise<{ slots: Slot[]; contended: boolean }> {
  const upTo = await slotsWithPlace(ctx, host, gate);
  const from = Math.floor(Math.random() * upTo);
  const reserve = Math.floor(upTo / SLOTS_PER_ENQUEUE);
  const { taken } = poolTx(ctx);
  const some = { from, count: Math.min(upTo, count + taken + reserve), upTo };
  const seen = await ctx.runQuery(host.functions.freeSlots, some, { useStaleSnapshot: true });
  const sure = async () => await freeSlots(ctx, from, count, upTo);
  if (seen === null) return { slots: await sure(), contended: true };
  const { free, contended } = seen;
  const few = free.length <= reserve || contended;
  // The first free ones behind a long row of others would be picked more often than the rest.
  const first = Math.floor(Math.random() * free.length);
  const ids = few ? [] : [...free.slice(first), ...free.slice(0, first)].map(({ _id }) => _id);
  const slots: Slot[] = [];
  while (ids.length > 0 && slots.length < count) {
    const slot = await confirmFree(ctx, ids.shift()!);
    if (slot !== null) slots.push(slot);
  }
  if (slots.length < count) {
    const offered = await slotOf(ctx, OFFERED);
    if (offered !== null) slots.push(offered);
  }
  if (few) return { slots, contended: contended || free.length > 0 };
  if (slots.length > 0) return { slots, contended };
  return { slots: await sure(), contended };
}

/** Marks a slot that this transaction has freed for its own enqueues, until {@link endOffer}. */
export const OFFERED = "";

/** Frees a slot for everybody that was offered, and that nobody took. */
export async function endOffer(ctx: HostCtx, slot: SlotId | undefined): Promise<void> {
  const offered: Slot | null = slot === undefined ? null : await ctx.db.get("slots", slot);
  if (offered?.work === OFFERED) await freeSlot(ctx, offered._id);
}

/** The slot, if it is free still, and the pool has not been given fewer. */
export async function confirmFree(ctx: MutationCtx, id: SlotId): Promise<Slot | null> {
  const slot = await ctx.db.get("slots", id);
  if (slot === null || slot.number >= (await knownGate(ctx)).maxParallelism) return null;
  // guard: slot-is-free, else slot
  return slot.work === undefined ? slot : null;
}

/** Returns which of these slots are free still, and no surplus. */
export async function stillFree(ctx: MutationCtx, ids: readonly SlotId[]): Promise<Slot[]> {
  const slots: Slot[] = [];
  for (const id of ids) {
    const slot = await confirmFree(ctx, id);
    if (slot !== null) slots.push(slot);
  }
  return slots;
}

/** The slot in which the work runs, or null. */
export async function slotOf(ctx: HostQueryCtx, work: string): Promise<Slot | null> {
  return await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.eq("work", work))
    .first();
}

/** Says whether no slot is held: from the index, so that it may be relied on. */
export async function isIdle(ctx: HostQueryCtx): Promise<boolean> {
  const held = await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.gt("work", undefined))
    .first();
  return held === null;
}

/** How often a slot was handed over in a row, and since when. */
export interface HandOvers {
  readonly count: number;
  readonly since: number;
}

/** How often a slot is handed to a successor in a row while others wait … */
const MAX_HAND_OVERS = 10;
/** … and for how long, in ms; then the successor queues. */
const MAX_HELD_MS = 2_000;

/** What a slot is told that is handed over. */
export const handOversOf = ({ handOvers, heldSince }: Slot): HandOvers => ({
  count: handOvers + 1,
  since: heldSince,
});

export function mayHandOver({ handOvers, heldSince }: Slot): boolean {
  return handOvers < MAX_HAND_OVERS && Date.now() - heldSince < MAX_HELD_MS;
}

/**
 * Schedules a work and writes it into its slot.
 * @param startedTheWatch whether it has turned the watchdog on.
 * @throws if the function no longer exists; nothing is written then.
 */
export async function startInSlot(
  ctx: MutationCtx,
  host: Host,
  slot: SlotId,
  { timeoutMs, ...work }: Work,
  { count: handOvers, since: heldSince }: HandOvers = { count: 0, since: Date.now() },
  startedTheWatch = false,
): Promise<void> {
  const scheduled = await scheduleWork(ctx, host, slot, work);
  const since = { handOvers, heldSince, startedTheWatch: startedTheWatch ? true : undefined };
  await holdSlot(ctx, host, slot, { ...work, timeoutMs }, { ...scheduled, ...since });
}

type Starting = Pick<Work, "work" | "timeoutMs" | "held" | "permits" | "isAgain" | "fair">;

/** Writes a work into its slot, with the function that runs it, and spends what its rates take. */
export async function holdSlot(
  ctx: MutationCtx,
  host: Host,
  slot: SlotId,
  { work, timeoutMs, held: ofLimits, ...asks }: Starting,
  how: Partial<Slot>,
): Promise<void> {
  await spend(ctx, host, { work, ...asks });
  const now = Date.now();
  const fresh = {
    beganAt: undefined,
    mayTake: undefined,
    shared: undefined,
    startedTheWatch: undefined,
  };
  const permits = ofLimits && [...ofLimits];
  const turn = asks.permits && turnAfter(await knownGate(ctx), asks);
  const whose = { fair: asks.fair?.key, permits, turn };
  const held = { work, timeoutMs, ...whose, startedAt: now, heldSince: now, handOvers: 0 };
  const counts = takeCounts(ctx, slot);
  await ctx.db.patch("slots", slot, { ...fresh, reporting: undefined, ...held, ...how, ...counts });
}

/** The first free slots numbered from `from` up to, but without, `to`: `most` at most. */
export async function freeSlotsIn(
  ctx: QueryCtx,
  from: number,
  to: number,
  most: number,
): Promise<Slot[]> {
  if (most <= 0) return [];
  return await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.eq("work", undefined).gte("number", from).lt("number", to))
    .take(most);
}

/**
 * Says whether the function of a held slot has not begun. Unless others share it, it never will.
 */
export async function cancelStart(ctx: HostCtx, { job, shared }: Slot): Promise<boolean> {
  if (job === undefined) return true;
  if (shared !== true) return await cancelPending(ctx, job);
  return await isPending(ctx, job);
}

/** @throws if the function no longer exists. A carrier finds that out when it calls it. */
async function scheduleWork(
  ctx: MutationCtx,
  { functions, runner }: Host,
  slot: SlotId,
  { work, fn: own, args, isMutation }: Work,
): Promise<Pick<Slot, "job" | "mayTake">> {
  const fn = own ?? (await runner?.());
  if (fn === undefined) throw new Error(`The work "${work}" has no function, nor has its Host`);
  if (isMutation === true || !(await lacksPlaces(ctx))) {
    const handle = fn as FunctionHandle<"action" | "mutation">;
    return { job: await ctx.scheduler.runAfter(0, handle, { ...args, slot }), mayTake: undefined };
  }
  const carried = { slot, work, fn, args, at: Date.now() };
  return { job: await ctx.scheduler.runAfter(0, functions.carry, carried), mayTake: true };
}

/** Has a slot watch the job that will report the end of its work. */
export async function watchReport(
  ctx: HostCtx,
  { work, slot }: { work: string; slot: SlotId },
  job: JobId,
): Promise<void> {
  const held: Slot | null = await ctx.db.get("slots", slot);
  if (held?.work === work)
    await ctx.db.patch("slots", slot, {
      job,
      mayTake: undefined,
      shared: undefined,
      reporting: true,
    });
}

/** It keeps whose it was last. @param work who it is for. Default: everybody. */
export async function freeSlot(ctx: MutationCtx, slot: SlotId, work?: typeof OFFERED) {
  const none = {
    job: undefined,
    mayTake: undefined,
    shared: undefined,
    permits: undefined,
    turn: undefined,
  };
  const free = { work, ...none, heldSince: Date.now() };
  await ctx.db.patch("slots", slot, { ...free, ...takeCounts(ctx, slot) });
}
