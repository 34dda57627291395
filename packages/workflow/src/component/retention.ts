import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx, type QueryCtx } from "./_generated/server.js";
import { hasRoomInPage } from "./page.js";
import { hasEnded } from "./lookup.js";
import { removeRun } from "./removing.js";
import { cancelPending, isLost } from "./scheduled.js";

/**
 * So long after a run has expired it is removed, in ms, and with it all that have expired by then: so runs that end one after the other are
 * removed in batches, by one scheduled function each.
 */
const BATCH_MS = 60_000;
/** A removal that is so late was lost, or the scheduler is far behind: another is scheduled. */
const LATE_MS = 60_000;

/** Until when an ended run of the top level is kept. @returns the fields of its record that say so. */
export async function expireLater(
  ctx: MutationCtx,
  { parentRun, retentionMs }: Doc<"runs">,
): Promise<{ expiresAt?: number }> {
  if (parentRun !== undefined || retentionMs === undefined) return {};
  const expiresAt = Date.now() + retentionMs;
  await removeBy(ctx, expiresAt + BATCH_MS);
  return { expiresAt };
}

/** Sees to it that there is a removal at the time, or before; it then schedules the next one itself. Mostly there is one: nothing is written. */
async function removeBy(ctx: MutationCtx, at: number): Promise<void> {
  const next = await ctx.db.query("expiries").first();
  if (next !== null && next.at <= at && next.at > Date.now() - LATE_MS) return;
  await scheduleRemoval(ctx, next, at);
}

async function scheduleRemoval(
  ctx: MutationCtx,
  next: Doc<"expiries"> | null,
  at: number,
): Promise<void> {
  if (next?.job !== undefined) await cancelPending(ctx, next.job);
  const job = await ctx.scheduler.runAt(at, internal.retention.removeExpired, {});
  if (next === null) await ctx.db.insert("expiries", { at, job });
  else await ctx.db.patch("expiries", next._id, { at, job });
}

/** Removes the runs whose time is over, as many as fit into one transaction; then schedules the next removal, if there is one to come. */
export const removeExpired = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    let following = await firstToExpire(ctx);
    while (following !== null && following.at <= Date.now() && (await hasRoomInPage(ctx))) {
      const { run } = following;
      if (!(await hasEnded(ctx, run)))
        await ctx.db.patch("runs", run._id, { expiresAt: Date.now() + BATCH_MS });
      else await removeRun(ctx, run._id);
      following = await firstToExpire(ctx);
    }
    const next = await ctx.db.query("expiries").first();
    if (following !== null) {
      const isOverdue = following.at <= Date.now();
      await scheduleRemoval(ctx, next, isOverdue ? Date.now() : following.at + BATCH_MS);
    } else if (next !== null) await ctx.db.delete("expiries", next._id);
    return null;
  },
});

async function firstToExpire(ctx: QueryCtx): Promise<{ run: Doc<"runs">; at: number } | null> {
  const run = await ctx.db
    .query("runs")
    .withIndex("by_expiry", (q) => q.gt("expiresAt", undefined))
    .first();
  return run?.expiresAt === undefined ? null : { run, at: run.expiresAt };
}

/** After a restore from a backup: schedules the next removal where it will not come. */
export async function repairRetention(ctx: MutationCtx): Promise<void> {
  const next = await ctx.db.query("expiries").first();
  if (next !== null && (await isLost(ctx, next)))
    await scheduleRemoval(ctx, next, Math.max(next.at, Date.now()));
}
