import { cancelPending, isOwnJob } from "@stepwise/workpool/core";
import type { SystemDataModel } from "convex/server";
import type { Id } from "../_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "../_generated/server.js";

export { cancelPending, isOwnJob };

/* What becomes of scheduled functions: they may fail, and be canceled or cleaned away by hand. */

type Job = Id<"_scheduled_functions">;

type JobState = SystemDataModel["_scheduled_functions"]["document"]["state"];

/** What should have come so long ago has perhaps been lost, in ms. The scheduler is seldom that far behind. */
export const LATE_MS = 15_000;

/** What has become of a scheduled function; undefined where there is none, or it was cleaned away. Read with its arguments, which may be large. */
export async function stateOfJob(
  ctx: QueryCtx,
  job: Job | undefined,
): Promise<JobState | undefined> {
  if (job === undefined) return undefined;
  return (await ctx.db.system.get("_scheduled_functions", job))?.state;
}

/** Whether a scheduled function is still to come, or runs right now. A mutation that runs looks as if it had not begun. */
export function isToCome(state: JobState | undefined): boolean {
  return state?.kind === "pending" || state?.kind === "inProgress";
}

/** Whether what a record waits for will not come: it has no scheduled function, or that is canceled, gone, or at its end. */
export async function isLost(ctx: QueryCtx, { job }: { job?: Job | undefined }): Promise<boolean> {
  return !isToCome(await stateOfJob(ctx, job));
}

/** Cancels what would have looked after a step that is late. Nothing depends on its state: it only looks. */
export async function cancelReserve(ctx: MutationCtx, reserve: Job): Promise<void> {
  if (await isOwnJob(ctx, reserve)) return;
  try {
    await ctx.scheduler.cancel(reserve);
  } catch {
    // It is gone already: a restore from a backup leaves none, and one may be cleaned away by hand.
  }
}

/** Has nothing go on with a step that waits for its time. */
export async function callOffWaking(
  ctx: MutationCtx,
  { job, reserve }: { job?: Job | undefined; reserve?: Job | undefined },
): Promise<void> {
  if (job !== undefined) await cancelPending(ctx, job);
  if (reserve !== undefined) await cancelReserve(ctx, reserve);
}
