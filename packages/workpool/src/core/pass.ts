import type { Doc, PoolHost, PoolMutationCtx, SlotId, Work } from "./context.js";
import { messageOf } from "./non-retryable.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { freeSlot, startInSlot } from "./slots.js";

/**
 * Gives a slot to a waiting work; if nothing waits, frees it and opens the gate.
 * @param takeNext takes a work off the line. Null means that nothing waits, concluded from a serializable read.
 * @returns whether a work was started.
 */
export async function passToLine(
  ctx: PoolMutationCtx,
  host: PoolHost,
  gate: Doc<"gate">,
  slot: SlotId,
  takeNext: () => Promise<Work | null>,
): Promise<boolean> {
  for (;;) {
    const next = await takeNext();
    if (next === null) {
      await freeSlot(ctx, slot);
      await ctx.db.patch("gate", gate._id, { open: true });
      return false;
    }
    const started = { count: 0, since: Date.now() };
    try {
      await startInSlot(ctx, slot, await withArgs(ctx, host, next), started);
      return true;
    } catch (error) {
      // A transaction that is used up refuses to schedule too, and that is no fault of the work in line.
      if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) throw error;
      await host.functionGone(ctx, next.work, messageOf(error));
    }
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
