import {
  bookSpent,
  completeWork,
  holdLimit,
  isOwnJob,
  poolTx,
  type SlotId,
  slotOf,
} from "@stepwise/workpool/core";
import { v } from "convex/values";
import { withoutValues } from "../errors/hidden.js";
import { voidMutation } from "./core/continuations.js";
import type { MutationCtx, RunId, Step } from "./core/documents.js";
import { runOf, workflowOf } from "./core/runs.js";
import { isEntry, runsWithin, type TimedKind } from "./core/kinds.js";
import { logStep } from "./core/log.js";
import { pool } from "./core/poolHost.js";
import {
  isActive,
  isTooLate,
  keyOf,
  loopAround,
  marksOf,
  nameOf,
  newRecord,
  NO_ENTRY,
  reachedAt,
  stepRead,
  stepWithId,
  tokenOf,
} from "./core/steps.js";
import { actionWork, beginAction, beginStage } from "./engine/begin.js";
import { setDeadline } from "./engine/deadlineTimer.js";
import { scheduleEntry } from "./engine/entry.js";
import { startWork } from "./engine/starting.js";
import { type Progress, recordFused, recordOutcome } from "./engine/transition.js";
import { startChildren } from "./features/children.js";
import { enterChildren, type Started } from "./features/entering.js";
import { keepCollected } from "./features/collecting.js";
import { undone } from "./features/compensation.js";
import { endRun, finishUndone } from "./features/ending.js";
import { removeOldIterations } from "./features/iterations.js";
import { onEndDone, onEndFailed } from "./features/onEnd.js";
import type { Fused, Next, Outcome, Settled, Settlement } from "./protocol.js";
import { vErrorKind } from "./validators.js";

interface Here extends Progress {
  /** The scheduled function that the transaction is, if it is one. */
  readonly own: Step["job"];
  /** A parent with the children that the transaction enters at its end. */
  started?: Started;
}

/**
 * The transition: records what happened, and begins what comes next. A stale or repeated token only
 * gives back its slot. It is not stale if a step cancels its own run: what it did stays.
 * @returns also the action that comes next, if the report has no slot and the action is queued.
 * @throws if the run is paused and stages were executed here: the caller reports without them.
 */
export async function settle(ctx: MutationCtx, settlement: Settlement): Promise<Settled> {
  const { token, slot, outcome, fused, next, left } = settlement;
  poolTx(ctx).starting = settlement.starting;
  const found = await stepWithId(ctx, token.step);
  const ended = { work: token.step, slot: slot as SlotId | undefined, executes: true };
  if (
    found === null ||
    // guard: token
    !isActive(found, token) ||
    // guard: too-late
    (isTooLate(found) && !(await isOwnJob(ctx, found.job)))
  ) {
    if (found !== null) await bookLate(ctx, found, settlement);
    // An earlier attempt gave its slot back when the next was due, which may hold it by now.
    if (found === null || found.attempt === token.attempt) await completeWork(ctx, pool, ended);
    const isOwn = found !== null && (await isOwnJob(ctx, found.job));
    // So that it is not its own if it comes again.
    if (isOwn) await ctx.db.patch("steps", found._id, { job: undefined });
    return { stale: !isOwn || hasDoneMore(fused) };
  }
  // It is delivered again, or is from another time than a restored record.
  if (settlement.scheduled === true && !(await isOwnJob(ctx, found.job))) return { stale: true };
  poolTx(ctx).ending = token.step;
  // A step may pause its own run. A pause from elsewhere would have canceled its job.
  // guard: paused
  if (found.paused === true && ofApp(fused).length > 0 && !(await isOwnJob(ctx, found.job)))
    throw new Error(`The run is paused: nothing of it starts`);
  const plan = planOf(found, settlement);
  const step = { ...found, plan };
  if (plan !== found.plan) await ctx.db.patch("steps", found._id, { plan });
  const own = settlement.scheduled === true ? found.job : undefined;
  const ids = new Map([[keyOf(step), step._id]]);
  const progress: Here = { step, ids, known: new Map(), loops: [], own };
  const told =
    outcome.kind === "retry" ? { ...outcome, dueAt: await heldUntil(ctx, step, outcome) } : outcome;
  await recordOutcome(ctx, progress, { ...settlement, outcome: told });
  if (outcome.kind === "success" && outcome.used !== undefined)
    await bookSpent(ctx, pool, step.permits, outcome.used);
  if (settlement.reduced !== undefined) await storeReduced(ctx, step.run, settlement.reduced);
  for (const stage of fused) await recordFused(ctx, progress, stage, settlement);
  for (const deadline of settlement.deadlines ?? []) await setDeadline(ctx, step.run, deadline);
  const successor = await beginNext(ctx, progress, settlement);
  if (slot !== undefined) await completeWork(ctx, pool, ended, successor);
  else if (successor !== undefined) await startWork(ctx, successor);
  const row = slot === undefined && successor && poolTx(ctx).joined.get(successor.work);
  if (told.kind === "retry") {
    const retryAt = Math.floor(told.dueAt);
    await logStep(ctx, "retrying", step.run, told.error, step.sensitive, { retryAt });
  }
  for (const loop of progress.loops) await removeOldIterations(ctx, loop);
  const hasArrived = outcome.kind === "open" && isEntry(step);
  // The run does not stay here, for example at a node that a restart has not done again.
  if (hasArrived && !isRecorded(step, fused, next)) await ctx.db.delete("steps", step._id);
  const { started } = progress;
  // Last, as if each were entered after this transaction.
  const goesOn = started && left && (await enterChildren(ctx, started, { ...left, job: own }));
  return {
    stale: false,
    goesOn,
    queued: row ? { row, scope: successor?.args["scope"] } : undefined,
  };
}

/** Books what an action has used whose run went on without it. With its slot, it is not done yet. */
async function bookLate(
  ctx: MutationCtx,
  { _id, attempt, permits }: Step,
  { token, outcome }: Settlement,
): Promise<void> {
  if (outcome.kind !== "success" || outcome.used === undefined) return;
  if (attempt === token.attempt && (await slotOf(ctx, _id)) !== null)
    await bookSpent(ctx, pool, permits, outcome.used);
}

/** The run cannot go on at a step. What its action reported is recorded, and so undone. */
export const failStep = voidMutation(
  {
    step: v.id("steps"),
    problem: v.object({ kind: vErrorKind, message: v.string(), data: v.optional(v.any()) }),
    slot: v.optional(v.string()),
  },
  async (ctx, { step: id, problem, slot }) => {
    const step = await ctx.db.get("steps", id);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    if (step === null || run === null) return;
    await keepCollected(ctx, run, step);
    const { event, stage, attempt } = step;
    const shown = step.sensitive === true ? withoutValues(problem) : problem;
    const error = { ...shown, workflow: workflowOf(run), node: nameOf(step), attempt };
    const outcome: Outcome =
      event?.kind === "success"
        ? { kind: "success", output: event.output, ...(await loopAround(ctx, step)) }
        : { kind: "failed", error };
    // If a deploy took the function away, no completion has failed.
    const ofCompletion = problem.kind !== "removedNode";
    const next = { kind: "fail" as const, error, stage, ofCompletion };
    const beganAt = event !== undefined && "beganAt" in event ? event.beganAt : Date.now();
    await settle(ctx, { token: tokenOf(step), slot, outcome, beganAt, fused: [], next });
  },
);

/** Holds the limit that an attempt names. @returns when the next attempt may begin. */
async function heldUntil(
  ctx: MutationCtx,
  { permits }: Step,
  { holds, dueAt: at }: Extract<Outcome, { kind: "retry" }>,
): Promise<number> {
  return holds === undefined ? at : ((await holdLimit(ctx, pool, permits, { holds, at })) ?? at);
}

function ofApp(fused: readonly Fused[]): Fused[] {
  return fused.filter(runsWithin);
}

/** Says whether something undoable was executed before what ended the run: it is executed again. */
function hasDoneMore(fused: readonly Fused[]): boolean {
  return ofApp(fused)
    .slice(0, -1)
    .some(({ undoable }) => undoable === true);
}

/** The plan that a run has gone by from its beginning; "" if these were several. */
function planOf({ plan }: Step, settlement: Settlement): string | undefined {
  return plan === undefined || plan === settlement.plan ? plan : "";
}

/**
 * Says whether the record with which the run arrived is of something that happened or begins here.
 */
function isRecorded(step: Step, fused: readonly Fused[], next: Next): boolean {
  if (next.kind === "fail" || next.kind === "undone") return true;
  const own = keyOf(step);
  const begun =
    next.kind === "children" ? next.children : next.kind === "stage" ? next.stage : next;
  const isNext =
    "stage" in begun &&
    begun.stage !== null &&
    keyOf({ iterations: [], ...begun, stage: begun.stage }) === own;
  return isNext || fused.some((stage) => keyOf(stage) === own);
}

/** Begins what comes next. @returns the work to put in the slot that becomes free. */
async function beginNext(
  ctx: MutationCtx,
  progress: Here,
  { outcome, next, entry, left }: Settlement,
) {
  const { step, known } = progress;
  const arrived = (where: Pick<Fused, "stage" | "iterations">) =>
    outcome.kind === "open" && keyOf(step) === keyOf(where);
  switch (next.kind) {
    case "wait":
      return undefined;
    case "stage": {
      const { action, reads } = next.stage;
      if (action === undefined || step.paused === true) {
        const pending = { kind: "entry", state: "pending" } as const;
        if (arrived(next.stage)) await scheduleEntry(ctx, step, {}, pending);
        else await beginStage(ctx, step, next.stage, known, { entry });
        return undefined;
      }
      if (!arrived(next.stage)) return await beginAction(ctx, step, action, next.stage, known);
      // It was entered here: for its first action, or another attempt.
      const fields = { ...NO_ENTRY, kind: "action" as const, state: "running" as const };
      const place = undefined;
      const { permits = action.permits } = step;
      const reached = { startedAt: reachedAt(step), ...marksOf(next.stage), permits, place };
      await ctx.db.patch("steps", step._id, { ...fields, ...reached });
      const { startedAt } = reached;
      return await actionWork(ctx, { ...step, startedAt }, action, { reads }, known);
    }
    case "children": {
      const { children } = next;
      const record = arrived(children) ? step : null;
      const own = left && { job: progress.own };
      progress.started = await startChildren(ctx, step, record, children, own);
      return undefined;
    }
    case "reduce": {
      const { stage, iterations, accumulated: value, from } = next;
      await storeReduced(ctx, step.run, { stage, iterations, value }, from);
      return undefined;
    }
    case "undone":
      if (step.undo === undefined) await onEndDone(ctx, step);
      else await finishUndone(ctx, await undone(ctx, step));
      return undefined;
    case "fail": {
      const { error, ofCompletion, stage = error.node } = next;
      const isOfStep = stage === step.stage;
      const sensitive = next.sensitive === true || (isOfStep && step.sensitive === true);
      if (ofCompletion === true) await logStep(ctx, "completionFailed", step.run, error, sensitive);
      if (step.undo !== undefined) {
        await logStep(ctx, "compensationFailed", step.run, error, sensitive);
        await finishUndone(ctx, await undone(ctx, step, error));
        return undefined;
      }
      const run = await runOf(ctx, step);
      if (run.endedAt !== undefined) await onEndFailed(ctx, run, step, error, sensitive);
      else {
        // Siblings of the child that has failed may have ended since the run was told.
        const { compensationErrors } = step.event?.kind === "failed" ? step.event.error : error;
        const full = compensationErrors === undefined ? error : { ...error, compensationErrors };
        const end = { state: "failed" as const, error: full, stage, at: step, sensitive };
        return await endRun(ctx, run, end);
      }
      return undefined;
    }
    case "complete": {
      const result = await resultOf(ctx, progress, next);
      const { undoable } = next;
      return await endRun(ctx, await runOf(ctx, step), { state: "completed", ...result, undoable });
    }
    default:
      await wait(ctx, step, arrived(next), next);
      return undefined;
  }
}

/** The record of the stage whose output is the run's, and that output. */
async function resultOf(
  ctx: MutationCtx,
  progress: Progress,
  { stage, iterations }: Extract<Next, { kind: "complete" }>,
) {
  if (stage === null) return { outputStep: undefined, output: undefined };
  const { ids, known } = progress;
  const of = { stage, iterations };
  const key = keyOf(of);
  const id = ids.get(key);
  if (id !== undefined && known.has(key)) return { outputStep: id, output: known.get(key) };
  const record =
    id === undefined ? await stepRead(ctx, progress.step.run, of) : await ctx.db.get("steps", id);
  return { outputStep: record?._id, output: record?.output };
}

/** The run waits: until a time, or for an event and perhaps until a time. */
async function wait(
  ctx: MutationCtx,
  step: Step,
  hasArrived: boolean,
  next: Extract<Next, { kind: TimedKind }>,
): Promise<void> {
  const { kind, names, storedNames, sensitive } = next;
  // A wait that has begun keeps its time, though its run comes to the node again.
  const until = hasArrived && isEntry(step) ? (step.dueAt ?? next.until) : next.until;
  const marks = marksOf({ sensitive });
  const its = { kind, state: "waiting" as const, names, storedNames, ...marks, dueAt: until };
  const fields = hasArrived ? { ...its, startedAt: reachedAt(step) } : its;
  const record = { ...newRecord(step, next), paused: step.paused, ...fields };
  const id = hasArrived ? step._id : await ctx.db.insert("steps", record);
  const waiting = hasArrived ? { ...step, ...fields } : { ...record, _id: id };
  const due = { at: until, event: { kind: "due" as const } };
  if (until !== undefined) await scheduleEntry(ctx, waiting, due, hasArrived ? fields : {});
  else if (hasArrived) await ctx.db.patch("steps", id, { ...NO_ENTRY, ...fields });
}

/** Stores reduced outputs. @param from the place from which others are reduced later. */
async function storeReduced(
  ctx: MutationCtx,
  run: RunId,
  { stage, value, ...of }: NonNullable<Settlement["reduced"]>,
  from?: number,
): Promise<void> {
  const parent = await stepRead(ctx, run, { stage, ...of });
  if (parent === null) throw new Error(`The run reduces the children of "${stage}", but has none`);
  const reduced = { value, from: from ?? parent.total ?? 0 };
  if (from === undefined) await ctx.db.patch("steps", parent._id, { reduced });
  else await scheduleEntry(ctx, parent, { event: { kind: "settled" } }, { reduced });
}
