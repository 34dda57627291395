import { hasRoom, isOwnJob, type Work } from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { StepError } from "../../definition/context.js";
import { internal } from "../_generated/api.js";
import { continuation, continueLater, ROOM_ABOVE, voidMutation } from "../core/continuations.js";
import type { Doc, MutationCtx, Run, RunId, Step, StepId } from "../core/documents.js";
import { keptEvents } from "../core/inbox.js";
import { isParent } from "../core/kinds.js";
import { logEnded, logKept } from "../core/log.js";
import { errorOf, goesOn, workflowOf } from "../core/runs.js";
import { outputInRun } from "../core/scope.js";
import {
  childrenIn,
  hasChildIn,
  hasManyChildren,
  RUNS_AT_ONCE,
  UNENDED,
} from "../core/childRuns.js";
import { activeSteps, NO_ENTRY } from "../core/steps.js";
import { startWork } from "../engine/starting.js";
import { callOnComplete, stopStep } from "../engine/closing.js";
import { beginOnEnd } from "./onEnd.js";
import { liftDeadlines } from "../engine/deadlineTimer.js";
import type { BadEnd } from "../validators.js";
import { dropPages } from "./childPages.js";
import { dropCollected } from "./collecting.js";
import { childOfClosedEnded, lastUndo, undoAbove, undoNext } from "./compensation.js";
import { childEnded } from "./concurrency.js";
import { endRecount } from "./failing.js";
import { removeOldIterations } from "./iterations.js";
import { expireLater } from "./retention.js";
import { giveUpWaiting, leaveLine } from "./passTurn.js";

/** How many children one page cancels: it is repeated for each sibling that ends meanwhile. */
const SMALL_PAGE = 25;
/** How many of them may have an `onEnd`, which runs code of the app in the same second. */
const MOST_ON_ENDS = 10;
interface Page {
  remaining: number;
  onEnds: number;
  /** What the canceled runs have done is not undone with them. Default: false. */
  keepsDone?: boolean | undefined;
}

interface Bad {
  state: BadEnd;
  error: StepError;
  /** The storage name of the stage that failed. Default: the name that the error says. */
  stage?: string | undefined;
  at?: Step;
  /** Its message is not logged. Default: false. */
  sensitive?: boolean;
}
interface Completed {
  state: "completed";
  outputStep: StepId | undefined;
  output: unknown;
  undoable?: boolean;
}
type End = Completed | Bad;

/** The fields that only a run that goes on has. */
const NOT_GOING = {
  first: undefined,
  paused: undefined,
  sensitiveError: undefined,
  collects: undefined,
};

/**
 * Ends a run; its parent goes on. One that fails with something to undo is `compensating`
 * first. @returns the sibling's work for the slot that becomes free.
 */
export async function endRun(
  ctx: MutationCtx,
  run: Run,
  end: End,
  page: Page = { remaining: RUNS_AT_ONCE, onEnds: 0 },
): Promise<Work | undefined> {
  if (end.state === "completed") {
    if (!(await isTooLate(ctx, run, end))) return await finishRun(ctx, run, end);
    await cancelRun(ctx, run, page);
    return undefined;
  }
  const parents = await closeSteps(ctx, run._id, end, page);
  if (page.keepsDone === true) return await finishRun(ctx, run, end);
  const undo = await lastUndo(ctx, run._id);
  // A restart still removes what cannot be undone any more.
  let waitsFor = undo !== null && run.restarting === true;
  for (const parent of parents)
    waitsFor ||=
      (hasManyChildren(parent) && (undo !== null || parent.undoableBelow === true)) ||
      (await hasToWaitFor(ctx, parent, undo));
  if (end.at !== undefined && isParent(end.at)) waitsFor ||= await hasToWaitFor(ctx, end.at, undo);
  if (undo === null && !waitsFor) return await finishRun(ctx, run, end);
  await liftDeadlines(ctx, run._id);
  await giveUpWaiting(ctx, run);
  await ctx.db.patch("runs", run._id, {
    state: "compensating",
    endsAs: end.state,
    error: end.error,
    ...NOT_GOING,
    sensitiveError: end.sensitive || undefined,
  });
  if (!waitsFor) await finishUndone(ctx, await undoNext(ctx, run._id));
  return undefined;
}

/** Ends a run that was compensating. @param run null if it is not finished. */
export async function finishUndone(ctx: MutationCtx, run: Run | null): Promise<void> {
  if (run?.endsAs === undefined || run.error === undefined) return;
  const { endsAs: state, error, sensitiveError: sensitive = false } = run;
  const next = await finishRun(ctx, run, { state, error, sensitive });
  if (next !== undefined) await startWork(ctx, next);
}

/** Says whether nobody would undo it: the run above has ended, or another case of its race won. */
async function isTooLate(ctx: MutationCtx, run: Run, { undoable }: Completed) {
  const { parentRun, parentStep, within } = run;
  if (parentRun === undefined || undoable !== true) return false;
  if ((await ctx.db.get("runs", parentRun))?.endedAt !== undefined) return true;
  if (within === undefined || parentStep === undefined) return false;
  return (await ctx.db.get("steps", parentStep))?.won !== undefined;
}

/** Says whether the schema has refused its input. No node is called so. */
const isRefused = (end: End): boolean =>
  end.state !== "completed" && end.error.node === "input" && end.error.kind === "invalidInput";

/** @returns as {@link endRun}. */
async function finishRun(ctx: MutationCtx, run: Run, end: End): Promise<Work | undefined> {
  const { state } = end;
  const result =
    state === "completed"
      ? { outputStep: end.outputStep, ...outputInRun(run, end.output) }
      : { error: end.error };
  const endedAt = Date.now();
  const startedAt = run.state === "pending" ? endedAt : run.startedAt;
  // One that collects starts has no input yet, and one whose input was refused none that fits.
  const hasInput = run.collects === undefined && !isRefused(end);
  const hasOnEnd = run.onEnd === true && hasInput;
  const ending = hasOnEnd ? (run.root ?? run._id) : undefined;
  const over = { ...NOT_GOING, endsAs: undefined, ending };
  const ended = { state, ...result, ...over, startedAt, endedAt };
  await ctx.db.patch("runs", run._id, { ...ended, ...(await expireLater(ctx, run)) });
  await liftDeadlines(ctx, run._id);
  await logEnded(ctx, run, end);
  await logKept(ctx, run, await keptEvents(ctx, run._id));
  if (hasOnEnd) await beginOnEnd(ctx, { ...run, ...ended });
  await leaveLine(ctx, run);
  await dropCollected(ctx, run);
  if (run.parentStep === undefined) {
    const sensitive = state !== "completed" && end.sensitive === true;
    await callOnComplete(ctx, { ...run, ...ended }, sensitive);
    return undefined;
  }
  const undoable = state === "completed" && end.undoable === true;
  const how = { hadBegun: run.state !== "pending", undoable };
  const { work, undone } = await childEnded(ctx, { ...run, ...ended }, how);
  if (undone !== undefined) await finishUndone(ctx, undone);
  return work;
}

/** @returns whether it was canceled: it had not ended, and was not being undone. */
export async function cancelRun(
  ctx: MutationCtx,
  run: Run,
  page?: Page,
  because = `The run of "${workflowOf(run)}" was canceled`,
): Promise<boolean> {
  // guard: compensating
  if (!goesOn(run)) return false;
  const error = errorOf(run, "canceled", because);
  const next = await endRun(ctx, run, { state: "canceled", error }, page);
  if (next !== undefined) await startWork(ctx, next);
  return true;
}

/** Closes active records: `failed` around the failed stage, else `canceled`. @returns parents. */
// guard: closed-while-entered
async function closeSteps(
  ctx: MutationCtx,
  run: RunId,
  { error, stage = error.node }: Bad,
  page: Page,
): Promise<Step[]> {
  const parents: Step[] = [];
  for await (const step of activeSteps(ctx, run)) {
    const isAround = stage === step.stage || stage.startsWith(`${step.stage}.`);
    const bad = error.kind === "timedOut" ? "timedOut" : "failed";
    await closeStep(ctx, step, isAround ? bad : "canceled", page);
    const { iteration } = step;
    if (iteration !== undefined)
      await removeOldIterations(ctx, { ...step, iteration, before: iteration, isOver: true });
    if (isParent(step)) parents.push(step);
  }
  return parents;
}

async function closeStep(ctx: MutationCtx, step: Step, state: BadEnd, page: Page) {
  const { check: _check, ...noEntry } = NO_ENTRY;
  // What the function did that ends the run stays: `settle` knows it by this.
  const job = (await isOwnJob(ctx, step.job)) ? step.job : undefined;
  const keepsDone = isParent(step) ? page.keepsDone : undefined;
  const closed = { ...noEntry, job, state, endedAt: Date.now(), paused: undefined, keepsDone };
  const beganAt = await stopStep(ctx, step);
  await ctx.db.patch("steps", step._id, { ...closed, beganAt });
  if (!isParent(step)) return;
  if (step.inserting === true) await dropPages(ctx, step._id);
  await endRecount(ctx, step);
  await cancelChildren(ctx, step, page);
}

/** Says whether it waits for children: what they did is undone before what it did earlier. */
async function hasToWaitFor(
  ctx: MutationCtx,
  { _id, undoableBelow }: Step,
  undo: Doc<"undos"> | null,
): Promise<boolean> {
  const some = undo === null && undoableBelow !== true ? (["compensating"] as const) : UNENDED;
  return await hasChildIn(ctx, _id, some);
}

/** Many are canceled later, so that this transaction reads nothing that they write as they end. */
async function cancelChildren(ctx: MutationCtx, parent: Step, page: Page): Promise<void> {
  if (hasManyChildren(parent) || (await cancelSomeChildren(ctx, parent._id, page)))
    await continueLater(ctx, internal.features.ending.cancelMoreChildren, parent._id);
}

/** @returns whether there may be more of them. */
async function cancelSomeChildren(ctx: MutationCtx, parent: StepId, page: Page, because?: string) {
  const children: Run[] = [];
  for (const state of ["running", "pending"] as const) {
    if (page.remaining === 0) break;
    const some = await childrenIn(ctx, parent, state).take(page.remaining);
    page.remaining -= some.length;
    children.push(...some);
  }
  const isFull = page.remaining === 0;
  for (const child of children) {
    // What waits in the pool's queue is read with its arguments, which may be large.
    if (!(await hasRoom(ctx, ROOM_ABOVE))) return true;
    await cancelRun(ctx, child, page, because);
    if (child.onEnd === true && ++page.onEnds >= MOST_ON_ENDS) return true;
  }
  return isFull;
}

export const cancelFewChildren = voidMutation(
  { parent: v.id("steps") },
  async (ctx, { parent }) => {
    if (await cancelSomeChildren(ctx, parent, { remaining: RUNS_AT_ONCE, onEnds: 0 }))
      await continueLater(ctx, internal.features.ending.cancelMoreChildren, parent);
  },
);

export const cancelLosers = voidMutation(
  { race: v.id("steps"), because: v.string() },
  async (ctx, { race, because }) => {
    const step = await ctx.db.get("steps", race);
    const page = { remaining: RUNS_AT_ONCE, onEnds: 0, keepsDone: step?.keepsDone };
    if (await cancelSomeChildren(ctx, race, page, because))
      await continueLater(ctx, internal.features.ending.cancelMoreChildren, race);
  },
);

export const cancelMoreChildren = continuation<StepId>(async (ctx, parent) => {
  const step = await ctx.db.get("steps", parent);
  const page = { remaining: SMALL_PAGE, onEnds: 0, keepsDone: step?.keepsDone };
  const isMore = await cancelSomeChildren(ctx, parent, page);
  if (step !== null) await finishUndone(ctx, await childOfClosedEnded(ctx, step));
  return isMore ? parent : null;
});

export const undoMore = continuation<RunId>(async (ctx, run) => {
  await finishUndone(ctx, await undoAbove(ctx, run));
  return null;
});
