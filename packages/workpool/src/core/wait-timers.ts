import type { GenericId } from "convex/values";
import type { Doc, Host, MutationCtx, Work } from "./context.js";
import { cancelPending } from "./jobs.js";
import { poolTx } from "./transaction.js";

/*
 * A work may wait for a slot and for its limits at most for a time, and then fails. A row of its
 * own says until when, and whoever takes the work out deletes it. A work that starts at once, or
 * has no such time, has none: an index over all works that wait would cost each of them an entry.
 */

/**
 * Notes until when a work waits that begins to. The first of a transaction has a timer to itself,
 * and the others have one together, which finds what is left of them.
 */
export async function beginWait(
  ctx: MutationCtx,
  { functions }: Host,
  { work, until: known, waitAtMostMs }: Pick<Work, "work" | "until" | "waitAtMostMs">,
): Promise<GenericId<"waits"> | undefined> {
  const until = known ?? (waitAtMostMs === undefined ? undefined : Date.now() + waitAtMostMs);
  if (until === undefined) return undefined;
  const { timers } = poolTx(ctx);
  const before = timers.get(until) ?? 0;
  timers.set(until, before + 1);
  const job =
    before > 1 ? undefined : await ctx.scheduler.runAt(until, functions.endWaits, { until });
  return await ctx.db.insert("waits", { until, work, job: before === 0 ? job : undefined });
}

/** Ends the wait of a row that is gone. @returns until when it might wait, if not forever. */
export async function endWait(
  ctx: MutationCtx,
  { wait: id }: Pick<Doc<"waiting">, "wait">,
): Promise<number | undefined> {
  const wait: Doc<"waits"> | null = id === undefined ? null : await ctx.db.get("waits", id);
  if (wait === null) return undefined;
  await ctx.db.delete("waits", wait._id);
  if (wait.job !== undefined) await cancelPending(ctx, wait.job);
  return wait.until;
}
