import { isSeat, Seats } from "./ahead.js";
import type {
  Executor,
  Gate,
  Host,
  HostCtx,
  HostQueryCtx,
  JobId,
  MutationCtx,
  Slot,
  SlotId,
} from "./context.js";
import { PAUSE_MS, ringUnlessOn } from "./drain.js";
import { isFair } from "./fair.js";
import { follow, holdAll, place, take } from "./fill-slots.js";
import { knownGate, readGate } from "./gate.js";
import { openAtEnd } from "./hand-over.js";
import { goOnOpen } from "./limits/go-on-open.js";
import { type GivenBack, wakeLines } from "./limits/wake.js";
import {
  isLeftToOwner,
  lanesOfRange,
  OF_LIMITS,
  own,
  ownerOf,
  type Ranges,
  rangesOf,
  spanOf,
  sparesExecutors,
  WIDTH,
} from "./owners.js";
import { lanesOf } from "./queue.js";
import { freeSlot, freeSlotsIn, stillFree } from "./slots.js";
import { startOwner, startWoken, type Taken } from "./starts.js";
import { givenBackBy, type Kept, type Report, type Reported } from "./told.js";

/*
 * With the gate closed, executors run the works of a host that has them: scheduled actions that run
 * several works side by side, report together what has ended, and get the next works with the
 * answer. The slots are divided into ranges. Each range has one executor that takes works, its
 * owner: others would read the same rows. While it asks, others leave free slots of its range to
 * it, and looks come that see whether it takes works still. It stops asking once it holds all of
 * them, or has asked in vain for a while.
 */

/** An owner with room asks until it has found nothing so many times in a row. */
const MOST_IN_VAIN = 5;

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
  const ended: Kept[] = [];
  const keeps =
    before?.open === false || before?.limits !== undefined || report.seats !== undefined;
  const running = await end(keeps ? ended : undefined);
  const now = { ...report, running };
  const given = givenBackBy(ended, running);
  const gate = await knownGate(ctx);
  const owner = await ownerOf(ctx, range);
  const me = (await ctx.meta.getRequestMetadata()).scheduledFunctionId;
  const isOwner = me !== null && owner?.job === me;
  const isOfRange = range !== OF_LIMITS;
  const refills = isOwner && isOfRange && !gate.open && gate.maxParallelism > 0;
  const seats = new Seats(ctx, report, ended);
  const all = ended.filter(({ slot }) => !isSeat(slot));
  const slots = all.map(({ slot }) => slot);
  const left = new Set(refills && !report.isOver ? slots : await seats.leaveFor(slots));
  const kept = all.filter(({ slot }) => left.has(slot));
  if (refills) return await refill(ctx, host, gate, owner, now, { kept, given, seats });
  await seats.end();
  if (isOwner && (isOfRange || !gate.open))
    await own(ctx, host, owner, range, { job: undefined, asks: false });
  const ahead = { seats: seats.held, givesBack: true };
  if (gate.open && me !== null && (kept.length > 0 || !isOfRange)) {
    const ofLimits = isOfRange ? await ownerOf(ctx, OF_LIMITS) : owner;
    const told = await goOnOpen(ctx, host, me as JobId, ofLimits, now, { kept, given });
    return { ...told, ...ahead };
  }
  for (const { slot } of kept) await leaveSlot(ctx, host, gate, slot);
  await startWoken(ctx, host, await wakeLines(ctx, host, given));
  return { next: [], asks: false, lane, ...ahead };
}

/** Leaves a slot to its range's owner, or to a drain. Call it with the gate closed, or open. */
async function leaveSlot(ctx: MutationCtx, host: Host, gate: Gate, { _id, number }: Slot) {
  if (number >= gate.maxParallelism) return await ctx.db.delete("slots", _id);
  await freeSlot(ctx, _id);
  if (gate.open || (await isLeftToOwner(ctx, gate, number))) return;
  await ringUnlessOn(ctx, host, 0);
}

/** What has ended in a report, but in seats, and what is given back by it. */
interface EndedHere {
  readonly kept: readonly Kept[];
  readonly given: GivenBack;
  readonly seats: Seats;
}

/** What a report has taken for its range. */
interface Filled {
  readonly taken: readonly Taken[];
  /** How many works were seen in the queue, and how many of them it took. */
  readonly seen: number;
  readonly fromQueue: number;
  /** How many slots have become free. */
  readonly left: number;
  readonly lane: number;
  /** Slots that the range has no more have ended. */
  readonly shrinks: boolean;
}

/** Fills a range, and gives the executor works ahead. */
async function fill(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  ranges: Ranges,
  { range, running, lane }: Report,
  { kept, given, seats }: EndedHere,
): Promise<Filled> {
  const { lo, hi } = spanOf(ranges, range);
  const here = kept.filter(({ slot }) => slot.number < hi);
  const surplus = kept.flatMap(({ slot }) => (slot.number < hi ? [] : [slot]));
  for (const slot of await seats.leaveFor(surplus)) await leaveSlot(ctx, host, gate, slot);
  const { followed, freed } = await follow(ctx, host, here);
  const held = seats.held.length;
  // If the pool has become smaller, some of what it runs is in slots that are no more.
  const room = Math.max(freed.length, hi - lo - (running - held) - followed.length);
  const most = surplus.length > 0 || hi <= lo ? 0 : seats.mostOf(gate);
  const count = room + Math.max(0, most - held);
  const { first, end } = lanesOfRange(ranges, range, lanesOf(gate));
  const span = { lo, hi, first, end, lane: Math.max(lane, first) };
  const shares = ranges.cap > WIDTH;
  const pool = { lanes: lanesOf(gate), slots: gate.maxParallelism, after: freed.at(-1)?.fair };
  const how = {
    shares,
    spares: sparesExecutors(host, ranges),
    fairly: isFair(gate) ? pool : undefined,
  };
  const look = { ...span, ...how, count, kept: freed.length, more: held };
  const seen =
    count + held === 0
      ? { rows: [], free: [], anyIsAlone: false, lane: span.lane }
      : await ctx.runQuery(host.functions.seeForOwner, look, { useStaleSnapshot: true });
  const { rows } = seen;
  // What has a function of its own begins at once, so no work ahead may run in place of its slot.
  const mayBeAhead = most > 0 && !seen.anyIsAlone;
  const mine = mayBeAhead ? freed : await seats.leaveFor(freed);
  // What waited for a permit that is given back here takes turns with what waits for a slot.
  const handedOn = mine.filter(({ handOvers }) => handOvers > 0).slice(0, rows.length);
  const empty = mine.filter((slot) => !handedOn.includes(slot));
  const woken = await wakeLines(ctx, host, given, empty.length);
  const before = [...followed, ...(await place(ctx, host, woken, empty))];
  const slots = [...handedOn, ...empty];
  const { taken, left, rest, free } = await take(ctx, host, rows, slots, seen.free);
  // Only if more wait than were looked for: others take the last ones.
  const isCrowded = mayBeAhead && rows.length === count;
  const next = isCrowded ? rest.slice(0, Math.max(0, most - seats.held.length)) : [];
  const ahead = await seats.take(host, next);
  for (const { _id } of await seats.leaveFor(left)) await freeSlot(ctx, _id);
  await seats.leaveFor(await stillFree(ctx, free.slice(0, seats.held.length)));
  await seats.end();
  const fromQueue = taken.length + ahead.length;
  const all = [...before, ...taken, ...ahead];
  const shrinks = surplus.length > 0;
  return { taken: all, seen: rows.length, fromQueue, left: left.length, lane: seen.lane, shrinks };
}

async function refill(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  owner: Executor,
  report: Report,
  ended: EndedHere,
): Promise<Reported> {
  const { range, running, inVain, lane, calledAt, isOver } = report;
  const ranges = await rangesOf(ctx, gate);
  const { lo, hi } = spanOf(ranges, range);
  const inSlots = running - ended.seats.held.length;
  const filled = await fill(ctx, host, gate, ranges, report, ended);
  const { taken, seen, fromQueue, left, shrinks } = filled;
  const { held: seats } = ended.seats;
  const holds = running + taken.length;
  if (isOver && taken.length > 0) {
    await startOwner(ctx, host, range, taken.length < hi - lo, taken);
    return { next: [], asks: false, lane, seats, givesBack: true };
  }
  const next = await holdAll(ctx, host, taken, { job: owner.job! });
  const found = taken.length > 0 || left > 0;
  const hasRoom = holds - seats.length < hi - lo;
  const asks = holds > 0 && !isOver && hasRoom && (found || inVain < MOST_IN_VAIN);
  const ends = isOver || holds === 0;
  // If the pool has become smaller, it runs too many.
  const givesBack = isOver || owner.asksBack === true || shrinks || inSlots > hi - lo;
  if (ends || asks !== owner.asks || owner.asksBack === true)
    await own(ctx, host, owner, range, { job: ends ? undefined : owner.job, asks });
  const told = { next, asks, seats, givesBack };
  // Others leave free slots to whoever asks: only a serializable read shows that none did.
  const mayBeFree = !asks && (ends || owner.asks || left > 0);
  // No drain may be on, though more wait than this range can take.
  const spares = sparesExecutors(host, ranges);
  const areMore = spares && seen > fromQueue;
  const isEmpty = holds === 0 && seen === 0;
  if (isEmpty && (await openAtEnd(ctx, host, gate, { freed: left, calledAt })))
    return { ...told, lane };
  const [from, to] = spares ? [0, ranges.cap] : [lo, hi];
  if ((mayBeFree || areMore) && (await freeSlotsIn(ctx, from, to, 1)).length > 0)
    await ringUnlessOn(ctx, host, PAUSE_MS);
  return { ...told, lane: filled.lane };
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
  return works.flatMap(({ slot, work }, at) => {
    const held = slots[at];
    // guard: left-to-begin
    if (held?.work !== work || (job !== undefined && held.job !== job)) return [];
    return [slot];
  });
}
