import type { Host, HostCtx, QueryCtx, Work } from "../context.js";
import { readGate } from "../gate.js";
import { cancelPending } from "../jobs.js";
import { PAGE } from "../room.js";
import { LATE_MS } from "../times.js";
import { poolTx } from "../transaction.js";
import { keepSweeping, least } from "../watch.js";
import { permitOfRate } from "./limits.js";

/*
 * Works may wait while nothing runs: for a rate, for the end of a pause, or until a time of their
 * own. Each of these is a scheduled function, which may be lost. So the watchdog stays on.
 */

/** A work begins to wait, perhaps for the end of a pause or until a time while nothing runs. */
export async function watchWait(
  ctx: HostCtx,
  host: Host,
  { until, waitAtMostMs }: Pick<Work, "until" | "waitAtMostMs">,
): Promise<void> {
  const { overrides = [], maxParallelism } = poolTx(ctx).gate ?? {};
  if (overrides.length === 0 && maxParallelism !== 0) return;
  const isTimed = (until ?? waitAtMostMs) !== undefined;
  if (isTimed || overrides.some((each) => each.until !== undefined)) await keepSweeping(ctx, host);
}

/**
 * Returns when the first of these functions is due, of a pool in which nothing runs and works wait.
 * A releaser that was lost is due until another comes; if nobody waits for it any more, none does,
 * and it is forgotten.
 */
export async function nextForWaiting(ctx: HostCtx): Promise<number | undefined> {
  const queries: QueryCtx["db"] = ctx.db;
  const known = poolTx(ctx).gate;
  const gate = known === undefined ? await readGate(ctx) : known;
  if (gate === null) return undefined;
  const { overrides = [], maxParallelism, limits } = gate;
  const waits =
    (limits !== undefined && (await queries.query("lines").first()) !== null) ||
    (maxParallelism === 0 && (await queries.query("waiting").first()) !== null);
  if (!waits) return undefined;
  let next = overrides.reduce<number | undefined>(
    (first, { until }) => least(first, until),
    undefined,
  );
  const wait = await queries.query("waits").withIndex("by_until").first();
  next = least(next, wait?.until);
  const buckets = await queries
    .query("buckets")
    .withIndex("by_full", (q) => q.gt("job", undefined))
    .take(PAGE);
  for (const { _id, name, job, dueAt = 0 } of buckets) {
    const lines = queries
      .query("lines")
      .withIndex("by_blocked", (q) => q.eq("blockedBy", permitOfRate(name)));
    if (dueAt < Date.now() - LATE_MS && (await lines.first()) === null) {
      await cancelPending(ctx, job!);
      await ctx.db.patch("buckets", _id, { job: undefined, dueAt: undefined });
    } else next = least(next, dueAt);
  }
  return next;
}
