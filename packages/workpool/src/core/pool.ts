import { removeSlot } from "./ahead.js";
import { expectBurst, isBurst } from "./bursts.js";
import type { Gate, Host, HostCtx, MutationCtx, Slot, SlotId, Work } from "./context.js";
import { readDrain, ringDrain } from "./drain.js";
import type { Follows, Kept } from "./told.js";
import { closeGate, ensureGate, knownGate, slotsWithPlace } from "./gate.js";
import { admit, admitted } from "./limits/admission.js";
import { giveBack } from "./limits/permits.js";
import { wakeLines } from "./limits/wake.js";
import { isOwned } from "./owners.js";
import { joinQueue, seeQueueFor } from "./queue.js";
import { handOver, tryStart } from "./hand-over.js";
import {
  claimable,
  freeSlot,
  freeSlots,
  handOversOf,
  mayHandOver,
  OFFERED,
  startInSlot,
} from "./slots.js";
import type { SlotCounts } from "./counts.js";
import { isShort, type Placed, startPlaced, startTogether, startWoken } from "./starts.js";
import { poolTx } from "./transaction.js";
import { keepWatch, least, readWatch, type Started, watchTheWatchdog } from "./watch.js";

/** Does what {@link enqueueWorks} does, for one work. */
export async function enqueueWork(ctx: HostCtx, work: Work, host: Host) {
  return (await enqueueWorks(ctx, [work], host)).length === 1 ? "started" : "waiting";
}

/**
 * Starts as many of the works, in their order, as there are free slots, and queues the others. It
 * takes slots only if the gate is open and plenty are free, as enqueues would conflict over the
 * last ones. The first that queues closes the gate, and begins a drain, which hands out what is
 * still free. Works whose limits are reached join their lines instead.
 * @param given the gate, if it was read before.
 * @returns those that were started. @throws if a function does not exist.
 */
export async function enqueueWorks(
  ctx: HostCtx,
  asked: readonly Work[],
  host: Host,
  given?: Gate,
): Promise<readonly Work[]> {
  if (asked.length === 0) return [];
  // guard: gate-is-read
  const gate = given ?? (await ensureGate(ctx));
  const works = await admitted(ctx, host, gate, asked);
  const [first] = works;
  if (first === undefined) return [];
  // A paused pool has nothing to watch.
  // guard: watch-is-read
  const watch = gate.maxParallelism === 0 ? null : await readWatch(ctx);
  const { slots: free, contended } =
    gate.open && !(await isBurst(ctx, watch, first))
      ? await claimable(ctx, host, gate, works.length)
      : { slots: [], contended: true };
  const started = works.slice(0, free.length);
  const startedTheWatch =
    started.length > 0 && (await keepWatch(ctx, host, inCommon(started), watch));
  poolTx(ctx).taken += started.length;
  let placed = started.map((work, index): Placed => ({ work, held: free[index]! }));
  // What waits for their limits follows them. Steps alone cost less in functions of their own, and
  // works with limits no more.
  const isCheaper = host.executes?.comeFromOutside === true && first.permits === undefined;
  if (started.length > 1 && (isCheaper || works.length < asked.length))
    placed = await startTogether(ctx, host, placed, { isTold: false });
  for (const { work, held } of placed)
    await startInSlot(ctx, host, held._id, work, undefined, startedTheWatch);
  if (started.length === works.length) {
    if (watch?.watched !== true) await expectBurst(ctx, host, gate);
    return started;
  }
  for (const work of works.slice(started.length)) {
    await giveBack(ctx, work.held);
    await joinQueue(ctx, host, gate, work);
  }
  if (gate.open) {
    // guard: gate-closes
    await closeGate(ctx, gate);
    const noneIsLeft =
      started.length === gate.maxParallelism ||
      (!contended && (await freeSlots(ctx, 0, 1, gate.maxParallelism)).length === 0);
    // guard: drain-begins
    if (!noneIsLeft) await ringDrain(ctx, host, await readDrain(ctx));
  }
  if (started.length === 0 && gate.maxParallelism > 0) await watchTheWatchdog(ctx, host, watch);
  return started;
}

/** What the watchdog needs to know of works that start together. */
function inCommon(works: readonly Work[]): Started {
  if (works.length === 1) return works[0]!;
  const isMutation = works.some((work) => work.isMutation === true);
  const timeoutMs = works.map((work) => work.timeoutMs).reduce(least, undefined);
  return { isMutation, timeoutMs };
}

export interface Ended {
  readonly work: string;
  readonly slot: SlotId | undefined;
  /** Counts the end into what has ended in the slot so far. Default: it is not counted. */
  readonly count?: (before: SlotCounts | undefined) => SlotCounts;
  /** Says whether it is a work that executors run. Default: false. */
  readonly executes?: boolean | undefined;
  /** When the transaction was called for. Default: now. */
  readonly calledAt?: number | undefined;
  /** Says whether the work has run in it: then it was called for at its start. Default: false. */
  readonly ranHere?: boolean | undefined;
  /** No callback has run since the gate was read. Default: one may have. */
  readonly knowsGate?: boolean;
  /** An executor's report gives it: with the gate closed, the slot is put here, and stays held. */
  readonly kept?: Kept[] | undefined;
  /** What has joined the queue to follow it, for such a report. */
  readonly next?: Follows | undefined;
  /** Says whether this transaction may still enqueue, and then calls `endOffer`. Default: false. */
  readonly mayEnqueue?: boolean;
}

/**
 * Ends a work's hold on its slot, and gives its permits back. Its successor starts in the slot,
 * unless others waited long; else a work that waited for one of the permits, or for a slot.
 */
export async function completeWork(ctx: HostCtx, host: Host, ended: Ended, successor?: Work) {
  const slot: Slot | null = ended.slot === undefined ? null : await ctx.db.get("slots", ended.slot);
  if (slot === null || slot.work !== ended.work) {
    if (successor !== undefined) await enqueueWork(ctx, successor, host);
    return;
  }
  if (ended.count !== undefined) poolTx(ctx).counts.set(slot._id, ended.count(slot.counts));
  const permits = await giveBack(ctx, slot.permits);
  if (ended.kept !== undefined) return void ended.kept.push({ slot, next: ended.next, permits });
  if (await goesOn(ctx, host, { ...ended, held: slot, permits }, successor)) return;
  const given = { permits, after: slot.turn };
  await startWoken(ctx, host, await wakeLines(ctx, host, given));
}

/** What becomes of the slot. @returns whether the works that wait for the permits were woken. */
async function goesOn(
  ctx: HostCtx,
  host: Host,
  { held: slot, permits, ...told }: Ended & { held: Slot; permits: readonly string[] },
  successor: Work | undefined,
): Promise<boolean> {
  const gate = await (told.knowsGate === true ? knownGate : ensureGate)(ctx);
  if (slot.number >= gate.maxParallelism) {
    await removeSlot(ctx, slot);
    if (successor !== undefined) await enqueueWork(ctx, successor, host);
    return false;
  }
  // If no place is left for a function of its own, what follows on a mutation is the owner's.
  const lacksPlace = slot.number >= (await slotsWithPlace(ctx, host, gate));
  const executes =
    told.executes === true || (lacksPlace && (await isOwned(ctx, gate, slot.number)));
  const calledAt = told.ranHere === true ? slot.startedAt : told.calledAt;
  const ended = { ...told, executes, calledAt };
  if (slot.startedTheWatch === true) poolTx(ctx).startedTheWatch = ended.work;
  const isFirst = gate.open || mayHandOver(slot);
  const handOvers = handOversOf(slot);
  // It may have to wait in its line.
  const next = successor && (await admit(ctx, host, gate, successor, { starts: isFirst }));
  if (next && isFirst) {
    if (await tryStart(ctx, host, slot, next, handOvers)) return false;
  } else if (next) {
    await queueBehindOthers(ctx, host, gate, slot, next);
    return false;
  } else if (isFirst && permits.length > 0 && (gate.open || !executes)) {
    const room = gate.open ? undefined : 1;
    const given = { permits, after: slot.turn };
    const [first, ...others] = await wakeLines(ctx, host, given, room);
    const placed = first === undefined ? [] : [{ work: first, held: slot, handOvers }];
    const unused = await startPlaced(ctx, host, gate, placed, gate.open && isShort(slot));
    await startWoken(ctx, host, others);
    if (first === undefined || unused.length > 0) await leave(ctx, host, gate, slot, ended);
    return true;
  }
  await leave(ctx, host, gate, slot, ended);
  return false;
}

async function leave(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  slot: Slot,
  ended: Pick<Ended, "executes" | "calledAt" | "mayEnqueue">,
) {
  if (!gate.open) await handOver(ctx, host, gate, slot, ended);
  else await freeSlot(ctx, slot._id, ended.mayEnqueue === true ? OFFERED : undefined);
}

/** Gives the slot to a waiting work, and queues the successor; to that if none waits. */
async function queueBehindOthers(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  slot: Slot,
  successor: Work,
): Promise<void> {
  const { free, others } = await seeQueueFor(ctx, host, gate, slot);
  if (free.length + others.length === 0) {
    // It was to join the queue, where it would need no permits yet.
    const next = await admit(ctx, host, gate, successor, { starts: true });
    const starts = next !== null && (await tryStart(ctx, host, slot, next));
    if (!starts) await handOver(ctx, host, gate, slot);
    return;
  }
  await joinQueue(ctx, host, gate, successor);
  await handOver(ctx, host, gate, slot);
}
