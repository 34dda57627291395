import type { HostCtx, HostQueryCtx, JobId, MutationCtx } from "./context.js";

/**
 * Cancels a scheduled function, unless it runs, or runs this code: that looks begun to itself. To
 * others a running mutation looks pending, but reads the record that names it, which the caller
 * writes, so only one of the two commits.
 * @returns whether it had not begun.
 */
export async function cancelPending(ctx: HostCtx, job: JobId): Promise<boolean> {
  // guard: has-begun
  if (!(await isPending(ctx, job))) return false;
  // guard: not-begun
  await ctx.scheduler.cancel(job);
  return true;
}

export async function isOwnJob(ctx: HostCtx, job: JobId | undefined): Promise<boolean> {
  if (job === undefined) return false;
  return (await ctx.meta.getRequestMetadata()).scheduledFunctionId === job;
}

/** Says whether a client or an action calls it. What is scheduled is repeated without end. */
export async function comesFromOutside(ctx: MutationCtx): Promise<boolean> {
  return (await ctx.meta.getRequestMetadata()).scheduledFunctionId === null;
}

/** Says whether a scheduled function has not begun, or is a mutation that runs. */
export async function isPending(ctx: HostQueryCtx, job: JobId | undefined): Promise<boolean> {
  if (job === undefined) return false;
  return (await ctx.db.system.get("_scheduled_functions", job))?.state.kind === "pending";
}
