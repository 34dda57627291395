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
import { ensureGate, readGate } from "./gate.js";
import {
  isLeftToOwner,
  lanesOfRange,
  own,
  ownerOf,
  type Ranges,
  rangesOf,
  spanOf,
  sparesExecutors,
  WIDTH,
} from "./owners.js";
import { lanesOf, leaveQueueAt } from "./queue.js";
import { openAtEnd, startQueued } from "./hand-over.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import {
  confirmFree,
  freeSlot,
  freeSlotsIn,
  type HandOvers,
  holdSlot,
  mayHandOver,
} from "./slots.js";
import { poolTx } from "./transaction.js";
import { keepWatchIn } from "./watch.js";

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
/** A work that an executor is to run in a slot that it holds. */
export type Taken = AttemptToRun & {
  readonly work: Work;
  readonly held: Slot;
  /** If it follows the one that held the slot before. */
  readonly handOvers?: HandOvers | undefined;
};

/** What has joined the queue to follow a work, and what an executor gets beside. */
export interface Follows {
  readonly row: GenericId<"waiting">;
  readonly with: object;
}
/** A slot whose work has ended in a report. */
export interface Kept {
  readonly slot: Slot;
  readonly next: Follows | undefined;
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
  /** Works that are to be taken besides, and slots that are there already. */
  queued: v.number(),
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
  const { lo, hi, count, queued, kept } = args;
  const { rows, lane } = await seeWorks(ctx, args);
  const free = await freeSlotsIn(ctx, lo, hi, Math.min(rows.length + queued, count) - kept);
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

/** What an executor runs of a work; null if the work has a function of its own. */
export async function attemptOf(ctx: MutationCtx, host: Host, work: Work) {
  return (await host.executes?.attemptOf(ctx, work)) ?? null;
}

/** Schedules an executor for works that have left the queue; it owns the range from then on. */
export async function startExecutor(
  ctx: MutationCtx,
  host: Host,
  ranges: Ranges,
  range: number,
  works: readonly Taken[],
): Promise<void> {
  const { lo, hi } = spanOf(ranges, range);
  const asks = works.length < hi - lo;
  const attempts = works.map(({ slot, args }) => ({ slot, args }));
  const job = await host.executes!.schedule(ctx, { range, asks, works: attempts });
  for (const taken of works) await hold(ctx, host, taken, { job });
  await own(ctx, await ownerOf(ctx, range), range, { job, asks });
}

async function hold(
  ctx: MutationCtx,
  host: Host,
  { work, held, handOvers }: Taken,
  by: { readonly job: JobId; readonly beganAt?: number },
) {
  const since = handOvers && { handOvers: handOvers.count, heldSince: handOvers.since };
  await holdSlot(ctx, host, held._id, work, { ...by, ...since, shared: true });
  await keepWatchIn(ctx, host, held, work);
  await host.started?.(ctx, work.work);
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
 * What an executor's report does: it ends works, and fills the range again.
 * @param end ends them. Slots that it puts into the list go on here. It returns how many run still.
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
  const running = await end(before?.open === false ? kept : undefined);
  const gate = await ensureGate(ctx);
  const owner = await ownerOf(ctx, range);
  const me = (await ctx.meta.getRequestMetadata()).scheduledFunctionId;
  const isOwner = me !== null && owner?.job === me;
  if (isOwner && !gate.open && gate.maxParallelism > 0)
    return await refill(ctx, host, gate, owner, { ...report, running }, kept);
  if (isOwner) await own(ctx, owner, range, { job: undefined, asks: false });
  for (const { slot } of kept) await leaveSlot(ctx, host, gate, slot);
  return { next: [], asks: false, lane };
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
  // Those that waited for a permit which has been given back here come first.
  const { queued } = poolTx(ctx);
  const look = { ...span, ...how, count: room, queued: queued.length, kept: freed.length };
  const seen =
    room === 0
      ? { rows: [], free: [], lane: span.lane }
      : await ctx.runQuery(host.functions.seeForOwner, look, { useStaleSnapshot: true });
  const rows = [...queued, ...seen.rows];
  const { taken: others, left } = await take(ctx, host, rows, freed, seen.free);
  const taken = [...followed, ...others];
  for (const slot of left) await freeSlot(ctx, slot._id);
  const holds = running + taken.length;
  if (isOver && taken.length > 0) {
    await startExecutor(ctx, host, ranges, range, taken);
    return { next: [], asks: false, lane };
  }
  const by = { job: owner.job!, beganAt: Date.now() };
  for (const each of taken) await hold(ctx, host, each, by);
  const attempts = taken.map(({ slot, args }) => ({ slot, args }));
  const next = [...((await host.executes?.prepare?.(ctx, attempts)) ?? attempts)];
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
    const handOvers = { count: slot.handOvers + 1, since: slot.heldSince };
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
