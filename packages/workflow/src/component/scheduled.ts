import type { SystemDataModel } from "convex/server";
import type { Id } from "./_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "./_generated/server.js";

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

/**
 * Cancels a scheduled function that has not begun. One that runs is left alone: what it schedules after that would be dropped. A
 * mutation that runs looks as if it had not begun; but it reads the record that names it, which whoever cancels it writes, so only one of the
 * two commits. Or it is the one that calls this, which its state does not tell either.
 * @returns whether it had not begun.
 */
export async function cancelPending(ctx: MutationCtx, job: Job): Promise<boolean> {
  if (await isOwnJob(ctx, job)) return false;
  if ((await stateOfJob(ctx, job))?.kind !== "pending") return false;
  await ctx.scheduler.cancel(job);
  return true;
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

/** Whether it is the scheduled function inside which this is called, at whatever depth. */
export async function isOwnJob(ctx: MutationCtx, job: Job | undefined): Promise<boolean> {
  if (job === undefined) return false;
  return (await ctx.meta.getRequestMetadata()).scheduledFunctionId === job;
}
