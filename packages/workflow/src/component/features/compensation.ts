import { ERRORS_BYTES, MOST_KEPT } from "../core/room.js";
import { hasRoom } from "@stepwise/workpool/core";
import { getConvexSize } from "convex/values";
import type { StepError } from "../../definition/context.js";
import { internal } from "../_generated/api.js";
import { continueLater, ROOM_ABOVE } from "../core/continuations.js";
import type { Doc, MutationCtx, QueryCtx, Run, RunId, Step, StepId } from "../core/documents.js";
import { hasChildIn, UNENDED } from "../core/childRuns.js";
import { isParent } from "../core/kinds.js";
import { activeSteps, lastOwnUndo, NO_ENTRY, stepRead } from "../core/steps.js";
import { beginStage } from "../engine/begin.js";

/*
 * `undos` holds what a run can undo: its own steps, and children with such steps. The newest is
 * undone first, on all levels, so a child's row has the time of its newest step to undo.
 */

/** A child is completed: what can be undone of it can be undone of its parent. */
export async function addChildUndo(ctx: MutationCtx, child: Run): Promise<void> {
  const { _id, parentRun, parentStep } = child;
  if (parentRun === undefined || parentStep === undefined) return;
  const last = await lastUndo(ctx, _id);
  if (last === null) return;
  const above = { run: parentRun, step: parentStep, child: _id, at: completedAt(last) };
  await ctx.db.insert("undos", above);
}

/** What a canceled child has done stays, and can be undone of the runs above it. */
export async function keepUndo(ctx: MutationCtx, child: Run): Promise<void> {
  if ((await undoOf(ctx, child._id)) !== null) return;
  await addChildUndo(ctx, child);
  const { parentRun } = child;
  const above = parentRun === undefined ? null : await ctx.db.get("runs", parentRun);
  // It may have ended before this one: then its own row is still to come.
  if (above?.endedAt !== undefined) await keepUndo(ctx, above);
}

export async function lastUndo(ctx: QueryCtx, run: RunId): Promise<Doc<"undos"> | null> {
  const own = await lastOwnUndo(ctx, run);
  const ofChild = await ctx.db
    .query("undos")
    // Only the rows of children have a time.
    .withIndex("by_run", (q) => q.eq("run", run).gt("at", undefined))
    .order("desc")
    .first();
  if (own === null || ofChild === null) return own ?? ofChild;
  return completedAt(own) > completedAt(ofChild) ? own : ofChild;
}

function completedAt({ at, _creationTime }: Doc<"undos">): number {
  return at ?? _creationTime;
}

/**
 * Undoes the next step of a compensating run, or of its child, unless a compensation runs.
 * @returns the compensating run once everything is undone: the caller ends it.
 */
export async function undoNext(ctx: MutationCtx, id: RunId): Promise<Run | null> {
  const run = await ctx.db.get("runs", id);
  if (run === null) return null;
  const undo = await lastUndo(ctx, id);
  if (undo === null) {
    if (run.state === "compensating") return run;
    return (await undoOf(ctx, id)) === null ? null : await undoAbove(ctx, id);
  }
  if (undo.child !== undefined) return await undoNext(ctx, undo.child);
  const step = await ctx.db.get("steps", undo.step);
  if (step === null) {
    await ctx.db.delete("undos", undo._id);
    return await undoAbove(ctx, id);
  }
  // Nothing else of a run that is undone is active, except for the `onEnd` of a child.
  for await (const active of activeSteps(ctx, id))
    if (run.endedAt === undefined || active.undo !== undefined) return null;
  const { iterations, generation, createdAt, standing, sensitive } = step;
  const part = "compensate" as const;
  const called = step.called === undefined ? undefined : `${step.called}.${part}`;
  const stage = { stage: `${step.stage}.${part}`, called, part, iterations, sensitive, reads: [] };
  const of = { run: id, generation, createdAt, standing };
  await beginStage(ctx, of, stage, new Map(), { undo: undo._id });
  return null;
}

async function undoOf(ctx: QueryCtx, child: RunId): Promise<Doc<"undos"> | null> {
  return await ctx.db
    .query("undos")
    .withIndex("by_child", (q) => q.eq("child", child))
    .unique();
}

/** Updates the row above a run of which something was undone. @returns as {@link undoNext}. */
export async function undoAbove(ctx: MutationCtx, id: RunId): Promise<Run | null> {
  const above = await undoOf(ctx, id);
  if (above === null) return await undoNext(ctx, id);
  const last = await lastUndo(ctx, id);
  if (last !== null) await ctx.db.patch("undos", above._id, { at: completedAt(last) });
  else {
    await ctx.db.delete("undos", above._id);
    await markUndone(ctx, above.step);
  }
  return await undoAbove(ctx, above.run);
}

/** A compensation has ended. @param error lists it in its run. @returns as {@link undoNext}. */
export async function undone(ctx: MutationCtx, step: Step, error?: StepError) {
  if (step.undo === undefined) return null;
  const record = await ctx.db.get("steps", step._id);
  if (record !== null && record.endedAt === undefined)
    await ctx.db.patch("steps", step._id, { state: "failed", endedAt: Date.now(), ...NO_ENTRY });
  const undo = await ctx.db.get("undos", step.undo);
  if (undo !== null) {
    await ctx.db.delete("undos", undo._id);
    await markUndone(ctx, undo.step);
  }
  if (error !== undefined) await listErrors(ctx, step.run, [error]);
  if (await hasRoom(ctx, ROOM_ABOVE)) return await undoAbove(ctx, step.run);
  await continueLater(ctx, internal.features.ending.undoMore, step.run);
  return null;
}

async function markUndone(ctx: MutationCtx, id: StepId): Promise<void> {
  const step = await ctx.db.get("steps", id);
  // A parent is marked with its first child; its record may be large.
  if (step === null || step.undone === true) return;
  await ctx.db.patch("steps", id, { undone: true });
  const [top = step.stage] = step.stage.split(".");
  if (top === step.stage) return;
  const around = await stepRead(ctx, step.run, { stage: top });
  if (around !== null && around.undone !== true)
    await ctx.db.patch("steps", around._id, { undone: true });
}

/** Lists errors of compensations in the run that is compensating: this one, or one above it. */
async function listErrors(ctx: MutationCtx, id: RunId, errors: readonly StepError[]) {
  const run = await ctx.db.get("runs", id);
  if (run === null) return;
  if (run.state !== "compensating" || run.error === undefined) {
    if (run.parentRun !== undefined) await listErrors(ctx, run.parentRun, errors);
    return;
  }
  const error = withListed(run.error, errors);
  if (error !== run.error) await ctx.db.patch("runs", id, { error });
}

/** An error with more errors of compensations; itself if none of them fits. */
export function withListed(of: StepError, errors: readonly StepError[]): StepError {
  const before = of.compensationErrors ?? [];
  const all = [...before];
  for (const { cause: _cause, compensationErrors: _errors, ...error } of errors) {
    all.push(error);
    // The others are only in the step records.
    if (all.length > MOST_KEPT || getConvexSize(all) > 4 * ERRORS_BYTES) all.pop();
  }
  return all.length === before.length ? of : { ...of, compensationErrors: all };
}

/** Does what {@link undoNext} does, as a child has ended after its parent: the run may be undone. */
export async function childOfClosedEnded(
  ctx: MutationCtx,
  parent: Step,
  child?: Pick<Run, "error">,
): Promise<Run | null> {
  const run = await ctx.db.get("runs", parent.run);
  const errors = child?.error?.compensationErrors as StepError[] | undefined;
  if (run?.state === "compensating" && errors !== undefined) await listErrors(ctx, run._id, errors);
  // If the run is still to be told that the parent has failed, it lists them then.
  if (run?.state === "running" && errors !== undefined && parent.event?.kind === "failed") {
    const event = { ...parent.event, error: withListed(parent.event.error, errors) };
    await ctx.db.patch("steps", parent._id, { event });
  }
  if (run?.state !== "compensating" || (await hasChildIn(ctx, parent._id, UNENDED))) return null;
  return await undoNext(ctx, run._id);
}

export async function parentBeingUndone(ctx: QueryCtx, run: RunId) {
  const steps = ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", run));
  const last = await steps.order("desc").first();
  if (last !== null && isParent(last) && (await hasChildIn(ctx, last._id, UNENDED))) return last;
  const undo = await lastUndo(ctx, run);
  return undo?.child === undefined ? null : await ctx.db.get("steps", undo.step);
}
