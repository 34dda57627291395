import type { Gate, Host, HostCtx, MutationCtx, Slot, SlotId, Work } from "./context.js";
import { checkDrain, readDrain, ringDrain, wakeDrain } from "./drain.js";
import { closeGate, ensureGate } from "./gate.js";
import { joinQueue, seeNearFirst } from "./queue.js";
import { handOver, startNearFirst, tryStart } from "./hand-over.js";
import { noteWoke } from "./rest.js";
import { claimable, ENQUEUE_MS, freeSlot, freeSlots, OFFERED, startInSlot } from "./slots.js";
import { countAlong, type SlotCounts } from "./counts.js";
import { keepWatch, least, type Started, watchTheWatchdog } from "./watch.js";

/** How often a slot is handed to a successor in a row while others wait … */
const MAX_HAND_OVERS = 10;
/** … and for how long, in ms; then the successor queues. */
const MAX_HELD_MS = 2_000;

/** As {@link enqueueWorks}, for one work. */
export async function enqueueWork(ctx: HostCtx, work: Work, host: Host) {
  return (await enqueueWorks(ctx, [work], host)) === 1 ? "started" : "waiting";
}

/**
 * Starts as many of the works, in their order, as there are free slots, and queues the others. It
 * takes slots only if the gate is open and plenty are free, as enqueues would conflict over the
 * last ones. The first that queues closes the gate, and begins a drain, which hands out what is
 * still free. A transaction that waited long for its turn has seen too little: it queues all.
 * @param known the gate, and when this transaction began, as a document says that it has inserted.
 * @returns how many of them, from the first, were started. @throws if a function does not exist.
 */
export async function enqueueWorks(
  ctx: HostCtx,
  works: readonly Work[],
  host: Host,
  known: { readonly gate?: Gate | undefined; readonly beganAt?: number | undefined } = {},
) {
  if (works.length === 0) return 0;
  const gate = known.gate ?? (await ensureGate(ctx));
  // It began before it waited, as its snapshot.
  const waited = gate.open && Date.now() - (known.beganAt ?? Infinity) > ENQUEUE_MS;
  const { slots: free, busy } =
    gate.open && !waited
      ? await claimable(ctx, host, gate, works.length)
      : { slots: [], busy: true };
  const started = works.slice(0, free.length);
  const woke = started.length > 0 && (await keepWatch(ctx, host, inCommon(started)));
  for (const [index, work] of started.entries())
    await startInSlot(ctx, host, free[index]!._id, work, undefined, woke);
  if (started.length === works.length) return started.length;
  for (const work of works.slice(started.length)) await joinQueue(ctx, work);
  if (gate.open) {
    await closeGate(ctx, gate);
    const noneIsLeft =
      started.length === gate.maxParallelism ||
      (!busy && (await freeSlots(ctx, 0, 1)).length === 0);
    if (!noneIsLeft) await ringDrain(ctx, host, await readDrain(ctx));
  } else await wakeDrain(ctx, host);
  // The first start on an idle pool writes the watchdog's document: all others would lose to it.
  if (waited) await checkDrain(ctx, host);
  else if (started.length === 0) await watchTheWatchdog(ctx, host, gate);
  return started.length;
}

/** What the watchdog needs to know of works that start together. */
function inCommon(works: readonly Work[]): Started {
  if (works.length === 1) return works[0]!;
  const brief = works.some((work) => work.brief === true);
  const timeoutMs = works.map((work) => work.timeoutMs).reduce(least, undefined);
  return { brief, timeoutMs };
}

export interface Ended {
  readonly work: string;
  readonly slot: SlotId | undefined;
  /** Counts the end into what has ended in the slot so far. Default: it is not counted. */
  readonly count?: (before: SlotCounts | undefined) => SlotCounts;
  /** Whether this transaction may still enqueue, and then calls `endOffer`. Default: false. */
  readonly mayEnqueue?: boolean;
}

/** Ends a work's hold on its slot, and starts its successor there, unless others waited long. */
export async function completeWork(ctx: HostCtx, host: Host, ended: Ended, successor?: Work) {
  const slot: Slot | null = ended.slot === undefined ? null : await ctx.db.get("slots", ended.slot);
  if (slot === null || slot.work !== ended.work) {
    if (successor !== undefined) await enqueueWork(ctx, successor, host);
    return;
  }
  if (ended.count !== undefined) countAlong(ctx, slot._id, ended.count(slot.counts));
  const gate = await ensureGate(ctx);
  if (slot.number >= gate.maxParallelism) {
    await ctx.db.delete("slots", slot._id);
    if (successor !== undefined) await enqueueWork(ctx, successor, host);
    return;
  }
  if (slot.woke === true) noteWoke(ctx, ended.work);
  if (successor !== undefined && (gate.open || mayHandOver(slot))) {
    const handOvers = { count: slot.handOvers + 1, since: slot.heldSince };
    if (await tryStart(ctx, host, slot, successor, handOvers)) return;
  } else if (successor !== undefined) {
    return await queueBehindOthers(ctx, host, gate, slot, successor);
  }
  if (!gate.open) await handOver(ctx, host, gate, slot);
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
  const { seen } = await seeNearFirst(ctx, host, gate);
  if (seen.length === 0) {
    if (!(await tryStart(ctx, host, slot, successor))) await handOver(ctx, host, gate, slot);
    return;
  }
  await joinQueue(ctx, successor);
  if ((await startNearFirst(ctx, host, slot, seen)) !== "started")
    await handOver(ctx, host, gate, slot);
}

function mayHandOver(slot: Slot): boolean {
  return slot.handOvers < MAX_HAND_OVERS && Date.now() - slot.heldSince < MAX_HELD_MS;
}
