import { cancelPending, leaveLineCanceled, slotOf, takeBack } from "../core/index.js";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { endWork } from "./complete.js";

/**
 * Cancels a work. One that has not begun ends here; one that runs goes on, and is not tried again; a finished or unknown one is left.
 * @returns whether it ended without a slot, so that no slot has counted it.
 */
export async function cancelWork(ctx: MutationCtx, work: Doc<"works">): Promise<boolean> {
  const canceled = { kind: "canceled" } as const;
  if (work.due !== undefined) {
    if (work.due.job !== undefined) await cancelPending(ctx, work.due.job);
    await endWork(ctx, work, undefined, canceled);
    return true;
  }
  if (await leaveLineCanceled(ctx, work._id)) {
    await endWork(ctx, work, undefined, canceled);
    return true;
  }
  await takeBack(ctx, work._id);
  const slot = await slotOf(ctx, work._id);
  // It was canceled before, while it ran, and still does.
  if (slot !== null && work.canceled === true) return false;
  // It has a slot, but its function may not have begun: as when it is canceled in the transaction that enqueued it.
  // But where it has ended, and it is its report that is to begin, it goes on to its end.
  if (
    slot?.job === undefined ||
    (slot.reporting !== true && (await cancelPending(ctx, slot.job)))
  ) {
    await endWork(ctx, work, slot?._id, canceled);
    return slot === null;
  }
  if (work.canceled !== true) await ctx.db.patch("works", work._id, { canceled: true });
  return false;
}
