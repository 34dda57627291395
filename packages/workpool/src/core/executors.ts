import type { QueryInitializer } from "convex/server";
import { type GenericId, type Infer, type ObjectType, v } from "convex/values";
import type {
  AttemptToRun,
  Executor,
  Gate,
  Host,
  HostCtx,
  HostQueryCtx,
  JobId,
  MutationCtx,
  PoolDataModel,
  Slot,
  SlotId,
  Work,
} from "./context.js";
import { PAUSE_MS, ringUnlessOn } from "./drain.js";
import { isFair, lookFairly } from "./fair.js";
import { knownGate, readGate } from "./gate.js";
import { type GivenBack, wakeLines } from "./limits/wake.js";
import {
  isAsking,
  isLeftToOwner,
  lanesOfRange,
  OF_LIMITS,
  own,
  ownerOf,
  rangesOf,
  spanOf,
  sparesExecutors,
  WIDTH,
} from "./owners.js";
import { anyWaits, lanesOf, leaveQueueAt } from "./queue.js";
import { openAtEnd, startQueued } from "./hand-over.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { confirmFree, freeSlot, freeSlotsIn, handOversOf, mayHandOver } from "./slots.js";
import { attemptOf, hold, isShort, startOwner, startWoken, type Taken } from "./starts.js";

/*
 * With the gate closed, executors run the works of a host that has them: scheduled actions that run
 * several works side by side, report together what has ended, and get the next works with the
 * answer. The slots are divided into ranges. Each range has one executor that takes works, its
 * owner: others would read the same rows. While it asks, others leave free slots of its range to
 * it. It stops asking once it holds all of them, or has asked in vain for a while.
 */

/** An owner with room asks until it has found nothing so many times in a row. */
const MOST_IN_VAIN = 5;
/** Works in the lanes of another range are left to its owner for so long. */
const OTHERS_MS = 100;

export const vAttemptToRun = v.object({ slot: v.id("slots"), args: v.any() });
/** What has joined the queue to follow a work, and what an executor gets beside. */
export interface Follows {
  readonly row: GenericId<"waiting">;
  readonly with: object;
}
/** A slot whose work has ended in a report, and the permits that were given back. */
export interface Kept {
  readonly slot: Slot;
  readonly next: Follows | undefined;
  readonly permits: readonly string[];
}

export const seeArgs = {
  /** The range's first slot, and that of the next one. */
  lo: v.number(),
  hi: v.number(),
  /** Its first lane, and that of the next one; the lane to begin at. */
  first: v.number(),
  end: v.number(),
  lane: v.number(),
  /** Says whether there are other ranges. */
  shares: v.boolean(),
  count: v.number(),
  /** Slots that are there already. */
  kept: v.number(),
  /** Slots are shared by keys: how many lanes and slots the pool has. */
  fairly: v.optional(
    v.object({ lanes: v.number(), slots: v.number(), after: v.optional(v.string()) }),
  ),
};
export const vSeenByOwner = v.object({
  rows: v.array(v.id("waiting")),
  free: v.array(v.id("slots")),
  /** The lane to go on with. */
  lane: v.number(),
});

/**
 * Up to `count` works for a range, and free slots of it for them. Read it from a stale snapshot.
 */
export async function seeForOwner(
  ctx: HostQueryCtx,
  args: ObjectType<typeof seeArgs>,
): Promise<Infer<typeof vSeenByOwner>> {
  const { lo, hi, kept } = args;
  const { rows, lane } = await seeWorks(ctx, args);
  const free = await freeSlotsIn(ctx, lo, hi, rows.length - kept);
  return { rows, free: free.map(({ _id }) => _id), lane };
}

/** Up to `count` works: of the lanes of a range from one on, then of others. */
async function seeWorks(
  ctx: HostQueryCtx,
  { lo, hi, first, end, lane, shares, count, kept, fairly }: ObjectType<typeof seeArgs>,
): Promise<Pick<Infer<typeof vSeenByOwner>, "rows" | "lane">> {
  if (fairly !== undefined) {
    const [free] = kept > 0 ? [] : await freeSlotsIn(ctx, lo, hi, 1);
    const after = kept > 0 ? fairly.after : free?.fair;
    return { ...(await lookFairly(ctx, { ...fairly, count, after })), lane };
  }
  const waiting: QueryInitializer<PoolDataModel["waiting"]> = ctx.db.query("waiting");
  if (!shares) {
    const oldest = await waiting.withIndex("by_commit").take(count);
    return { rows: oldest.map(({ _id }) => _id), lane };
  }
  const rows: GenericId<"waiting">[] = [];
  let next = lane;
  // Rows of an earlier version have no lane: they are the first of the first one.
  const from = (number: number) => (number === 0 ? undefined : number);
  for (const [begin, until, isOwn] of [
    [from(lane), end, true],
    [from(first), lane, true],
    [end, Infinity, false],
    [undefined, first, false],
  ] as const) {
    if (rows.length === count) break;
    // Of others, the last ones: their owners take the first.
    const some = waiting
      .withIndex("by_lane", (q) => q.gte("lane", begin).lt("lane", until))
      .order(isOwn ? "asc" : "desc");
    for (const row of await some.take(count - rows.length)) {
      if (!isOwn && row._creationTime > Date.now() - OTHERS_MS) continue;
      rows.push(row._id);
      if (isOwn) next = (row.lane ?? 0) + 1;
    }
  }
  return { rows, lane: next < end ? next : first };
}

export const reportArgs = {
  range: v.number(),
  /** The works that the executor runs and that have not ended. */
  running: v.number(),
  /** How many times in a row it has found nothing. */
  inVain: v.number(),
  lane: v.number(),
  calledAt: v.number(),
  /** Another is to go on in its place. */
  isOver: v.boolean(),
};
export type Report = ObjectType<typeof reportArgs>;

export const vReported = v.object({
  next: v.array(vAttemptToRun),
  asks: v.boolean(),
  lane: v.number(),
});
export type Reported = Infer<typeof vReported>;

/**
 * What an executor's report does: it ends works, and fills the range again. With the gate open, it
 * goes on with what has waited for permits that are given back here, and with nothing else.
 * @param end ends them. Slots that it puts into the list go on here. It returns how many run still,
 * and calls `forgetRead` after it has called what may enqueue.
 */
export async function reportTogether(
  ctx: HostCtx,
  host: Host,
  report: Report,
  end: (kept: Kept[] | undefined) => Promise<number>,
): Promise<Reported> {
  const { range, lane } = report;
  const before = await readGate(ctx);
  const kept: Kept[] = [];
  const keeps = before?.open === false || before?.limits !== undefined;
  const running = await end(keeps ? kept : undefined);
  const gate = await knownGate(ctx);
  const owner = await ownerOf(ctx, range);
  const me = (await ctx.meta.getRequestMetadata()).scheduledFunctionId;
  const isOwner = me !== null && owner?.job === me;
  const isOfRange = range !== OF_LIMITS;
  if (isOwner && isOfRange && !gate.open && gate.maxParallelism > 0)
    return await refill(ctx, host, gate, owner, { ...report, running }, kept);
  if (isOwner && (isOfRange || !gate.open))
    await own(ctx, owner, range, { job: undefined, asks: false });
  if (gate.open && me !== null && (kept.length > 0 || !isOfRange)) {
    const ofLimits = isOfRange ? await ownerOf(ctx, OF_LIMITS) : owner;
    return await goOnOpen(ctx, host, me as JobId, ofLimits, { ...report, running }, kept);
  }
  for (const { slot } of kept) await leaveSlot(ctx, host, gate, slot);
  await startWoken(ctx, host, await wakeLines(ctx, host, givenBackBy(kept, running)));
  return { next: [], asks: false, lane };
}

const givenBackBy = (kept: readonly Kept[], running: number): GivenBack => ({
  permits: kept.flatMap(({ permits }) => permits),
  running,
  after: kept.findLast(({ slot }) => slot.turn !== undefined)?.slot.turn,
});

/**
 * With the gate open: goes on with what has waited for permits that are given back, and with what
 * others have left in the queue to the executor of limits.
 * @param ofLimits that executor's document.
 */
async function goOnOpen(
  ctx: HostCtx,
  host: Host,
  me: JobId,
  ofLimits: Executor | null,
  { running, lane, isOver }: Report,
  kept: readonly Kept[],
): Promise<Reported> {
  const { maxParallelism } = await knownGate(ctx);
  const slots: Slot[] = [];
  for (const { slot } of kept)
    if (slot.number < maxParallelism) slots.push(slot);
    else await ctx.db.delete("slots", slot._id);
  const owner = ofLimits?.job === me ? ofLimits : null;
  const room = owner === null && isAsking(ofLimits) ? 0 : Infinity;
  const woken = await wakeLines(ctx, host, givenBackBy(kept, running), room);
  const mine = await place(ctx, host, woken, slots);
  await startWoken(ctx, host, woken);
  const wasAsking = owner?.asks === true;
  const count = wasAsking ? Math.max(0, WIDTH - running - mine.length) : 0;
  const rows = wasAsking ? await seeLeft(ctx, host, maxParallelism, count, slots.length) : null;
  const { taken: others, left } = await take(ctx, host, rows?.rows ?? [], slots, rows?.free ?? []);
  for (const { _id } of left) await freeSlot(ctx, _id);
  const taken = [...mine, ...others];
  const holds = running + taken.length;
  const isPrompt = others.length > 0 || kept.some(({ slot }) => isShort(slot));
  const goesOn = isOver && taken.length > 0;
  const asks = owner !== null && !isOver && holds > 0 && holds < WIDTH && isPrompt;
  if (goesOn) await startOwner(ctx, host, OF_LIMITS, isPrompt, taken);
  else if (owner !== null && (asks !== owner.asks || holds === 0))
    await own(ctx, owner, OF_LIMITS, { job: holds === 0 ? undefined : me, asks });
  const areMore = (rows?.rows.length ?? 0) > others.length;
  // Works may have been left to one whose document this has overwritten, too.
  const wasLeftTo = wasAsking || (goesOn && ofLimits?.asks === true);
  if (wasLeftTo && (areMore || (!asks && (await anyWaits(ctx)))))
    await ringUnlessOn(ctx, host, PAUSE_MS);
  return { next: goesOn ? [] : await holdAll(ctx, host, taken, { job: me }), asks, lane };
}

/** What was left to the executor of limits, and free slots for it. */
async function seeLeft(ctx: MutationCtx, host: Host, hi: number, count: number, kept: number) {
  const anywhere = { lo: 0, hi, first: 0, end: 0, lane: 0, shares: false };
  const args = { ...anywhere, count, kept };
  return await ctx.runQuery(host.functions.seeForOwner, args, { useStaleSnapshot: true });
}

/** Has a running executor run works. @returns what it gets of them. */
async function holdAll(
  ctx: MutationCtx,
  host: Host,
  taken: readonly Taken[],
  { job }: { readonly job: JobId },
): Promise<AttemptToRun[]> {
  const by = { job, beganAt: Date.now() };
  for (const each of taken) await hold(ctx, host, each, by);
  const attempts = taken.map(({ slot, args }) => ({ slot, args }));
  return [...((await host.executes?.prepare?.(ctx, attempts)) ?? attempts)];
}

/** Gives slots to works that hold their permits. Both lists keep what is left. */
async function place(ctx: MutationCtx, host: Host, works: Work[], slots: Slot[]): Promise<Taken[]> {
  const taken: Taken[] = [];
  while (works.length > 0 && slots.length > 0) {
    const work = works.shift()!;
    const held = slots[0]!;
    const args = await attemptOf(ctx, host, work);
    const handOvers = handOversOf(held);
    if (args !== null) taken.push({ slot: held._id, args, work, held, handOvers });
    if (args !== null || (await startQueued(ctx, host, held, work, handOvers))) slots.shift();
  }
  return taken;
}

/** Leaves a slot to its range's owner, or to a drain. Call it with the gate closed, or open. */
async function leaveSlot(ctx: MutationCtx, host: Host, gate: Gate, { _id, number }: Slot) {
  if (number >= gate.maxParallelism) return await ctx.db.delete("slots", _id);
  await freeSlot(ctx, _id);
  if (gate.open || (await isLeftToOwner(ctx, gate, number))) return;
  await ringUnlessOn(ctx, host, 0);
}

async function refill(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  owner: Executor,
  { range, running, inVain, lane, calledAt, isOver }: Report,
  kept: readonly Kept[],
): Promise<Reported> {
  const ranges = await rangesOf(ctx, gate);
  const { lo, hi } = spanOf(ranges, range);
  const here = kept.filter(({ slot }) => slot.number < hi);
  for (const { slot } of kept) if (slot.number >= hi) await leaveSlot(ctx, host, gate, slot);
  const { followed, freed } = await follow(ctx, host, here);
  // If the pool has become smaller, some of what it runs is in slots that are no more.
  const room = Math.max(freed.length, hi - lo - running - followed.length);
  const { first, end } = lanesOfRange(ranges, range, lanesOf(gate));
  const span = { lo, hi, first, end, lane: Math.max(lane, first) };
  const shares = ranges.cap > WIDTH;
  const pool = { lanes: lanesOf(gate), slots: gate.maxParallelism, after: freed.at(-1)?.fair };
  const how = { shares, fairly: isFair(gate) ? pool : undefined };
  const look = { ...span, ...how, count: room, kept: freed.length };
  const seen =
    room === 0
      ? { rows: [], free: [], lane: span.lane }
      : await ctx.runQuery(host.functions.seeForOwner, look, { useStaleSnapshot: true });
  const { rows } = seen;
  // What waited for a permit that is given back here takes turns with what waits for a slot.
  const handedOn = freed.filter(({ handOvers }) => handOvers > 0).slice(0, rows.length);
  const empty = freed.filter((slot) => !handedOn.includes(slot));
  const woken = await wakeLines(ctx, host, givenBackBy(kept, running), empty.length);
  const before = [...followed, ...(await place(ctx, host, woken, empty))];
  const slots = [...handedOn, ...empty];
  const { taken: others, left } = await take(ctx, host, rows, slots, seen.free);
  const taken = [...before, ...others];
  for (const slot of left) await freeSlot(ctx, slot._id);
  const holds = running + taken.length;
  if (isOver && taken.length > 0) {
    await startOwner(ctx, host, range, taken.length < hi - lo, taken);
    return { next: [], asks: false, lane };
  }
  const next = await holdAll(ctx, host, taken, { job: owner.job! });
  const found = taken.length > 0 || left.length > 0;
  const asks = holds > 0 && !isOver && holds < hi - lo && (found || inVain < MOST_IN_VAIN);
  const ends = isOver || holds === 0;
  if (ends || asks !== owner.asks)
    await own(ctx, owner, range, { job: ends ? undefined : owner.job, asks });
  // Others leave free slots to whoever asks: only a serializable read shows that none did.
  const mayBeFree = !asks && (ends || owner.asks || left.length > 0);
  // No drain may be on, though more wait than this range can take.
  const spares = sparesExecutors(host, ranges);
  const areMore = spares && rows.length > others.length;
  const isEmpty = holds === 0 && rows.length === 0;
  if (isEmpty && (await openAtEnd(ctx, host, gate, { freed: left.length, calledAt })))
    return { next, asks, lane };
  const [from, to] = spares ? [0, ranges.cap] : [lo, hi];
  if ((mayBeFree || areMore) && (await freeSlotsIn(ctx, from, to, 1)).length > 0)
    await ringUnlessOn(ctx, host, PAUSE_MS);
  return { next, asks, lane: seen.lane };
}

/** Gives slots to what follows in them, unless others have waited long. `freed`: the others. */
async function follow(
  ctx: MutationCtx,
  host: Host,
  kept: readonly Kept[],
): Promise<{ followed: Taken[]; freed: Slot[] }> {
  const followed: Taken[] = [];
  const freed: Slot[] = [];
  for (const { slot, next } of kept) {
    const goesOn =
      next !== undefined && mayHandOver(slot) && (await hasRoom(ctx, ROOM_TO_COMPLETE));
    const work = goesOn ? await leaveQueueAt(ctx, host, next.row) : null;
    const args = work === null ? null : await attemptOf(ctx, host, work);
    const handOvers = handOversOf(slot);
    if (work !== null && args !== null)
      followed.push({
        slot: slot._id,
        args: { ...args, ...next?.with },
        work,
        held: slot,
        handOvers,
      });
    else if (work === null || !(await startQueued(ctx, host, slot, work, handOvers)))
      freed.push(slot);
  }
  return { followed, freed };
}

/** Takes works off the queue for slots: those that have just been freed, then other free ones. */
async function take(
  ctx: MutationCtx,
  host: Host,
  rows: readonly GenericId<"waiting">[],
  kept: readonly Slot[],
  free: readonly Slot["_id"][],
): Promise<{ taken: Taken[]; left: Slot[] }> {
  const taken: Taken[] = [];
  const [ids, left, others] = [[...rows], [...kept], [...free]];
  while (ids.length > 0 && (await hasRoom(ctx, ROOM_TO_COMPLETE))) {
    const [freed] = left;
    const other = freed === undefined ? others.shift() : undefined;
    const slot = freed ?? (other && (await confirmFree(ctx, other)));
    if (slot === undefined) break;
    if (slot === null) continue;
    for (let isHeld = false; !isHeld && ids.length > 0;) {
      const work = await leaveQueueAt(ctx, host, ids.shift()!);
      if (work === null) continue;
      const args = await attemptOf(ctx, host, work);
      if (args !== null) taken.push({ slot: slot._id, args, work, held: slot });
      isHeld = args !== null || (await startQueued(ctx, host, slot, work));
      if (isHeld && freed !== undefined) left.shift();
    }
  }
  return { taken, left };
}

/**
 * Which works an executor is still to begin: others have been canceled.
 * @param job the executor, if a work may be in its slot again with a function of its own.
 */
export async function leftToBegin(
  ctx: HostQueryCtx,
  works: readonly { readonly slot: SlotId; readonly work: string }[],
  job?: JobId,
): Promise<SlotId[]> {
  const slots: (Slot | null)[] = await Promise.all(
    works.map(({ slot }) => ctx.db.get("slots", slot)),
  );
  const isLeft = (held: Slot | null, work: string) =>
    // guard: left-to-begin
    held?.work === work && (job === undefined || held?.job === job);
  return works.flatMap(({ slot, work }, at) => (isLeft(slots[at] ?? null, work) ? [slot] : []));
}
