import { cancelPending, isOwnJob, takeBack } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import { deleteInPage, goOn, goOnWith, hasRoomInPage } from "../core/continuations.js";
import { hasEnded } from "../core/runs.js";
import { isLost } from "../core/scheduled.js";
import { callOffStep } from "../engine/closing.js";
import { liftDeadlines } from "../engine/deadlines.js";
import { continuationArgs } from "../validators.js";
import { dropPages } from "./childPages.js";

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
  const job = await ctx.scheduler.runAt(at, internal.features.retention.removeExpired, {});
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

/**
 * Removes the children of a parent whose record is to be forgotten, with what is under them: as many as fit into this transaction, the
 * others in pages.
 * @returns false where they can be undone, or have not all ended: then they stay.
 */
export async function removeChildren(ctx: MutationCtx, parent: Id<"steps">): Promise<boolean> {
  const undo = await ctx.db
    .query("undos")
    .withIndex("by_step", (q) => q.eq("step", parent))
    .first();
  if (undo !== null) return false;
  for (const state of ["pending", "running", "compensating"] as const) {
    const child = await ctx.db
      .query("runs")
      .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state))
      .first();
    if (child !== null) return false;
  }
  if (!(await removeFamily(ctx, parent)))
    await goOn(ctx, internal.features.retention.removeMoreChildren, parent);
  return true;
}

/** The next page of {@link removeChildren}. */
export const removeMoreChildren = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Id<"steps">>(ctx, continuation, async (parent) =>
      (await removeFamily(ctx, parent)) ? null : parent,
    ),
});

/**
 * Removes a run of the top level. Its own document goes at once, so that nobody finds it any more and its key is free; everything else of it
 * and of the runs under it in this transaction as far as it fits, then in pages.
 */
export async function removeRun(ctx: MutationCtx, run: Id<"runs">): Promise<void> {
  await ctx.db.delete("runs", run);
  if (!(await removeRowsOf(ctx, run))) await goOn(ctx, internal.features.retention.removeMore, run);
}

/** The next page of {@link removeRun}. */
export const removeMore = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Id<"runs">>(ctx, continuation, async (run) =>
      (await removeRowsOf(ctx, run)) ? null : run,
    ),
});

/**
 * Removes all that belongs to a run but its own document, and the runs under it.
 * @returns false where this transaction has done its part: what is left is for the next.
 */
async function removeRowsOf(
  ctx: MutationCtx,
  run: Id<"runs">,
  { isChild = false, hasEnded = true } = {},
): Promise<boolean> {
  const steps = ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", run));
  for await (const step of steps) if (!(await removeStep(ctx, step))) return false;
  const events = ctx.db.query("inbox").withIndex("by_run_name", (q) => q.eq("run", run));
  if (!(await deleteInPage(ctx, "inbox", events))) return false;
  const undos = ctx.db.query("undos").withIndex("by_run", (q) => q.eq("run", run));
  if (!(await deleteInPage(ctx, "undos", undos))) return false;
  // Only runs of the top level have a context, and only those that go on have deadlines.
  const contexts = isChild
    ? []
    : await ctx.db
        .query("contexts")
        .withIndex("by_run", (q) => q.eq("run", run))
        .collect();
  for (const { _id } of contexts) await ctx.db.delete("contexts", _id);
  if (!hasEnded) await liftDeadlines(ctx, run);
  return true;
}

/**
 * Removes a step record: what would go on with it, what it has in the pool, its children, what could undo it. An action that runs gives its
 * slot back when it ends.
 * @returns false where this transaction has done its part: the record is still there then.
 */
export async function removeStep(ctx: MutationCtx, step: Doc<"steps">): Promise<boolean> {
  if (!(await hasRoomInPage(ctx))) return false;
  // A step may have its own run removed, by canceling it: its report finds it ended, and by whom.
  if (await isOwnJob(ctx, step.job)) return false;
  const isParent = step.kind === "children";
  if (isParent && step.inserting === true) await dropPages(ctx, step._id);
  // What could undo its children goes before them: a run that is canceled before the next page looks for none that is gone …
  const isAlone =
    (await removeUndos(ctx, step)) && (!isParent || (await removeFamily(ctx, step._id)));
  if (!isAlone) {
    // … and a restart after that does not keep what is left.
    if (step.undone !== true) await ctx.db.patch("steps", step._id, { undone: true });
    return false;
  }
  if (step.endedAt === undefined) await callOffStep(ctx, step);
  if (step.kind === "action" && (await ctx.db.query("setAside").first()) !== null)
    await takeBack(ctx, step._id);
  await ctx.db.delete("steps", step._id);
  return true;
}

/** Removes what could undo a step, or its children. @returns as {@link removeRowsOf}. */
async function removeUndos(
  ctx: MutationCtx,
  { _id: step, kind, undoable }: Doc<"steps">,
): Promise<boolean> {
  if (undoable !== true && kind !== "children") return true;
  const undos = ctx.db.query("undos").withIndex("by_step", (q) => q.eq("step", step));
  return await deleteInPage(ctx, "undos", undos);
}

/** Removes the children of a parent, with what is under them. @returns as {@link removeRowsOf}. */
async function removeFamily(ctx: MutationCtx, parent: Id<"steps">): Promise<boolean> {
  const children = ctx.db.query("runs").withIndex("by_parent", (q) => q.eq("parentStep", parent));
  for await (const { _id, endedAt } of children) {
    if (!(await hasRoomInPage(ctx))) return false;
    const what = { isChild: true, hasEnded: endedAt !== undefined };
    if (!(await removeRowsOf(ctx, _id, what))) return false;
    await ctx.db.delete("runs", _id);
  }
  const badEnds = ctx.db.query("badEnds").withIndex("by_parent", (q) => q.eq("parent", parent));
  return await deleteInPage(ctx, "badEnds", badEnds);
}
