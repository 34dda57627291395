import { cancelPending, isOwnJob, LATE_MS, takeBack } from "@stepwise/workpool/core";
import { internal } from "../_generated/api.js";
import {
  continuation,
  continueLater,
  deleteInPage,
  hasRoomInPage,
  untilDone,
  voidMutation,
} from "../core/continuations.js";
import type { Doc, MutationCtx, QueryCtx, Run, RunId, Step, StepId } from "../core/documents.js";
import { giveBack } from "../core/inbox.js";
import { isAction, isParent } from "../core/kinds.js";
import { hasEnded } from "../core/runs.js";
import { isLost } from "../core/scheduled.js";
import { removeTags } from "../core/tags.js";
import { childrenFrom } from "../core/childRuns.js";
import { lookBelow, type Seen } from "../core/descendants.js";
import { stopStep } from "../engine/closing.js";
import { liftDeadlines } from "../engine/deadlineTimer.js";
import { dropPages } from "./childPages.js";
import { leaveLine } from "./passTurn.js";

/** Expired runs are removed together, so long after the first of them expired, in ms. */
const BATCH_MS = 60_000;

/** Schedules the removal of a run that ends. @returns the fields of its document for that. */
export async function expireLater(ctx: MutationCtx, { parentRun, retentionMs }: Run) {
  if (parentRun !== undefined || retentionMs === undefined) return {};
  const expiresAt = Date.now() + retentionMs;
  const at = expiresAt + BATCH_MS;
  const next = await ctx.db.query("expiries").first();
  // Mostly there is a removal before, which schedules the next one.
  if (next === null || next.at > at) await scheduleRemoval(ctx, next, at);
  else if (next.at <= Date.now() - LATE_MS) await repairRetention(ctx);
  return { expiresAt };
}

async function scheduleRemoval(ctx: MutationCtx, next: Doc<"expiries"> | null, at: number) {
  if (next?.job !== undefined) await cancelPending(ctx, next.job);
  const job = await ctx.scheduler.runAt(at, internal.features.retention.removeExpired, {});
  if (next === null) await ctx.db.insert("expiries", { at, job });
  else await ctx.db.patch("expiries", next._id, { at, job });
}

export const removeExpired = voidMutation({}, async (ctx) => {
  let following = await firstToExpire(ctx);
  while (following !== null && following.at <= Date.now() && (await hasRoomInPage(ctx))) {
    const { run } = following;
    if (!(await hasEnded(ctx, run)))
      await ctx.db.patch("runs", run._id, { expiresAt: Date.now() + BATCH_MS });
    else await removeRun(ctx, run);
    following = await firstToExpire(ctx);
  }
  const next = await ctx.db.query("expiries").first();
  if (following !== null) {
    const isOverdue = following.at <= Date.now();
    await scheduleRemoval(ctx, next, isOverdue ? Date.now() : following.at + BATCH_MS);
  } else if (next !== null) await ctx.db.delete("expiries", next._id);
});

async function firstToExpire(ctx: QueryCtx): Promise<{ run: Run; at: number } | null> {
  const run = await ctx.db
    .query("runs")
    .withIndex("by_expiry", (q) => q.gt("expiresAt", undefined))
    .first();
  return run?.expiresAt === undefined ? null : { run, at: run.expiresAt };
}

export async function repairRetention(ctx: MutationCtx): Promise<void> {
  const next = await ctx.db.query("expiries").first();
  if (next !== null && (await isLost(ctx, next)))
    await scheduleRemoval(ctx, next, Math.max(next.at, Date.now()));
}

/** Removes a parent in an old iteration, unless something below it goes on or can be undone. */
export async function removeParent(ctx: MutationCtx, { _id: step }: Step): Promise<void> {
  const rest = await removeIfOver(ctx, { step, seen: { from: 0, way: [] } });
  if (rest !== null) await continueLater(ctx, internal.features.retention.removeWhenSeen, rest);
}

type Looking = {
  step: StepId;
  seen: Seen;
};

/** @returns how far it has looked, or null. */
async function removeIfOver(ctx: MutationCtx, { step, seen }: Looking): Promise<Looking | null> {
  const undo = await ctx.db
    .query("undos")
    .withIndex("by_step", (q) => q.eq("step", step))
    .first();
  if (undo !== null) return null;
  const what = await lookBelow(ctx, step, seen);
  if (what === "goes on") return null;
  if (what !== "over") return { step, seen: what };
  if (!(await removeFamily(ctx, step)))
    await continueLater(ctx, internal.features.retention.removeMoreChildren, step);
  await ctx.db.delete("steps", step);
  return null;
}

export const removeWhenSeen = continuation<Looking>(async (ctx, looking) => {
  // A restart may have removed it.
  return (await ctx.db.get("steps", looking.step)) === null
    ? null
    : await removeIfOver(ctx, looking);
});

export const removeMoreChildren = untilDone<StepId>(removeFamily);

/** Removes a run. Its key is free at once; everything else is removed in pages. */
export async function removeRun(ctx: MutationCtx, run: Run): Promise<void> {
  await ctx.db.delete("runs", run._id);
  await removeTags(ctx, run);
  if (!(await removeRowsOf(ctx, run._id)))
    await continueLater(ctx, internal.features.retention.removeMore, run._id);
}

export const removeMore = untilDone<RunId>(removeRowsOf);

/** `to`: the run that begins anew, which gets back the events that were taken. */
interface Removal {
  isChild?: boolean;
  hasEnded?: boolean;
  to?: RunId | undefined;
}

/** Removes all rows of a run except its own. @returns false if this page has no room. */
async function removeRowsOf(
  ctx: MutationCtx,
  run: RunId,
  { isChild = false, hasEnded = true, to }: Removal = {},
): Promise<boolean> {
  const steps = ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", run));
  for await (const step of steps) if (!(await removeStep(ctx, step, to))) return false;
  const events = ctx.db.query("inbox").withIndex("by_run_name", (q) => q.eq("run", run));
  if (!(await deleteInPage(ctx, "inbox", events))) return false;
  const undos = ctx.db.query("undos").withIndex("by_run", (q) => q.eq("run", run));
  if (!(await deleteInPage(ctx, "undos", undos))) return false;
  // Only runs of the top level have a context, and only those that go on have deadlines.
  if (!isChild) {
    const contexts = ctx.db.query("contexts").withIndex("by_run", (q) => q.eq("run", run));
    for (const { _id } of await contexts.collect()) await ctx.db.delete("contexts", _id);
  }
  if (!hasEnded) await liftDeadlines(ctx, run);
  return true;
}

/**
 * Removes a step with its children and what would undo it. @param to as in {@link Removal}.
 * @returns false if it is still there.
 */
export async function removeStep(ctx: MutationCtx, step: Step, to?: RunId): Promise<boolean> {
  if (!(await hasRoomInPage(ctx))) return false;
  // A step may cancel its own run and so have it removed: its report finds its record ended.
  if (await isOwnJob(ctx, step.job)) return false;
  if (isParent(step) && step.inserting === true) await dropPages(ctx, step._id);
  // Undos go first: a run that is canceled before the next page finds none that is gone.
  const undos = ctx.db.query("undos").withIndex("by_step", (q) => q.eq("step", step._id));
  const hasUndos = step.undoable === true || isParent(step);
  const isAlone =
    (!hasUndos || (await deleteInPage(ctx, "undos", undos))) &&
    (!isParent(step) || (await removeFamily(ctx, step._id, step.race && to)));
  if (!isAlone) {
    // A restart after that cannot keep the rest.
    if (step.undone !== true) await ctx.db.patch("steps", step._id, { undone: true });
    return false;
  }
  if (step.endedAt === undefined) await stopStep(ctx, step);
  if (isAction(step) && (await ctx.db.query("setAside").first()) !== null)
    await takeBack(ctx, step._id);
  await ctx.db.delete("steps", step._id);
  if (to !== undefined) await giveBack(ctx, { ...step, run: to });
  return true;
}

/** @returns as {@link removeRowsOf}. */
async function removeFamily(ctx: MutationCtx, parent: StepId, to?: RunId): Promise<boolean> {
  for await (const child of childrenFrom(ctx, parent)) {
    if (!(await hasRoomInPage(ctx))) return false;
    const { _id, endedAt } = child;
    if (endedAt === undefined) await leaveLine(ctx, child);
    const what = { isChild: true, hasEnded: endedAt !== undefined, to };
    if (!(await removeRowsOf(ctx, _id, what))) return false;
    await ctx.db.delete("runs", _id);
  }
  const failed = ctx.db
    .query("failedChildren")
    .withIndex("by_parent", (q) => q.eq("parent", parent));
  return await deleteInPage(ctx, "failedChildren", failed);
}
