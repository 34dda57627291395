import type { Host, JobId, MutationCtx, Work } from "./context.js";
import { cancelPending } from "./jobs.js";
import { poolTx } from "./transaction.js";

/*
 * A work may wait for a slot and for its limits at most for a time, and then fails. Its row says
 * until when, and names a scheduled function, which whoever takes the work out cancels. A work
 * that starts at once, or has no such time, has none.
 */

/** Of a row of the queue, or of a line. */
interface Until {
  readonly until?: number | undefined;
  readonly timer?: JobId | undefined;
}

/**
 * Until when a work waits that begins to, and what ends that. The first of a transaction has a
 * timer to itself, and the others have one together, which finds what is left of them.
 */
export async function waitOf(
  ctx: MutationCtx,
  { functions }: Host,
  { until: known, waitAtMostMs }: Pick<Work, "until" | "waitAtMostMs">,
): Promise<Until> {
  const until = known ?? (waitAtMostMs === undefined ? undefined : Date.now() + waitAtMostMs);
  if (until === undefined) return {};
  const { timers } = poolTx(ctx);
  const before = timers.get(until) ?? 0;
  timers.set(until, before + 1);
  if (before > 1) return { until };
  const job = await ctx.scheduler.runAt(until, functions.endWaits, { until });
  return before === 0 ? { until, timer: job } : { until };
}

/** For a row that is no more. */
export async function endWait(ctx: MutationCtx, { timer }: Until): Promise<void> {
  if (timer !== undefined) await cancelPending(ctx, timer);
}
