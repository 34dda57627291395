import { withoutValues } from "../errors/without-values.js";
import { v } from "convex/values";
import { internalMutation } from "./_generated/server.js";
import { type Outcome, vErrorKind } from "./validators.js";
import { completeWork, isOwnJob, type SlotId, type Work } from "@stepwise/workpool/core";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { logCompensationFailed, logCompletionFailed, logRetrying } from "./core/log.js";
import { pool } from "./core/pool.js";
import { isActive, keyOf, stepNamed, stepRead, loopAround, nameOf } from "./core/steps.js";
import { actionWork, arriveAt, beginAction, startWork } from "./engine/begin.js";
import { setDeadline } from "./engine/deadlines.js";
import { wake } from "./engine/entry.js";
import { ASLEEP, newRecord, tokenOf } from "./engine/records.js";
import { recordFused, recordOutcome, type Progress } from "./engine/transition.js";
import { startChildren } from "./features/children.js";
import { undone } from "./features/compensation.js";
import { endRun, finishUndone } from "./features/ending.js";
import { forgetPasses } from "./features/iterations.js";
import type { Fused, Next, Settlement } from "./validators.js";

/**
 * Records what happened and starts what comes next, in one transaction. A token that is stale or repeated changes nothing, but gives
 * back the slot that its work held. It is not called stale where this very transaction has ended the run: a step may cancel the run
 * that it belongs to, and then what it did stays.
 * @throws where the run is paused and stages were executed besides: the caller reports again without them.
 */
export async function settle(
  ctx: MutationCtx,
  settlement: Settlement,
): Promise<{ stale: boolean }> {
  const { token, slot, outcome, fused, next } = settlement;
  const found = await stepNamed(ctx, token);
  const ended = { work: token.step, slot: slot as SlotId | undefined };
  if (found === null || !isActive(found, token)) {
    // An attempt that another has followed gave its slot back then; by now the other may hold it.
    if (found === null || found.attempt === token.attempt) await completeWork(ctx, pool, ended);
    const isOwn = found !== null && (await isOwnJob(ctx, found.job));
    return { stale: !isOwn || hasDoneMore(fused) };
  }
  if (found.held === true && (await hasStarted(ctx, found, fused)))
    throw new Error(`The run is paused: nothing of it starts`);
  const plan = planOf(found, settlement);
  const step = { ...found, plan };
  if (plan !== found.plan) await ctx.db.patch("steps", found._id, { plan });
  const progress: Progress = {
    step,
    ids: new Map([[keyOf(step), step._id]]),
    known: new Map(),
    loops: [],
  };
  await recordOutcome(ctx, progress, settlement);
  if (settlement.reduced !== undefined) await foldedFurther(ctx, step.run, settlement.reduced);
  for (const stage of fused) await recordFused(ctx, progress, stage, settlement);
  for (const deadline of settlement.deadlines ?? []) await setDeadline(ctx, step.run, deadline);
  const successor = await beginNext(ctx, progress, settlement);
  if (slot !== undefined) await completeWork(ctx, pool, ended, successor);
  else if (successor !== undefined) await startWork(ctx, successor);
  if (outcome.kind === "retry") await logRetrying(ctx, step, outcome.error, outcome.dueAt);
  for (const loop of progress.loops) await forgetPasses(ctx, loop);
  const isEntry = outcome.kind === "open" && step.kind === "entry";
  if (isEntry && !isRecorded(step, fused, next)) await pass(ctx, step);
  return { stale: false };
}

/** The run cannot go on at a step. What an action has reported is kept all the same, so that it can be undone. */
export const failStep = internalMutation({
  args: {
    step: v.id("steps"),
    problem: v.object({ kind: vErrorKind, message: v.string(), data: v.optional(v.any()) }),
    slot: v.optional(v.string()),
  },
  returns: v.null(),
  handler: async (ctx, { step: id, problem, slot }): Promise<null> => {
    const step = await ctx.db.get("steps", id);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    if (step === null || run === null) return null;
    const { workflow } = run;
    const { event, sensitive } = step;
    const shown = sensitive === true ? withoutValues(problem) : problem;
    const error = { ...shown, workflow, node: nameOf(step), attempt: step.attempt };
    const outcome: Outcome =
      event?.kind === "done"
        ? { kind: "success", output: event.output, ...(await loopAround(ctx, step)) }
        : { kind: "failed", error };
    await settle(ctx, {
      token: tokenOf(step),
      slot,
      outcome,
      fused: [],
      // A deploy may take a function away: then nothing has failed but that.
      next: {
        kind: "fail",
        error,
        stage: step.stage,
        ofCompletion: problem.kind !== "removedNode",
      },
    });
    return null;
  },
});

/**
 * Whether functions of the app were executed though the run is paused. Not where one of them has paused it, in this very transaction: a pause
 * from elsewhere would have called that off.
 */
async function hasStarted(
  ctx: MutationCtx,
  { job }: Doc<"steps">,
  fused: readonly Fused[],
): Promise<boolean> {
  const isOfApp = fused.some(({ kind }) => kind === "mutation" || kind === "query");
  return isOfApp && !(await isOwnJob(ctx, job));
}

/**
 * Whether something that can be undone was executed before the last function: where that has ended the run, nobody would undo it. It is
 * executed again by itself, and recorded.
 */
function hasDoneMore(fused: readonly Fused[]): boolean {
  const ofApp = fused.filter(({ kind }) => kind === "mutation" || kind === "query");
  return ofApp.slice(0, -1).some(({ undoable }) => undoable === true);
}

/** The plan that a run has gone by from its beginning. One that has gone by several goes by none, also where a deploy brings the first back. */
function planOf({ plan }: Doc<"steps">, settlement: Settlement): string | undefined {
  return plan === undefined || plan === settlement.plan ? plan : NO_PLAN;
}

const NO_PLAN = "";

/** Whether the record with which the run arrived is that of something which happened here, or begins here. */
function isRecorded(step: Doc<"steps">, fused: readonly Fused[], next: Next): boolean {
  if (next.kind === "fail" || next.kind === "undone") return true;
  const own = keyOf(step);
  const begun =
    next.kind === "children" ? next.children : next.kind === "stage" ? next.stage : next;
  const isNext =
    "stage" in begun &&
    begun.stage !== null &&
    keyOf({ pass: [], ...begun, stage: begun.stage }) === own;
  return isNext || fused.some((stage) => keyOf(stage) === own);
}

/** The run has only passed by here: at a node that has kept its result, say. */
async function pass(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  await ctx.db.delete("steps", step._id);
}

/** Begins what comes next. @returns the work to put in the slot that becomes free. */
export async function beginNext(
  ctx: MutationCtx,
  progress: Progress,
  { outcome, next }: Settlement,
): Promise<Work | undefined> {
  const { step, known } = progress;
  const arrived = (where: Pick<Fused, "stage" | "pass">) =>
    outcome.kind === "open" && keyOf(step) === keyOf(where);
  switch (next.kind) {
    case "wait":
      return undefined;
    case "stage": {
      const { action, reads } = next.stage;
      if (action === undefined || step.held === true) {
        if (arrived(next.stage)) await wake(ctx, step, {}, { kind: "entry", state: "pending" });
        else await arriveAt(ctx, step, next.stage, known);
        return undefined;
      }
      if (!arrived(next.stage)) return await beginAction(ctx, step, action, next.stage, known);
      // It arrived here by way of `resume`: at its first action, or for another attempt.
      const fields = { ...ASLEEP, kind: "action" as const, state: "running" as const };
      const { sensitive, undoable } = next.stage;
      await ctx.db.patch("steps", step._id, {
        ...fields,
        ...(sensitive === true ? { sensitive } : {}),
        ...(undoable === true ? { undoable, kept: true } : {}),
      });
      return await actionWork(ctx, step, action, { reads }, known);
    }
    case "children":
      await startChildren(ctx, step, arrived(next.children) ? step : null, next.children);
      return undefined;
    case "sleep":
    case "event":
      await wait(ctx, step, arrived(next), next);
      return undefined;
    case "reduce": {
      const { stage, pass, accumulated: value, from } = next;
      await foldedFurther(ctx, step.run, { stage, pass, value }, from);
      return undefined;
    }
    case "undone":
      await finishUndone(ctx, await undone(ctx, step));
      return undefined;
    case "fail": {
      const { error, ofCompletion, stage = error.node } = next;
      const isOfStep = stage === step.stage;
      const sensitive = next.sensitive === true || (isOfStep && step.sensitive === true);
      if (ofCompletion === true) await logCompletionFailed(ctx, step.run, error, sensitive);
      if (step.undo !== undefined) {
        await logCompensationFailed(ctx, step.run, error, sensitive);
        await finishUndone(ctx, await undone(ctx, step, error));
      } else {
        const run = await runOf(ctx, step);
        // Siblings of the child that has failed may have ended since the run was told.
        const { compensationErrors } = step.event?.kind === "failed" ? step.event.error : error;
        const full = compensationErrors === undefined ? error : { ...error, compensationErrors };
        return await endRun(ctx, run, { state: "failed", error: full, stage, at: step, sensitive });
      }
      return undefined;
    }
    case "complete": {
      const result = await resultOf(ctx, progress, next.stage);
      const { undoable } = next;
      return await endRun(ctx, await runOf(ctx, step), { state: "completed", ...result, undoable });
    }
  }
}

/** The record of the stage whose output is the run's, and that output; null is a run without one. */
async function resultOf(
  ctx: MutationCtx,
  progress: Progress,
  stage: string | null,
): Promise<{ outputStep: Id<"steps"> | undefined; output: unknown }> {
  if (stage === null) return { outputStep: undefined, output: undefined };
  const { ids, known } = progress;
  const key = keyOf({ stage });
  const id = ids.get(key);
  if (id !== undefined && known.has(key)) return { outputStep: id, output: known.get(key) };
  const record =
    id === undefined
      ? await stepRead(ctx, progress.step.run, { stage })
      : await ctx.db.get("steps", id);
  return { outputStep: record?._id, output: record?.output };
}

/** The run waits: until a time, or for an event and perhaps until a time. */
async function wait(
  ctx: MutationCtx,
  step: Doc<"steps">,
  hasArrived: boolean,
  next: Extract<Next, { kind: "sleep" | "event" }>,
): Promise<void> {
  const { held } = step;
  const now = Date.now();
  const until =
    next.kind === "sleep"
      ? next.until
      : next.timeoutMs === undefined
        ? undefined
        : now + next.timeoutMs;
  const fields = {
    kind: next.kind,
    state: "waiting" as const,
    ...(next.kind === "event" ? { names: next.names, storedNames: next.storedNames } : {}),
    ...(next.kind === "event" && next.sensitive === true ? { sensitive: true } : {}),
    ...(until === undefined ? {} : { dueAt: until }),
  };
  const record = {
    ...newRecord(step, next),
    ...(held === true ? { held } : {}),
    ...fields,
  };
  const id = hasArrived ? step._id : await ctx.db.insert("steps", record);
  const waiting = hasArrived ? { ...step, ...fields } : { ...record, _id: id };
  if (until !== undefined)
    await wake(
      ctx,
      waiting,
      { at: until, event: { kind: "due", of: next.kind } },
      hasArrived ? fields : {},
    );
  else if (hasArrived) await ctx.db.patch("steps", id, { ...ASLEEP, ...fields });
}

async function runOf(ctx: MutationCtx, step: Doc<"steps">): Promise<Doc<"runs">> {
  const run = await ctx.db.get("runs", step.run);
  if (run === null) throw new Error(`The run of the step record "${step._id}" is gone`);
  return run;
}

/** Keeps what outputs were folded into; where not all of them are, the rest is folded in a transaction of its own, from `from` on. */
export async function foldedFurther(
  ctx: MutationCtx,
  run: Id<"runs">,
  { stage, pass, value }: { stage: string; pass?: number[] | undefined; value: unknown },
  from?: number,
): Promise<void> {
  const parent = await stepRead(ctx, run, { stage, pass });
  if (parent === null) throw new Error(`The run folds the children of "${stage}", but has none`);
  const reduced = { value, from: from ?? parent.total ?? 0 };
  if (from === undefined) await ctx.db.patch("steps", parent._id, { reduced });
  else await wake(ctx, parent, { event: { kind: "joined" } }, { reduced });
}
