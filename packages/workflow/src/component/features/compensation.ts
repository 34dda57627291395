import { hasRoom } from "@stepwise/workpool/core";
import { getConvexSize } from "convex/values";
import type { StepError } from "../../definition/step-error.js";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "../_generated/server.js";
import { ROOM_ABOVE, goOn } from "../core/continuations.js";
import { UNENDED, hasChildIn, lastOwnUndo, stepRead } from "../core/steps.js";
import { arriveAt } from "../engine/begin.js";
import { ASLEEP } from "../engine/records.js";
import { ACTIVE_STATES } from "../validators.js";

/** A child is completed that may have done something which can be undone: then so has its parent. */
export async function childDone(ctx: MutationCtx, child: Doc<"runs">): Promise<void> {
  const { _id, parentRun, parentStep } = child;
  if (parentRun === undefined || parentStep === undefined) return;
  const last = await lastUndo(ctx, _id);
  if (last === null) return;
  const above = { run: parentRun, step: parentStep, child: _id, at: completedAt(last) };
  await ctx.db.insert("undos", above);
}

/** What was completed last of all that the run, or a child of it, has done and that is not yet undone. */
export async function lastUndo(ctx: QueryCtx, run: Id<"runs">): Promise<Doc<"undos"> | null> {
  const own = await lastOwnUndo(ctx, run);
  const ofChild = await ctx.db
    .query("undos")
    // Only the entries of children say when.
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
 * Goes on undoing a run that is compensating, or a child of one. Changes nothing where something of it is being undone right now: that goes
 * on itself.
 * @returns the run that is compensating if nothing is left to undo: the caller finishes it.
 */
export async function undoNext(ctx: MutationCtx, id: Id<"runs">): Promise<Doc<"runs"> | null> {
  const run = await ctx.db.get("runs", id);
  if (run === null) return null;
  const undo = await lastUndo(ctx, id);
  if (undo === null) return await allUndone(ctx, run);
  if (undo.child !== undefined) return await undoNext(ctx, undo.child);
  const step = await ctx.db.get("steps", undo.step);
  if (step === null) {
    await ctx.db.delete("undos", undo._id);
    return await goOnAbove(ctx, id);
  }
  if (await isUndoing(ctx, id)) return null;
  const { pass, generation, createdAt, sensitive } = step;
  const stage = {
    stage: `${step.stage}.compensate`,
    ...(step.called === undefined ? {} : { called: `${step.called}.compensate` }),
    ...(pass === undefined ? {} : { pass }),
    ...(sensitive === undefined ? {} : { sensitive }),
    reads: [],
  };
  await arriveAt(ctx, { run: id, generation, createdAt }, stage, new Map(), { undo: undo._id });
  return null;
}

async function allUndone(ctx: MutationCtx, run: Doc<"runs">): Promise<Doc<"runs"> | null> {
  if (run.state === "compensating") return run;
  // Of a child that is complete nothing is left; it has an entry only where that is undone.
  return (await undoOf(ctx, run._id)) === null ? null : await goOnAbove(ctx, run._id);
}

/** The entry of a child that is complete, and is undone with the run above it. */
async function undoOf(ctx: QueryCtx, child: Id<"runs">): Promise<Doc<"undos"> | null> {
  return await ctx.db
    .query("undos")
    .withIndex("by_child", (q) => q.eq("child", child))
    .unique();
}

/** Something that a run has done was undone: its entry above moves back, or goes with the last of it; then the run that is compensating goes on. */
export async function goOnAbove(ctx: MutationCtx, id: Id<"runs">): Promise<Doc<"runs"> | null> {
  const above = await undoOf(ctx, id);
  if (above === null) return await undoNext(ctx, id);
  const last = await lastUndo(ctx, id);
  if (last !== null) await ctx.db.patch("undos", above._id, { at: completedAt(last) });
  else {
    await ctx.db.delete("undos", above._id);
    await markUndone(ctx, above.step);
  }
  return await goOnAbove(ctx, above.run);
}

/** A compensation has ended, well or not: its error is listed in that of the run which is compensating; then the next. */
export async function undone(
  ctx: MutationCtx,
  step: Doc<"steps">,
  error?: StepError,
): Promise<Doc<"runs"> | null> {
  if (step.undo === undefined) return null;
  const record = await ctx.db.get("steps", step._id);
  if (record !== null && record.endedAt === undefined)
    await ctx.db.patch("steps", step._id, { state: "failed", endedAt: Date.now(), ...ASLEEP });
  const undo = await ctx.db.get("undos", step.undo);
  if (undo !== null) {
    await ctx.db.delete("undos", undo._id);
    await markUndone(ctx, undo.step);
  }
  if (error !== undefined) await listErrors(ctx, step.run, [error]);
  if (await hasRoom(ctx, ROOM_ABOVE)) return await goOnAbove(ctx, step.run);
  await goOn(ctx, internal.features.ending.undoMore, step.run);
  return null;
}

/** What was undone says so, and with it the node of the top level that it is a part of: a restart cannot keep its result. */
async function markUndone(ctx: MutationCtx, id: Id<"steps">): Promise<void> {
  const step = await ctx.db.get("steps", id);
  // A parent says so with the first of its children that is undone; its record may be large.
  if (step === null || step.undone === true) return;
  await ctx.db.patch("steps", id, { undone: true });
  const [top = step.stage] = step.stage.split(".");
  if (top === step.stage) return;
  const around = await stepRead(ctx, step.run, { stage: top });
  if (around !== null && around.undone !== true)
    await ctx.db.patch("steps", around._id, { undone: true });
}

/** Lists why compensations have failed in the error of the run that is compensating: the one they are of, or the first above it. */
async function listErrors(
  ctx: MutationCtx,
  id: Id<"runs">,
  errors: readonly StepError[],
): Promise<void> {
  const run = await ctx.db.get("runs", id);
  if (run === null) return;
  if (run.state !== "compensating" || run.error === undefined) {
    if (run.parentRun !== undefined) await listErrors(ctx, run.parentRun, errors);
    return;
  }
  const error = withListed(run.error, errors);
  if (error !== run.error) await ctx.db.patch("runs", id, { error });
}

/** An error with more errors of compensations; itself where none of them fits. */
function withListed(of: StepError, errors: readonly StepError[]): StepError {
  const before = of.compensationErrors ?? [];
  const all = [...before];
  for (const { cause: _cause, compensationErrors: _errors, ...error } of errors) {
    all.push(error);
    // The error stands in one document; of very many the first ones say enough.
    if (all.length > MAX_LISTED || getConvexSize(all) > MAX_LISTED_BYTES) all.pop();
  }
  return all.length === before.length ? of : { ...of, compensationErrors: all };
}

/** How many errors of compensations a run's error lists, and how large they are together; the others are in the step records. */
const MAX_LISTED = 20;

const MAX_LISTED_BYTES = 512 * 1024;

/**
 * A child has ended whose parent is at its end already: it may be the last that the parent's run waited for before it undoes itself. What of
 * the child could not be undone, that run lists too.
 */
export async function childOfClosedEnded(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  child?: Pick<Doc<"runs">, "error">,
): Promise<Doc<"runs"> | null> {
  const run = await ctx.db.get("runs", parent.run);
  const errors = child?.error?.compensationErrors as StepError[] | undefined;
  if (run?.state === "compensating" && errors !== undefined) await listErrors(ctx, run._id, errors);
  // The run is still to be told that the parent has failed, which may be long after where it is paused: it lists them then.
  if (run?.state === "running" && errors !== undefined && parent.event?.kind === "failed") {
    const event = { ...parent.event, error: withListed(parent.event.error, errors) };
    await ctx.db.patch("steps", parent._id, { event });
  }
  if (run?.state !== "compensating" || (await hasChildIn(ctx, parent._id, UNENDED))) return null;
  return await undoNext(ctx, run._id);
}

/** The record of the parent that a run which is compensating waits for: its children are being undone, or have to end first. */
export async function parentBeingUndone(
  ctx: QueryCtx,
  run: Id<"runs">,
): Promise<Doc<"steps"> | null> {
  const steps = ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", run));
  const last = await steps.order("desc").first();
  if (last?.kind === "children" && (await hasChildIn(ctx, last._id, UNENDED))) return last;
  const undo = await lastUndo(ctx, run);
  return undo?.child === undefined ? null : await ctx.db.get("steps", undo.step);
}

/** Whether a compensation of the run is under way: nothing else of it is active any more. */
async function isUndoing(ctx: MutationCtx, run: Id<"runs">): Promise<boolean> {
  for (const state of ACTIVE_STATES) {
    const step = await ctx.db
      .query("steps")
      .withIndex("by_run_state", (q) => q.eq("run", run).eq("state", state))
      .first();
    if (step !== null) return true;
  }
  return false;
}
