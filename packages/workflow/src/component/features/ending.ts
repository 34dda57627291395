import { isCanceledLater } from "../core/runs.js";
import { hasRoom, type Work } from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { StepError } from "../../definition/step-error.js";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "../_generated/server.js";
import { ROOM_ABOVE, goOn, goOnWith } from "../core/continuations.js";
import { logEnded } from "../core/log.js";
import { keptInRun } from "../core/scope.js";
import { UNENDED, activeSteps, hasChildIn } from "../core/steps.js";
import { startWork } from "../engine/begin.js";
import { announceEnd, callOffStep } from "../engine/closing.js";
import { liftDeadlines } from "../engine/deadlines.js";
import { continuationArgs, type BadEnd } from "../validators.js";
import { dropPages } from "./childPages.js";
import { childOfClosedEnded, goOnAbove, lastUndo, undoNext } from "./compensation.js";
import { childEnded } from "./concurrency.js";
import { endCounting } from "./failing.js";
import { forgetPasses } from "./iterations.js";
import { expireLater } from "./retention.js";

/** How many runs one transaction cancels, on all levels of a tree together; each is some ten reads and writes. */
const PAGE = 250;

/** How many of them a transaction cancels beside which siblings end: it is repeated for each of them that does. */
const SMALL_PAGE = 25;

/** How many runs the present transaction may still cancel. */
interface Page {
  left: number;
}

interface Bad {
  state: BadEnd;
  error: StepError;
  /** The storage name of the stage that failed. Default: the name that the error says. */
  stage?: string | undefined;
  /** The step at which the run has failed. */
  at?: Doc<"steps">;
  /** What the error says is not to be logged. Default: it may be. */
  sensitive?: boolean;
}

interface Completed {
  state: "completed";
  /** The record that holds the output, and the output. */
  outputStep: Id<"steps"> | undefined;
  output: unknown;
  undoable?: boolean;
}

type End = Completed | Bad;

/**
 * Ends a run: nothing of it is left waiting or scheduled, and whoever waits for it goes on. One that ends badly and has done something that
 * can be undone is `compensating` first, and so is one whose children are.
 * @returns the work to put in the slot that becomes free: of a sibling for which it has made room.
 */
export async function endRun(
  ctx: MutationCtx,
  run: Doc<"runs">,
  end: End,
  page: Page = { left: PAGE },
): Promise<Work | undefined> {
  if (end.state === "completed") {
    if (!(await isTooLate(ctx, run, end))) return await finishRun(ctx, run, end);
    await cancelRun(ctx, run, page);
    return undefined;
  }
  const parents = await closeSteps(ctx, run._id, end, page);
  const undo = await lastUndo(ctx, run._id);
  // A restart removes what is not to be undone any more.
  let waitsFor = undo !== null && run.restarting === true;
  for (const parent of parents)
    waitsFor ||=
      (isCanceledLater(parent) && (undo !== null || parent.undoableBelow === true)) ||
      (await hasToWaitFor(ctx, parent, undo));
  if (end.at?.kind === "children") waitsFor ||= await hasToWaitFor(ctx, end.at, undo);
  if (undo === null && !waitsFor) return await finishRun(ctx, run, end);
  await liftDeadlines(ctx, run._id);
  await ctx.db.patch("runs", run._id, {
    state: "compensating",
    endsAs: end.state,
    error: end.error,
    ...(end.sensitive === true ? { sensitiveError: true } : {}),
    first: undefined,
    // What undoes it is not held.
    paused: undefined,
  });
  if (!waitsFor) await finishUndone(ctx, await undoNext(ctx, run._id));
  return undefined;
}

/** A run that was compensating comes to its end. @param run as compensation gives it: null if it goes on. */
export async function finishUndone(ctx: MutationCtx, run: Doc<"runs"> | null): Promise<void> {
  if (run?.endsAs === undefined || run.error === undefined) return;
  const { endsAs: state, error, sensitiveError: sensitive = false } = run;
  const next = await finishRun(ctx, run, { state, error, sensitive });
  if (next !== undefined) await startWork(ctx, next);
}

/**
 * Whether a run completes after the one above it has ended without it, and before that came to canceling it: then nobody is left who would
 * undo what it has done.
 */
async function isTooLate(
  ctx: MutationCtx,
  { parentRun }: Doc<"runs">,
  { undoable }: Completed,
): Promise<boolean> {
  if (parentRun === undefined || undoable !== true) return false;
  return (await ctx.db.get("runs", parentRun))?.endedAt !== undefined;
}

/** The run is at its end. @returns as {@link endRun}. */
export async function finishRun(
  ctx: MutationCtx,
  run: Doc<"runs">,
  end: End,
): Promise<Work | undefined> {
  const { state } = end;
  const result =
    state === "completed"
      ? { outputStep: end.outputStep, ...keptInRun(run, end.output) }
      : { error: end.error };
  const gone = {
    first: undefined,
    endsAs: undefined,
    paused: undefined,
    sensitiveError: undefined,
  };
  const ended = { state, ...result, ...gone, endedAt: Date.now() };
  await ctx.db.patch("runs", run._id, { ...ended, ...(await expireLater(ctx, run)) });
  await liftDeadlines(ctx, run._id);
  await logEnded(ctx, run, end);
  if (run.parentStep !== undefined) {
    const how = {
      hadSeat: run.state !== "pending",
      undoable: state === "completed" && end.undoable === true,
    };
    const { work, undone } = await childEnded(ctx, { ...run, ...ended }, how);
    if (undone !== undefined) await finishUndone(ctx, undone);
    return work;
  }
  const sensitive = state !== "completed" && end.sensitive === true;
  await announceEnd(ctx, { ...run, ...ended }, { sensitive });
  return undefined;
}

/** Cancels a run that has not ended and is not being undone. Another is left as it is. @returns whether it was canceled. */
export async function cancelRun(ctx: MutationCtx, run: Doc<"runs">, page?: Page): Promise<boolean> {
  if (run.state !== "running" && run.state !== "pending") return false;
  const error: StepError = {
    message: `The run of "${run.workflow}" was canceled`,
    kind: "canceled",
    workflow: run.workflow,
    node: "",
    attempt: 1,
  };
  const next = await endRun(ctx, run, { state: "canceled", error }, page);
  if (next !== undefined) await startWork(ctx, next);
  return true;
}

/**
 * Ends the records in which something is still to come: they are canceled, but one around the stage that has failed has failed too. An
 * action that runs goes on to its end, and gives its slot back then.
 * @returns those of them that are the records of children, which are canceled too.
 */
async function closeSteps(
  ctx: MutationCtx,
  run: Id<"runs">,
  { error, stage = error.node }: Bad,
  page: Page,
): Promise<Doc<"steps">[]> {
  const parents: Doc<"steps">[] = [];
  for await (const step of activeSteps(ctx, run)) {
    const isAround = stage === step.stage || stage.startsWith(`${step.stage}.`);
    const bad = error.kind === "timedOut" ? "timedOut" : "failed";
    await closeStep(ctx, step, isAround ? bad : "canceled", page);
    // A loop that does not come to its end forgets here what it would have forgotten there.
    const { iteration } = step;
    if (iteration !== undefined)
      await forgetPasses(ctx, { ...step, iteration, before: iteration, isOver: true });
    if (step.kind === "children") parents.push(step);
  }
  return parents;
}

async function closeStep(
  ctx: MutationCtx,
  step: Doc<"steps">,
  state: BadEnd,
  page: Page,
): Promise<void> {
  // The job stays: it may be the very one that ends the run.
  const closed = { state, endedAt: Date.now(), dueAt: undefined, wakeAt: undefined };
  await ctx.db.patch("steps", step._id, {
    ...closed,
    event: undefined,
    isLastTry: undefined,
    held: undefined,
  });
  await callOffStep(ctx, step);
  if (step.kind !== "children") return;
  if (step.inserting === true) await dropPages(ctx, step._id);
  await endCounting(ctx, step);
  await cancelChildren(ctx, step, page);
}

/**
 * Whether a run that ends badly is to wait for the children of a parent of it: what they do is undone before what the run did earlier. Where
 * neither it nor they can have done anything that has a compensation, it ends at once, though some of them are still to be canceled.
 */
async function hasToWaitFor(
  ctx: MutationCtx,
  { _id, undoableBelow }: Doc<"steps">,
  undo: Doc<"undos"> | null,
): Promise<boolean> {
  const some = undo === null && undoableBelow !== true ? (["compensating"] as const) : UNENDED;
  return await hasChildIn(ctx, _id, some);
}

/**
 * Cancels a parent's children, those that run first, and what is under them. Few of them at once; else all of them in transactions that
 * follow: this one then reads nothing that children write as they end, and none of them can be in its way. Once it has committed, no
 * direct child starts any more: the parent's record says so.
 */
async function cancelChildren(ctx: MutationCtx, parent: Doc<"steps">, page: Page): Promise<void> {
  if (isCanceledLater(parent) || (await cancelSomeChildren(ctx, parent._id, page)))
    await goOn(ctx, internal.features.ending.cancelMoreChildren, parent._id);
}

/** @returns whether there may be more of them. */
async function cancelSomeChildren(
  ctx: MutationCtx,
  parent: Id<"steps">,
  page: Page,
): Promise<boolean> {
  const children: Doc<"runs">[] = [];
  for (const state of ["running", "pending"] as const) {
    if (page.left === 0) break;
    const some = await ctx.db
      .query("runs")
      .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state))
      .take(page.left);
    page.left -= some.length;
    children.push(...some);
  }
  const isFull = page.left === 0;
  for (const child of children) {
    // What waits in the pool's line is read with its arguments, which may be large.
    if (!(await hasRoom(ctx, ROOM_ABOVE))) return true;
    await cancelRun(ctx, child, page);
  }
  return isFull;
}

/** Cancels few children in the transaction in which their parent fails. */
export const cancelFewChildren = internalMutation({
  args: { parent: v.id("steps") },
  returns: v.null(),
  handler: async (ctx, { parent }): Promise<null> => {
    if (await cancelSomeChildren(ctx, parent, { left: PAGE }))
      await goOn(ctx, internal.features.ending.cancelMoreChildren, parent);
    return null;
  },
});

/** The next page of {@link cancelChildren}. */
export const cancelMoreChildren = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Id<"steps">>(ctx, continuation, async (parent) => {
      const isMore = await cancelSomeChildren(ctx, parent, { left: SMALL_PAGE });
      const step = await ctx.db.get("steps", parent);
      if (step !== null) await finishUndone(ctx, await childOfClosedEnded(ctx, step));
      return isMore ? parent : null;
    }),
});

/** Goes on undoing where the transaction in which something of the run was undone had no room for that. */
export const undoMore = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Id<"runs">>(ctx, continuation, async (run) => {
      await finishUndone(ctx, await goOnAbove(ctx, run));
      return null;
    }),
});
