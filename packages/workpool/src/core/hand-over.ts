import type { GenericId } from "convex/values";
import type { Gate, Host, MutationCtx, Slot, Work } from "./context.js";
import { isDrainLate, PAUSE_MS, readDrain, ringDrain, ringUnlessOn, stopDrain } from "./drain.js";
import { LATE_BEGIN_MS, mayOpen, openGate, wasJustOpen } from "./gate.js";
import { giveBackUnused } from "./limits/lines.js";
import { anyWaits, LARGE_POOL, leaveQueueAmong, leaveQueueFirst, seeQueueFor } from "./queue.js";
import { isLeftToOwner, isOwned } from "./owners.js";
import { messageOf } from "./result.js";
import { hasRoom, MOST_TRIED, ROOM_TO_COMPLETE } from "./room.js";
import { setAside } from "./set-aside.js";
import { freeSlot, type HandOvers, seeFreeSlots, startInSlot } from "./slots.js";
import { forgetRead, writeBuckets } from "./transaction.js";
import { keepWatchIn, reviveWatch } from "./watch.js";

/**
 * Gives the slot of a work that has ended to one that waits, with the gate closed. If none is seen
 * it frees the slot, and a drain is on or begins, or the gate opens: so no work waits while a slot
 * is free. If few wait, the drain serves them: ends of one moment would conflict over them.
 */
export async function handOver(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  slot: Slot,
  {
    executes = false,
    calledAt = Infinity,
  }: { executes?: boolean | undefined; calledAt?: number | undefined } = {},
): Promise<void> {
  if (executes && (await isLeftToOwner(ctx, gate, slot.number)))
    return await freeSlot(ctx, slot._id);
  const { free, others, areFew } = await seeQueueFor(ctx, host, gate, slot);
  const seen = [...free, ...others];
  if (executes && seen.length > 0 && !(await isOwned(ctx, gate, slot.number))) {
    if (!isDrainLate(await readDrain(ctx))) {
      await freeSlot(ctx, slot._id);
      // It begins an executor.
      return await ringUnlessOn(ctx, host, 0);
    }
  }
  if (seen.length === 0 || (areFew && gate.maxParallelism >= LARGE_POOL)) {
    // guard: drain-is-read
    const drain = await readDrain(ctx);
    const isOn = drain?.on === true;
    const leaves =
      seen.length > 0 || !(await mayOpenAtEnd(ctx, host, gate, { freed: 1, calledAt }));
    if (leaves || (isOn && (await anyWaits(ctx)))) {
      await freeSlot(ctx, slot._id);
      // guard: drain-after-end
      if (!isOn) await ringDrain(ctx, host, drain, PAUSE_MS);
      return;
    }
    if (isOn) await stopDrain(ctx, host, drain);
  }
  const taken = await startFirst(ctx, host, slot, seen);
  if (taken === "started") return;
  await freeSlot(ctx, slot._id);
  if (taken === "none waits") {
    await reviveWatch(ctx, host);
    return await openGate(ctx, gate);
  }
  await ringUnlessOn(ctx, host, 0);
}

/** Starts one of these works, or else the one that has waited longest. */
export async function startFirst(
  ctx: MutationCtx,
  host: Host,
  slot: Slot,
  seen: readonly GenericId<"waiting">[],
): Promise<"started" | "none waits" | "refused"> {
  const left = seen.slice(0, MOST_TRIED);
  for (let refused = 0; refused < MOST_TRIED; refused++) {
    const next = (await leaveQueueAmong(ctx, host, left)) ?? (await leaveQueueFirst(ctx, host));
    if (next === null) return "none waits";
    if (next !== undefined && (await startQueued(ctx, host, slot, next))) return "started";
  }
  return "refused";
}

/** Starts a work that has left the queue, if it may. @returns whether it was started. */
export async function startQueued(
  ctx: MutationCtx,
  host: Host,
  slot: Slot,
  work: Work,
  handOvers?: HandOvers,
): Promise<boolean> {
  if (await mayStart(ctx, host, work)) return await tryStart(ctx, host, slot, work, handOvers);
  if (work.held !== undefined) await giveBackUnused(ctx, host, work);
  return false;
}

/** Says whether a work that waited may start; if not, its host has ended it. */
export async function mayStart(ctx: MutationCtx, host: Host, work: Work): Promise<boolean> {
  if (host.mayStart === undefined) return true;
  await writeBuckets(ctx);
  if (await host.mayStart(ctx, work)) return true;
  forgetRead(ctx);
  return false;
}

/**
 * Says whether an end may open the gate if nothing waits: it sees nobody who has joined since it
 * was called, and soon after it was closed, all other slots are free.
 */
async function mayOpenAtEnd(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  { freed, calledAt }: { freed: number; calledAt: number },
): Promise<boolean> {
  if (wasJustOpen(gate) || Date.now() > calledAt + LATE_BEGIN_MS) return false;
  return (
    mayOpen(gate) || (await seeFreeSlots(ctx, host, gate)).length + freed >= gate.maxParallelism
  );
}

/** Opens the gate if nothing waits, at the end of what an executor ran. @returns whether it did. */
export async function openAtEnd(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  ended: { freed: number; calledAt: number },
): Promise<boolean> {
  if (!(await mayOpenAtEnd(ctx, host, gate, ended)) || (await anyWaits(ctx))) return false;
  const drain = await readDrain(ctx);
  if (drain?.on === true) await stopDrain(ctx, host, drain);
  else await reviveWatch(ctx, host);
  await openGate(ctx, gate);
  return true;
}

/** Starts a work in a slot. @returns false if it could not start: then it is ended or set aside. */
export async function tryStart(
  ctx: MutationCtx,
  host: Host,
  slot: Slot,
  work: Work,
  handOvers?: HandOvers,
): Promise<boolean> {
  let whole: Work | undefined;
  try {
    whole = await withArgs(ctx, host, work);
    await startInSlot(ctx, host, slot._id, whole, handOvers);
  } catch (error) {
    await unlessUsedUp(ctx, error);
    if (work.held !== undefined) await giveBackUnused(ctx, host, work);
    if (whole === undefined) {
      await setAside(ctx, work.work, error);
      return false;
    }
    // guard: function-gone
    await endGone(ctx, host, work.work, messageOf(error));
    forgetRead(ctx);
    return false;
  }
  await keepWatchIn(ctx, host, slot, whole);
  await host.started?.(ctx, work.work);
  return true;
}

/** If the transaction is used up, the error is no fault of the work: then it goes on. */
async function unlessUsedUp(ctx: MutationCtx, error: unknown): Promise<void> {
  if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) throw error;
}

async function endGone(ctx: MutationCtx, host: Host, work: string, message: string): Promise<void> {
  await writeBuckets(ctx);
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
