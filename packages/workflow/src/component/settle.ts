import { completeWork, enqueueWork, type SlotId, type Work } from "@stepwise/workpool/core";
import { getConvexSize, type Value } from "convex/values";
import type { StepError } from "../definition/step-error.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { startChildren } from "./children.js";
import { endRun, isOwnJob } from "./ending.js";
import { actionWork, arriveAt, beginAction, enter } from "./entering.js";
import { pool } from "./line.js";
import { stepOfStage } from "./scope.js";
import { ACTIVE_STATES, type Fused, type Next, type Outcome, type Token } from "./validators.js";

/** What one transaction of a run reports: what became of its stage, what it executed besides, and what comes next. */
export interface Settlement {
  token: Token;
  slot?: string | undefined;
  outcome: Outcome;
  fused: Fused[];
  next: Next;
}

/** The state of one settlement while it is written. */
interface Progress {
  /** The step that the token names. */
  readonly step: Doc<"steps">;
  /** The ids and outputs of the stages that ended here. */
  readonly ids: Map<string, Id<"steps">>;
  readonly known: Map<string, unknown>;
}

/**
 * Records what happened and starts what comes next, in one transaction. A token that is stale or repeated changes nothing, but gives
 * back the slot that its work held. It is not called stale where this very transaction has ended the run: a step may cancel the run
 * that it belongs to, and then what it did stays.
 */
export async function settle(
  ctx: MutationCtx,
  { token, slot, outcome, fused, next }: Settlement,
): Promise<{ stale: boolean }> {
  const step = await stepNamed(ctx, token);
  const ended = { work: token.step, slot: slot as SlotId | undefined };
  if (step === null || !isActive(step, token)) {
    // An attempt that another has followed gave its slot back then; by now the other may hold it.
    if (step?.attempt === token.attempt) await completeWork(ctx, pool, ended);
    return { stale: step === null || !(await isOwnJob(ctx, step.job)) };
  }
  const progress: Progress = { step, ids: new Map([[step.stage, step._id]]), known: new Map() };
  await recordOutcome(ctx, progress, outcome);
  for (const stage of fused) await recordFused(ctx, progress, stage, outcome);
  const successor = await goOn(ctx, progress, outcome, next);
  if (slot !== undefined) await completeWork(ctx, pool, ended, successor);
  else if (successor !== undefined) await enqueueWork(ctx, successor, pool);
  return { stale: false };
}

async function stepNamed(ctx: MutationCtx, token: Token): Promise<Doc<"steps"> | null> {
  const id = ctx.db.normalizeId("steps", token.step);
  return id === null ? null : await ctx.db.get("steps", id);
}

function isActive(step: Doc<"steps">, token: Token): boolean {
  return step.attempt === token.attempt && ACTIVE_STATES.some((state) => state === step.state);
}

/** What became of the stage that the token names. */
async function recordOutcome(
  ctx: MutationCtx,
  progress: Progress,
  outcome: Outcome,
): Promise<void> {
  const { step } = progress;
  if (outcome.kind === "success") {
    const stored = await storeOutput(ctx, progress, step.stage, outcome.output);
    const ended = { state: "completed" as const, endedAt: Date.now(), ...stored };
    const beside = getConvexSize(ended as Value) + getConvexSize(step.errors ?? []);
    // Where the record cannot hold both, the errors of attempts that another has made good give way.
    const errors = beside > MAX_RECORD_BYTES ? { errors: undefined } : {};
    await ctx.db.patch("steps", step._id, { ...ended, ...errors });
  } else if (outcome.kind === "failed") {
    const errors = withError(step, outcome.error);
    await ctx.db.patch("steps", step._id, { state: "failed", endedAt: Date.now(), errors });
  } else if (outcome.kind === "retry") {
    const next = { ...step, attempt: step.attempt + 1 };
    const run = await runOf(ctx, step);
    await ctx.db.patch("steps", step._id, {
      state: "waiting",
      attempt: next.attempt,
      errors: withError(step, outcome.error),
      dueAt: outcome.dueAt,
      job: await enter(ctx, run, next, { kind: "arrive" }, outcome.dueAt),
    });
  }
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
  { stage, kind, startedAt, output, error }: Fused,
  outcome: Outcome,
): Promise<void> {
  const { step } = progress;
  const ended =
    error === undefined
      ? { state: "completed" as const, ...(await storeOutput(ctx, progress, stage, output)) }
      : { state: "failed" as const, errors: [error] };
  const record = { kind, startedAt, endedAt: Date.now(), ...ended };
  if (outcome.kind === "open" && step.stage === stage) {
    await ctx.db.patch("steps", step._id, record);
    return;
  }
  const id = await ctx.db.insert("steps", { run: step.run, stage, attempt: 1, ...record });
  progress.ids.set(stage, id);
}

const FINALIZE = ".finalize";

/**
 * The output as a field of the stage's record. The output of a parent's finalize is the parent's, so it is kept in the parent's
 * record, under the name by which it is read.
 */
async function storeOutput(
  ctx: MutationCtx,
  { step, ids, known }: Progress,
  stage: string,
  output: unknown,
): Promise<{ output?: unknown }> {
  if (!stage.endsWith(FINALIZE)) {
    known.set(stage, output);
    return { output };
  }
  const parent = stage.slice(0, -FINALIZE.length);
  const record = ids.get(parent) ?? (await stepOfStage(ctx, step.run, parent))?._id;
  if (record === undefined) throw new Error(`The run has a "${stage}", but no "${parent}"`);
  await ctx.db.patch("steps", record, { state: "completed", endedAt: Date.now(), output });
  ids.set(parent, record);
  known.set(parent, output);
  return {};
}

/** Starts what comes next. @returns the work to put in the slot that becomes free. */
async function goOn(
  ctx: MutationCtx,
  progress: Progress,
  outcome: Outcome,
  next: Next,
): Promise<Work | undefined> {
  const { step, known } = progress;
  if (next.kind === "wait") return undefined;
  if (next.kind === "stage") {
    const { stage, action, reads } = next.stage;
    if (action === undefined) {
      await arriveAt(ctx, await runOf(ctx, step), next.stage, known);
      return undefined;
    }
    if (outcome.kind !== "open" || step.stage !== stage)
      return await beginAction(ctx, step.run, action, next.stage, known);
    // It arrived here by way of `resume`: at its first action, or for another attempt.
    await ctx.db.patch("steps", step._id, {
      kind: "action",
      state: "running",
      dueAt: undefined,
      job: undefined,
    });
    return await actionWork(ctx, step, action, { stage, reads }, known);
  }
  const run = await runOf(ctx, step);
  if (next.kind === "children") {
    const arrived = outcome.kind === "open" && step.stage === next.stage;
    await startChildren(ctx, run, arrived ? step : null, next);
  } else if (next.kind === "fail") {
    await endRun(ctx, run, { state: "failed", error: next.error });
  } else {
    const outputStep =
      progress.ids.get(next.stage) ?? (await stepOfStage(ctx, step.run, next.stage))?._id;
    await endRun(ctx, run, { state: "completed", outputStep });
  }
  return undefined;
}

async function runOf(ctx: MutationCtx, step: Doc<"steps">): Promise<Doc<"runs">> {
  const run = await ctx.db.get("runs", step.run);
  if (run === null) throw new Error(`The run of the step record "${step._id}" is gone`);
  return run;
}
