import type { HostMutationCtx, JobId } from "./context.js";

/**
 * Cancels a scheduled function, unless it runs. A running mutation looks pending, but it reads the
 * record that names it, which the caller writes, so only one of the two commits. The function that
 * runs this code is never canceled. @returns whether it had not begun.
 */
export async function cancelPending(ctx: HostMutationCtx, job: JobId): Promise<boolean> {
  if (await isOwnJob(ctx, job)) return false;
  const scheduled = await ctx.db.system.get("_scheduled_functions", job);
  if (scheduled?.state.kind !== "pending") return false;
  await ctx.scheduler.cancel(job);
  return true;
}

/** Whether it is the scheduled function inside which this is called, at whatever depth. */
export async function isOwnJob(ctx: HostMutationCtx, job: JobId | undefined): Promise<boolean> {
  if (job === undefined) return false;
  return (await ctx.meta.getRequestMetadata()).scheduledFunctionId === job;
}
