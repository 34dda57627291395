import type { GenericId } from "convex/values";
import type { Drain, Gate, Host, MutationCtx, Slot, Work } from "./context.js";
import { PAUSE_MS, readDrain, ringDrain, stopDrain } from "./drain.js";
import { lacksPlaces, mayOpen, openGate } from "./gate.js";
import { anyWaits, leaveQueueAmong, leaveQueueFirst, seeNearFirst } from "./queue.js";
import { messageOf } from "./result.js";
import { hasRoom, MOST_REFUSED, MOST_TRIED, ROOM_TO_COMPLETE } from "./room.js";
import { setAside } from "./set-aside.js";
import { freeSlot, type HandOvers, seeFreeSlots, startInSlot } from "./slots.js";
import { isWatchedAsBefore, keepWatch, readWatch, reviveWatch } from "./watch.js";

/**
 * Gives the slot of a work that has ended to one that waits, with the gate closed. If none is seen
 * it frees the slot, and a drain is on or begins, or the gate opens: so no work waits while a slot
 * is free. While a drain is on and few wait, completions leave those few to it.
 */
export async function handOver(ctx: MutationCtx, host: Host, gate: Gate, slot: Slot) {
  const { seen, all } = await seeNearFirst(ctx, host, gate, slot);
  if (all && seen.length < gate.maxParallelism) {
    const drain = await readDrain(ctx);
    const opens = seen.length === 0 && (mayOpen(gate) || (await isLast(ctx, host, gate)));
    const leaves = seen.length === 0 || (await leavesToDrain(ctx, gate, drain, seen.length));
    if (!opens && leaves) {
      await freeSlot(ctx, slot._id);
      if (drain?.on !== true) await ringDrain(ctx, host, drain, PAUSE_MS);
      return;
    }
    if (opens && drain?.on === true) {
      if (await anyWaits(ctx)) return await freeSlot(ctx, slot._id);
      await stopDrain(ctx, host, drain);
    }
  }
  const taken = await startNearFirst(ctx, host, slot, seen);
  if (taken === "started") return;
  await freeSlot(ctx, slot._id);
  if (taken === "none waits") {
    await reviveWatch(ctx, host);
    return await openGate(ctx, gate);
  }
  const drain = await readDrain(ctx);
  if (drain?.on !== true) await ringDrain(ctx, host, drain);
}

/** Starts one of these works, or else the one that has waited longest. */
export async function startNearFirst(
  ctx: MutationCtx,
  host: Host,
  slot: Slot,
  seen: readonly GenericId<"waiting">[],
): Promise<"started" | "none waits" | "refused"> {
  const nearFirst = seen.slice(0, MOST_TRIED);
  for (let refused = 0; refused < MOST_REFUSED; refused++) {
    const next = (await leaveQueueAmong(ctx, nearFirst)) ?? (await leaveQueueFirst(ctx));
    if (next === null) return "none waits";
    if (await startQueued(ctx, host, slot, next)) return "started";
  }
  return "refused";
}

/** Starts a work that has left the queue, if it may. @returns whether it was started. */
export async function startQueued(ctx: MutationCtx, host: Host, slot: Slot, work: Work) {
  if (host.mayStart !== undefined && !(await host.mayStart(ctx, work))) return false;
  return await tryStart(ctx, host, slot, work);
}

/**
 * Whether the last waiting works are left to a drain: completions of one moment would conflict over
 * them. Fewer are where the drain itself may wait long for a place of the scheduler.
 */
async function leavesToDrain(
  ctx: MutationCtx,
  { maxParallelism }: Gate,
  drain: Drain | null,
  waiting: number,
): Promise<boolean> {
  if (await lacksPlaces(ctx)) return waiting < maxParallelism / 8;
  return drain?.on === true || (maxParallelism >= 16 && waiting < maxParallelism / 2);
}

/** Whether no other slot is held, as it seems. */
async function isLast(ctx: MutationCtx, host: Host, gate: Gate): Promise<boolean> {
  return (await seeFreeSlots(ctx, host, gate)).length >= gate.maxParallelism - 1;
}

/** Starts a work in a slot. @returns false if it could not start: then it is ended or set aside. */
export async function tryStart(
  ctx: MutationCtx,
  host: Host,
  slot: Slot,
  work: Work,
  handOvers?: HandOvers,
): Promise<boolean> {
  let whole: Work;
  try {
    whole = await withArgs(ctx, host, work);
  } catch (error) {
    await unlessUsedUp(ctx, error);
    await setAside(ctx, work.work, error);
    return false;
  }
  try {
    await startInSlot(ctx, host, slot._id, whole, handOvers);
  } catch (error) {
    await unlessUsedUp(ctx, error);
    await endGone(ctx, host, work.work, messageOf(error));
    return false;
  }
  if (!isWatchedAsBefore(slot, whole)) await keepWatch(ctx, host, whole, await readWatch(ctx));
  await host.started?.(ctx, work.work);
  return true;
}

/** If the transaction is used up, the error is no fault of the work: then it goes on. */
async function unlessUsedUp(ctx: MutationCtx, error: unknown): Promise<void> {
  if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) throw error;
}

async function endGone(ctx: MutationCtx, host: Host, work: string, message: string): Promise<void> {
  try {
    await host.functionGone(ctx, work, message);
  } catch (error) {
    await unlessUsedUp(ctx, error);
    await setAside(ctx, work, error);
  }
}

async function withArgs(ctx: MutationCtx, host: Host, work: Work): Promise<Work> {
  if (work.argsInRecord !== true) return work;
  if (host.argsOf === undefined)
    throw new Error(
      `The work "${work.work}" was enqueued with argsInRecord, but its Host has no argsOf`,
    );
  return { ...work, args: await host.argsOf(ctx, work.work) };
}
