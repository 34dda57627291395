import type { Doc, PoolHost, PoolMutationCtx, SlotId, Work } from "./context.js";
import { openGate } from "./gate.js";
import { messageOf } from "./non-retryable.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { setAside } from "./set-aside.js";
import { freeSlot, startInSlot } from "./slots.js";
import { keepWatch } from "./watch.js";

/**
 * Gives a slot to a waiting work; if nothing waits, frees it, and opens the gate where that may be.
 * @param takeNext takes a work off the line. Null means that nothing waits, concluded from a serializable read.
 * @param mayOpen whether the gate opens if nothing waits.
 * @returns whether a work was started.
 */
export async function passToLine(
  ctx: PoolMutationCtx,
  host: PoolHost,
  gate: Doc<"gate">,
  slot: SlotId,
  takeNext: () => Promise<Work | null>,
  mayOpen: boolean,
): Promise<boolean> {
  for (;;) {
    const next = await takeNext();
    if (next === null) {
      await freeSlot(ctx, slot);
      if (mayOpen) await openGate(ctx, gate);
      return false;
    }
    const handOvers = { count: 0, since: Date.now() };
    if (await tryStart(ctx, host, gate, slot, next, handOvers)) return true;
  }
}

/**
 * Starts a work that has waited, or follows another. One that cannot be started is ended by its host, or set aside, and harms nobody else.
 * @returns whether it was started.
 */
export async function tryStart(
  ctx: PoolMutationCtx,
  host: PoolHost,
  gate: Doc<"gate">,
  slot: SlotId,
  work: Work,
  handOvers: { count: number; since: number },
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
    await startInSlot(ctx, slot, whole, handOvers);
  } catch (error) {
    await unlessUsedUp(ctx, error);
    await endGone(ctx, host, work.work, messageOf(error));
    return false;
  }
  await keepWatch(ctx, host, gate, whole);
  await host.started?.(ctx, work.work);
  return true;
}

/** A transaction that is used up refuses whatever is tried, and that is no fault of the work in line: then the error goes on. */
async function unlessUsedUp(ctx: PoolMutationCtx, error: unknown): Promise<void> {
  if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) throw error;
}

async function endGone(
  ctx: PoolMutationCtx,
  host: PoolHost,
  work: string,
  message: string,
): Promise<void> {
  try {
    await host.functionGone(ctx, work, message);
  } catch (error) {
    await unlessUsedUp(ctx, error);
    await setAside(ctx, work, error);
  }
}

async function withArgs(ctx: PoolMutationCtx, host: PoolHost, work: Work): Promise<Work> {
  if (work.argsInRecord !== true) return work;
  if (host.argsOf === undefined)
    throw new Error(
      `The work "${work.work}" was enqueued with argsInRecord, but its PoolHost has no argsOf`,
    );
  return { ...work, args: await host.argsOf(ctx, work.work) };
}
