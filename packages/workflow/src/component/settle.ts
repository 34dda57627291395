import { completeWork, enqueueWork, type SlotId, type Work } from "@stepwise/workpool/core";
import { getConvexSize, type Value } from "convex/values";
import type { StepError } from "../definition/step-error.js";
import { formerName } from "../renaming.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { startChildren } from "./children.js";
import { foldedFurther } from "./folding.js";
import { setDeadline } from "./deadlines.js";
import { cancelPending, endRun, isOwnJob } from "./ending.js";
import { actionWork, arriveAt, ASLEEP, beginAction, wake } from "./entering.js";
import { forgetPasses } from "./forgetting.js";
import { pool } from "./line.js";
import { logCompensationFailed, logCompletionFailed, logRetrying } from "./log.js";
import { keyOf, stepOfStage } from "./scope.js";
import { undoableDone, undone } from "./undoing.js";
import { ACTIVE_STATES, type Fused, type Next, type Settlement, type Token } from "./validators.js";

/** The state of one settlement while it is written. */
interface Progress {
  /** The step that the token names, under the name that its stage has now. */
  readonly step: Doc<"steps">;
  /** The ids and outputs of the stages that ended here. */
  readonly ids: Map<string, Id<"steps">>;
  readonly known: Map<string, unknown>;
  readonly renamed: Settlement["renamed"];
  /** The loops that have come further, and at which pass they were before. */
  readonly loops: { loop: Fused; before: number }[];
}

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
  const step = { ...found, stage: settlement.stage ?? found.stage };
  if (step.stage !== found.stage) await ctx.db.patch("steps", found._id, { stage: step.stage });
  const progress: Progress = {
    step,
    ids: new Map([[keyOf(step), step._id]]),
    known: new Map(),
    renamed: settlement.renamed,
    loops: [],
  };
  await recordOutcome(ctx, progress, settlement);
  if (settlement.reduced !== undefined) await foldedFurther(ctx, step.run, settlement.reduced);
  for (const stage of fused) await recordFused(ctx, progress, stage, settlement);
  for (const deadline of settlement.deadlines ?? []) {
    const was = formerName(settlement.renamed, deadline.stage);
    await setDeadline(ctx, step.run, deadline, was);
  }
  const successor = await goOn(ctx, progress, settlement);
  if (slot !== undefined) await completeWork(ctx, pool, ended, successor);
  else if (successor !== undefined) await enqueueWork(ctx, successor, pool);
  if (outcome.kind === "retry") await logRetrying(ctx, step, outcome.error, outcome.dueAt);
  for (const { loop, before } of progress.loops) await forgetPasses(ctx, step, loop, before);
  const isEntry = outcome.kind === "open" && step.kind === "entry";
  if (isEntry && !isRecorded(step, fused, next)) await pass(ctx, step);
  return { stale: false };
}

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

async function stepNamed(ctx: MutationCtx, token: Token): Promise<Doc<"steps"> | null> {
  const id = ctx.db.normalizeId("steps", token.step);
  return id === null ? null : await ctx.db.get("steps", id);
}

/** Whether the token is that of the step's present attempt, and something of the step is still to come. */
export function isActive(step: Doc<"steps">, token: Token): boolean {
  return step.attempt === token.attempt && ACTIVE_STATES.some((state) => state === step.state);
}

/** What became of the stage that the token names. */
async function recordOutcome(
  ctx: MutationCtx,
  progress: Progress,
  { outcome }: Settlement,
): Promise<void> {
  const { step } = progress;
  // An action that was thought lost has reported after all, or an event was sent before its time was up.
  const isOvertaken =
    step.kind === "action"
      ? outcome.kind !== "open"
      : outcome.kind === "success" && step.kind === "event";
  if (isOvertaken && step.job !== undefined) await cancelPending(ctx, step.job);
  if (outcome.kind === "success") {
    const stored = await storeOutput(ctx, progress, step, outcome.output);
    const ended = { state: "completed" as const, endedAt: Date.now(), ...ASLEEP, ...stored };
    const errors = outcome.error === undefined ? step.errors : withError(step, outcome.error);
    const beside = getConvexSize(stored as Value) + getConvexSize(errors ?? []);
    // Where the record cannot hold both, the errors of attempts that another has made good give way.
    const kept = beside > MAX_RECORD_BYTES ? undefined : errors;
    await ctx.db.patch("steps", step._id, { ...ended, errors: kept });
    if (step.undoable === true) await undoableDone(ctx, step, outcome.loop);
  } else if (outcome.kind === "failed") {
    const errors = withError(step, outcome.error);
    const state = badState(outcome.error);
    await ctx.db.patch("steps", step._id, { state, endedAt: Date.now(), ...ASLEEP, errors });
  } else if (outcome.kind === "retry") {
    const { dueAt } = outcome;
    const errors = withError(step, outcome.error);
    const fields = { state: "waiting" as const, attempt: step.attempt + 1, errors, dueAt };
    await wake(ctx, step, { at: dueAt }, fields);
  } else if (step.kind === "children" && step.event !== undefined) {
    // The run goes on after the children. Their record waits for the finalize; it is not to be woken again.
    await ctx.db.patch("steps", step._id, ASLEEP);
  }
}

function badState({ kind }: StepError): "failed" | "timedOut" {
  return kind === "timedOut" ? "timedOut" : "failed";
}

/** How much the errors of a step's attempts may take together: they stand in one document, which every attempt reads. */
const MAX_ERRORS_BYTES = 128 * 1024;
/** A document holds 1 MiB; the rest of the record takes less than this leaves. */
const MAX_RECORD_BYTES = 1_040_000;

/** The errors of a step's attempts with one more. Where they become too many, those after the first go, oldest first. */
function withError(step: Doc<"steps">, error: StepError): StepError[] {
  const errors = [...(step.errors ?? []), error];
  while (errors.length > 2 && getConvexSize(errors) > MAX_ERRORS_BYTES) errors.splice(1, 1);
  return errors;
}

/** A stage that was executed here. If the run had arrived with a record for it, that is its record; else it gets one. */
async function recordFused(
  ctx: MutationCtx,
  progress: Progress,
  fused: Fused,
  { outcome }: Settlement,
): Promise<void> {
  const { step, ids } = progress;
  const { stage, pass, kind, startedAt, output, error, iteration, sensitive, undoable } = fused;
  const { chosen } = fused;
  const isInCase = chosen !== undefined && output === undefined;
  const isOpen = isInCase || (iteration !== undefined && fused.isOver !== true);
  const result = isInCase
    ? { state: "running" as const }
    : output === undefined && error !== undefined
      ? { state: badState(error) }
      : {
          state: isOpen ? ("running" as const) : ("completed" as const),
          ...(await storeOutput(ctx, progress, fused, output)),
        };
  const record = {
    kind,
    startedAt,
    ...(isOpen ? {} : { endedAt: Date.now() }),
    ...(iteration === undefined ? {} : { iteration }),
    ...(chosen === undefined ? {} : { chosen }),
    ...(error === undefined ? {} : { errors: [error] }),
    ...(sensitive === true ? { sensitive } : {}),
    ...(undoable === true ? { undoable, kept: true } : {}),
    ...(kind === "children" ? FOLDED : {}),
    ...result,
  };
  let id: Id<"steps">;
  let before: Doc<"steps"> | null = null;
  if (outcome.kind === "open" && keyOf(step) === keyOf(fused)) {
    id = step._id;
    await ctx.db.patch("steps", id, { ...record, ...ASLEEP });
  } else if (fused.exists === true && (before = await recordNow(ctx, progress, fused)) !== null) {
    id = before._id;
    await ctx.db.patch("steps", id, { ...record, startedAt: before.startedAt });
  } else {
    // A branch was put around what the run is at while it was there.
    if (fused.exists === true && kind !== "branch")
      throw new Error(`The run goes on with "${stage}", but was never there`);
    const { run, generation } = step;
    id = await ctx.db.insert("steps", {
      run,
      stage,
      attempt: 1,
      ...(generation === undefined ? {} : { generation }),
      ...(pass === undefined || pass.length === 0 ? {} : { pass }),
      ...record,
    });
    ids.set(keyOf(fused), id);
  }
  if (iteration !== undefined) {
    progress.known.set(keyOf({ ...fused, loop: true }), { state: output, iteration });
    progress.loops.push({ loop: fused, before: before?.iteration ?? 1 });
  }
  if (undoable === true && result.state === "completed")
    await undoableDone(ctx, { _id: id, run: step.run }, fused.loop);
}

const FINALIZE = ".finalize";

/** A parent that has its output needs no more what its children's were folded into; one document might not hold both. */
const FOLDED = { reduced: undefined };

/**
 * The output as a field of the stage's record. The output of a parent's finalize is the parent's, so it is kept in the parent's
 * record, under the name by which it is read.
 */
async function storeOutput(
  ctx: MutationCtx,
  progress: Progress,
  { stage, pass }: Pick<Fused, "stage" | "pass">,
  output: unknown,
): Promise<{ output?: unknown }> {
  const { ids, known } = progress;
  if (!stage.endsWith(FINALIZE)) {
    known.set(keyOf({ stage, pass }), output);
    return { output };
  }
  const parent = { stage: stage.slice(0, -FINALIZE.length), pass };
  const record = progress.ids.get(keyOf(parent)) ?? (await recordNow(ctx, progress, parent))?._id;
  if (record === undefined) throw new Error(`The run has a "${stage}", but no "${parent.stage}"`);
  const ended = { state: "completed" as const, endedAt: Date.now(), ...ASLEEP, ...FOLDED, output };
  await ctx.db.patch("steps", record, ended);
  ids.set(keyOf(parent), record);
  known.set(keyOf(parent), output);
  return {};
}

/** The record of a stage that the run was at before: under its name, or the one that it had then, which it then loses. */
async function recordNow(
  ctx: MutationCtx,
  { step: { run }, renamed }: Progress,
  { stage, pass }: Pick<Fused, "stage" | "pass">,
): Promise<Doc<"steps"> | null> {
  const now = await stepOfStage(ctx, run, stage, pass);
  const was = formerName(renamed, stage);
  const before = now === null && was !== undefined ? await stepOfStage(ctx, run, was, pass) : null;
  if (before === null) return now;
  await ctx.db.patch("steps", before._id, { stage });
  return { ...before, stage };
}

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

/** Starts what comes next. @returns the work to put in the slot that becomes free. */
async function goOn(
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
      await undone(ctx, step);
      return undefined;
    case "fail": {
      const { error, ofCompletion } = next;
      const isOfStep = error.node === step.stage;
      const sensitive = next.sensitive === true || (isOfStep && step.sensitive === true);
      if (ofCompletion === true) await logCompletionFailed(ctx, step.run, error, sensitive);
      if (step.undo !== undefined) {
        await logCompensationFailed(ctx, step.run, error, sensitive);
        await undone(ctx, step, error);
      } else {
        const run = await runOf(ctx, step);
        // Siblings of the child that has failed may have ended since the run was told.
        const { compensationErrors } = step.event?.kind === "failed" ? step.event.error : error;
        const full = compensationErrors === undefined ? error : { ...error, compensationErrors };
        await endRun(ctx, run, { state: "failed", error: full, at: step, sensitive });
      }
      return undefined;
    }
    case "complete": {
      const result = await resultOf(ctx, progress, next.stage);
      const { undoable } = next;
      await endRun(ctx, await runOf(ctx, step), { state: "completed", ...result, undoable });
      return undefined;
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
    id === undefined ? await recordNow(ctx, progress, { stage }) : await ctx.db.get("steps", id);
  return { outputStep: record?._id, output: record?.output };
}

/** The run waits: until a time, or for an event and perhaps until a time. */
async function wait(
  ctx: MutationCtx,
  step: Doc<"steps">,
  hasArrived: boolean,
  next: Extract<Next, { kind: "sleep" | "event" }>,
): Promise<void> {
  const { run, generation, held } = step;
  const { stage, pass } = next;
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
    ...(next.kind === "event" ? { names: next.names } : {}),
    ...(next.kind === "event" && next.sensitive === true ? { sensitive: true } : {}),
    ...(until === undefined ? {} : { dueAt: until }),
  };
  const record = {
    run,
    stage,
    attempt: 1,
    startedAt: now,
    ...(generation === undefined ? {} : { generation }),
    ...(pass === undefined || pass.length === 0 ? {} : { pass }),
    ...(held === true ? { held } : {}),
    ...fields,
  };
  const id = hasArrived ? step._id : await ctx.db.insert("steps", record);
  const waiting = hasArrived ? { ...step, ...fields } : { ...record, _id: id };
  if (until !== undefined)
    await wake(ctx, waiting, { at: until, event: { kind: "due" } }, hasArrived ? fields : {});
  else if (hasArrived) await ctx.db.patch("steps", id, { ...ASLEEP, ...fields });
}

async function runOf(ctx: MutationCtx, step: Doc<"steps">): Promise<Doc<"runs">> {
  const run = await ctx.db.get("runs", step.run);
  if (run === null) throw new Error(`The run of the step record "${step._id}" is gone`);
  return run;
}
