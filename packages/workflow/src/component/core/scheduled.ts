import { cancelPending, LATE_MS } from "@stepwise/workpool/core";
import type { SystemDataModel } from "convex/server";
import type { Id } from "../_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "../_generated/server.js";

/* What becomes of scheduled functions: they may fail, and be canceled or removed by hand. */

type Job = Id<"_scheduled_functions">;
type JobState = SystemDataModel["_scheduled_functions"]["document"]["state"];

/** The state of a scheduled function, if there is one. It is read with its arguments. */
export async function stateOfJob(ctx: QueryCtx, job: Job | undefined) {
  if (job === undefined) return undefined;
  return (await ctx.db.system.get("_scheduled_functions", job))?.state;
}

/** Says whether a function will run, or runs now. A mutation that runs seems not to have begun. */
export function isToCome(state: JobState | undefined): boolean {
  return state?.kind === "pending" || state?.kind === "inProgress";
}

export async function isLost(ctx: QueryCtx, { job }: { job?: Job | undefined }): Promise<boolean> {
  return !isToCome(await stateOfJob(ctx, job));
}

/** What is checked, and when it is due: a step record's entry, or a deadline. */
type Checked = { check?: Job | undefined; entersAt?: number | undefined; at?: number };

/** Cancels a check. Only of one that may have begun the state is read. */
export async function cancelCheck(
  ctx: MutationCtx,
  { check, entersAt = 0, at = entersAt }: Checked,
): Promise<void> {
  if (check === undefined) return;
  // The clock has whole ms, and what is due at a fraction of one begins within it.
  if (Date.now() >= Math.floor(at + LATE_MS)) return void (await cancelPending(ctx, check));
  try {
    await ctx.scheduler.cancel(check);
  } catch {
    // It is gone: a restore from a backup leaves none.
  }
}

export async function cancelScheduled(
  ctx: MutationCtx,
  { job, ...checked }: Checked & { job?: Job | undefined },
): Promise<void> {
  if (job !== undefined) await cancelPending(ctx, job);
  await cancelCheck(ctx, checked);
}
