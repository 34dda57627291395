import { leaveLineCanceled, slotOf } from "../core/index.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { endWork } from "./complete.js";

/** Cancels a work. One that has not begun ends here; one that runs goes on, and is not tried again; a finished or unknown one is left. */
export async function cancelWork(ctx: MutationCtx, work: Doc<"works">): Promise<void> {
  const canceled = { kind: "canceled" } as const;
  if (work.due !== undefined) {
    await cancelPending(ctx, work.due.job);
    return await endWork(ctx, work, undefined, canceled);
  }
  if (await leaveLineCanceled(ctx, work._id)) return await endWork(ctx, work, undefined, canceled);
  const slot = await slotOf(ctx, work._id);
  // It has a slot, but its function may not have begun: as when it is canceled in the transaction that enqueued it.
  if (slot?.job === undefined || (await cancelPending(ctx, slot.job)))
    return await endWork(ctx, work, slot?._id, canceled);
  if (work.canceled !== true) await ctx.db.patch("works", work._id, { canceled: true });
}

/**
 * Cancels a scheduled function that has not begun. @returns whether it had not.
 *
 * A running mutation looks as if it had not begun, and to cancel the job of a running function is not allowed, for its schedules would be
 * dropped. It cannot happen here: the caller ends the work in this transaction, and the mutation has read the work, so only one of the two
 * commits. If it is this one, the mutation begins anew and finds no work; if it is the mutation, this one begins anew and finds none.
 */
async function cancelPending(ctx: MutationCtx, job: Id<"_scheduled_functions">): Promise<boolean> {
  const scheduled = await ctx.db.system.get("_scheduled_functions", job);
  if (scheduled?.state.kind !== "pending") return false;
  await ctx.scheduler.cancel(job);
  return true;
}
