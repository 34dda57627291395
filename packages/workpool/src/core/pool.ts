import type { Doc, HostMutationCtx, PoolHost, SlotId, Work } from "./context.js";
import { closeGate, ensureGate, mayClaim, mayOpen, openGate } from "./gate.js";
import { joinLine, leaveLineNearFirst } from "./line.js";
import { passToLine, tryStart } from "./pass.js";
import { findFreeSlot, freeSlot, freeSlots, startInSlot } from "./slots.js";
import { countAlong, type Tally } from "./tally.js";
import { keepWatch, least, watchTheWatchdog } from "./watch.js";

/** While others wait, a slot is handed to a successor at most so often in a row … */
const MAX_HAND_OVERS = 10;
/** … and for at most so long, in ms; then the successor queues. */
const MAX_HELD_MS = 2_000;

/**
 * Starts a work if a slot is free, else puts it in line.
 *
 * Gate open: takes a free slot; nothing else runs for it. None: the work waits, *and the gate is written closed*. Gate closed: it looks for
 * a free slot too, as the gate stays closed for a while; none: the work waits. That there is none is read from the index, and a completion
 * that at the same moment finds nothing waiting frees a slot in what was read: the two conflict and one of them runs again, so no
 * wake-up is lost.
 *
 * @param host lets the work be watched. Without it, it is once another work was started or handed a slot with it.
 * @throws where the work's function does not exist.
 */
export async function enqueueWork(
  ctx: HostMutationCtx,
  work: Work,
  host?: PoolHost,
): Promise<"started" | "waiting"> {
  const gate = await ensureGate(ctx);
  const slot = mayClaim(gate) ? await findFreeSlot(ctx, gate.maxParallelism, work.work) : null;
  if (slot !== null) {
    await startInSlot(ctx, slot._id, work, { count: 0, since: Date.now() });
    await keepWatch(ctx, host, gate, work);
    return "started";
  }
  if (gate.open) await closeGate(ctx, gate);
  await joinLine(ctx, work);
  await watchTheWatchdog(ctx, host, gate);
  return "waiting";
}

/**
 * Starts as many of the works, in their order, as there are free slots, and puts the others in line. The same as `enqueueWork` for
 * each, but it looks at the gate and for slots once.
 * @returns how many of them, from the first, were started.
 * @throws where a work's function does not exist.
 */
export async function enqueueWorks(
  ctx: HostMutationCtx,
  works: readonly Work[],
  host?: PoolHost,
): Promise<number> {
  const gate = await ensureGate(ctx);
  const free = mayClaim(gate) ? await freeSlots(ctx, works.length) : [];
  let timeoutMs: number | undefined;
  let brief = false;
  for (const [index, work] of works.entries()) {
    const slot = free[index];
    if (slot === undefined) {
      await joinLine(ctx, work);
      continue;
    }
    await startInSlot(ctx, slot._id, work, { count: 0, since: Date.now() });
    timeoutMs = least(timeoutMs, work.timeoutMs);
    brief ||= work.brief === true;
  }
  if (free.length > 0)
    await keepWatch(ctx, host, gate, { brief, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  if (free.length === works.length) return free.length;
  if (gate.open) await closeGate(ctx, gate);
  if (free.length === 0) await watchTheWatchdog(ctx, host, gate);
  return free.length;
}

/** A work, or an attempt of it, that has ended. */
export interface Ended {
  readonly work: string;
  /** The slot that it holds, if it holds one. */
  readonly slot: SlotId | undefined;
  /** Counts the end into what has ended in the slot so far. Default: it is not counted. */
  readonly count?: (before: Tally | undefined) => Tally;
}

/**
 * Ends a work's hold on its slot, and starts its successor if it has one: in the same slot, unless others have waited too long.
 * A slot that the work does not hold (any more) is left alone.
 */
export async function completeWork(
  ctx: HostMutationCtx,
  host: PoolHost,
  ended: Ended,
  successor?: Work,
): Promise<void> {
  const slot: Doc<"slots"> | null =
    ended.slot === undefined ? null : await ctx.db.get("slots", ended.slot);
  if (slot === null || slot.work !== ended.work) {
    if (successor !== undefined) await enqueueWork(ctx, successor, host);
    return;
  }
  if (ended.count !== undefined) countAlong(ctx, slot._id, ended.count(slot.tally));
  const gate = await ensureGate(ctx);
  if (slot.number >= gate.maxParallelism) {
    await ctx.db.delete("slots", slot._id);
    if (successor !== undefined) await enqueueWork(ctx, successor, host);
    return;
  }
  if (successor !== undefined && (gate.open || mayHandOver(slot))) {
    const handOvers = { count: slot.handOvers + 1, since: slot.heldSince };
    if (await tryStart(ctx, host, gate, slot._id, successor, handOvers)) return;
  } else if (successor !== undefined) {
    return await queueBehindOthers(ctx, host, gate, slot, successor);
  }
  if (gate.open) await freeSlot(ctx, slot._id);
  else
    await passToLine(
      ctx,
      host,
      gate,
      slot._id,
      () => leaveLineNearFirst(ctx, host, gate.maxParallelism),
      mayOpen(gate, host),
    );
}

/** Gives the slot to somebody who waits, and has the successor wait; if nobody waits, the successor gets it. */
async function queueBehindOthers(
  ctx: HostMutationCtx,
  host: PoolHost,
  gate: Doc<"gate">,
  slot: Doc<"slots">,
  successor: Work,
): Promise<void> {
  let queued = false;
  const takeNext = async (): Promise<Work | null> => {
    const next = await leaveLineNearFirst(ctx, host, gate.maxParallelism);
    if (next === null && !queued) {
      queued = true;
      if (mayOpen(gate, host)) await openGate(ctx, gate);
      return successor;
    }
    if (next !== null && !queued) {
      queued = true;
      await joinLine(ctx, successor);
    }
    return next;
  };
  await passToLine(ctx, host, gate, slot._id, takeNext, mayOpen(gate, host));
}

function mayHandOver(slot: Doc<"slots">): boolean {
  return slot.handOvers < MAX_HAND_OVERS && Date.now() - slot.heldSince < MAX_HELD_MS;
}
