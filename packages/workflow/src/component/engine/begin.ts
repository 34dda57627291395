import * as core from "@stepwise/workpool/core";
import type { WithoutSystemFields } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { MutationCtx, Run, RunId, Step, StepId } from "../core/documents.js";
import type { Input } from "../core/input.js";
import { ABOVE, type Known, smallScope } from "../core/scope.js";
import {
  keyOf,
  marksOf,
  newRecord,
  type RunOf,
  type StepOf,
  stepRead,
  tokenOf,
} from "../core/steps.js";
import { joinLine, takeTurn } from "../core/turns.js";
import type { ActionFunction, Deadline, Stage } from "../validators.js";
import { beginDeadline, setDeadline } from "./deadlineTimer.js";
import { type EntryOptions, scheduleEntry } from "./entry.js";
import { startWork } from "./starting.js";

/** A larger scope is loaded by the function: arguments are kept for a week. */
const MAX_SCOPE_BYTES = 256 * 1024;
/** A larger input has a record of its own: runs are read by the hundred to list them. */
const MAX_INPUT_IN_RUN_BYTES = 1024;

/** @returns it as it is stored; when it was created, to the ms. */
export async function insertRun(
  ctx: MutationCtx,
  fields: WithoutSystemFields<Run>,
  input: Input,
): Promise<Run> {
  const run = { ...fields, ...inputInRun(input) };
  const _id = await ctx.db.insert("runs", run);
  await insertLargeInput(ctx, _id, input);
  return { ...run, _id, _creationTime: Date.now() };
}

function isSmall({ input, given }: Input): boolean {
  const bytes = getConvexSize(input as Value) + getConvexSize(given?.value as Value | undefined);
  return bytes <= MAX_INPUT_IN_RUN_BYTES;
}

/** The input as fields of its run, as far as it is small. */
function inputInRun({ input, given, collected }: Input): Partial<Input> {
  const mark = collected === undefined ? {} : { collected };
  return isSmall({ input, given }) ? { input, ...(given && { given }), ...mark } : mark;
}

/** Gives an input that is too large for its run a record. */
async function insertLargeInput(ctx: MutationCtx, run: RunId, { input, given }: Input) {
  if (isSmall({ input, given })) return;
  const now = Date.now();
  const record = newRecord({ run, createdAt: now }, { stage: "input" });
  const ended = { kind: "input", state: "completed", endedAt: now, permanent: true } as const;
  await ctx.db.insert("steps", { ...record, ...ended, output: input, ...(given && { given }) });
}

/** Drops the record of a large input. @returns the fields of the run for the new one. */
export async function replaceInput(ctx: MutationCtx, run: RunId, input: Input) {
  const before = await stepRead(ctx, run, { stage: "input" });
  if (before !== null) await ctx.db.delete("steps", before._id);
  await insertLargeInput(ctx, run, input);
  return { input: undefined, given: undefined, collected: undefined, ...inputInRun(input) };
}

export function knownInput(input: unknown): Known {
  return new Map([[keyOf({ stage: "input" }), input]]);
}

/** The first record of a run, of which no entry is scheduled yet. */
export interface ToEnter {
  readonly step: StepId;
  readonly entry: string;
  readonly scope: Record<string, unknown> | null;
}

export interface EntersHere {
  readonly runs: ToEnter[];
  /** The scheduled function that this is: their records name it. Default: it is none. */
  readonly job: Step["job"];
}

interface Begins {
  /** Gets its work. */
  start?: typeof startWork;
  parentOfMany?: StepId | undefined;
  /** Where a branch or an item goes that may be entered here. Default: it may not. */
  entersHere?: EntersHere | undefined;
  /** The time of a loop that a restart goes on with. It begins with the run. */
  deadline?: Deadline | undefined;
}

/** Begins a new run at its first stage. @returns what `start` does. */
export async function beginRun(
  ctx: MutationCtx,
  run: Run,
  first: Stage,
  { start = startWork, parentOfMany, entersHere, deadline }: Begins,
): Promise<boolean> {
  const { _id, _creationTime: createdAt, generation, plan, paused, timeoutMs, standing } = run;
  const of = { run: _id, createdAt, generation, plan, paused, parentOfMany, standing };
  if (!(await takeTurn(ctx, run))) {
    await waitForTurn(ctx, run, of, first, deadline);
    return true;
  }
  if (timeoutMs !== undefined) await beginDeadline(ctx, _id, timeoutMs);
  if (deadline !== undefined) await setDeadline(ctx, _id, deadline);
  const known = new Map(run.input === undefined ? [] : knownInput(run.input));
  if (run.within !== undefined) known.set(ABOVE, run.parentRun);
  if (first.action !== undefined && paused !== true)
    return await start(ctx, await beginAction(ctx, of, first.action, first, known));
  const isInside = run.within !== undefined && first.alone !== true;
  if (entersHere !== undefined && isInside && paused !== true) {
    const { step, scope } = await insertEntry(ctx, of, first, known, { job: entersHere.job });
    entersHere.runs.push({ step, entry: run.entry, scope });
  } else await beginStage(ctx, of, first, known);
  return true;
}

/** A run will come to its first stage when it is its turn. At the top it is `pending` till then. */
export async function waitForTurn(
  ctx: MutationCtx,
  run: Run,
  of: RunOf & Pick<Step, "paused">,
  first: Stage,
  deadline?: Deadline,
): Promise<void> {
  const record = { ...newRecord(of, first), ...marksOf(first), paused: of.paused, deadline };
  const id = await ctx.db.insert("steps", { ...record, kind: "turn", state: "waiting" });
  if (run.parentRun === undefined) await ctx.db.patch("runs", run._id, { state: "pending" });
  await joinLine(ctx, run, { _id: id, paused: of.paused });
}

export async function beginAction(
  ctx: MutationCtx,
  of: RunOf,
  action: ActionFunction,
  stage: Stage,
  known: Known,
): Promise<core.Work> {
  const { permits } = action;
  const record = { ...newRecord(of, stage), ...marksOf(stage), permits };
  const step = await ctx.db.insert("steps", { ...record, kind: "action", state: "running" });
  return await actionWork(ctx, { ...record, _id: step }, action, stage, known);
}

export async function beginStage(
  ctx: MutationCtx,
  of: RunOf & Pick<Step, "paused">,
  stage: Stage,
  known: Known,
  { at, entry, ...fields }: Pick<EntryOptions, "at" | "entry"> & Partial<Step> = {},
): Promise<void> {
  const { record, step, scope } = await insertEntry(ctx, of, stage, known, fields);
  const how = { at, scope, isGuarded: stage.afterFailure, entry };
  await scheduleEntry(ctx, { ...record, _id: step }, how);
}

async function insertEntry(
  ctx: MutationCtx,
  of: RunOf & Pick<Step, "paused">,
  stage: Stage,
  known: Known,
  fields: Partial<Step>,
) {
  const { paused } = of;
  const record = { ...newRecord(of, stage), ...marksOf(stage), ...fields, paused };
  const step = await ctx.db.insert("steps", { ...record, kind: "entry", state: "pending" });
  return { record, step, scope: await scopeArgument(ctx, of.run, stage, known) };
}

export async function actionWork(
  ctx: MutationCtx,
  step: StepOf & Pick<Step, "errors" | "permits" | "startedAt"> & Partial<Pick<Step, "place">>,
  action: ActionFunction,
  { reads }: Pick<Stage, "reads">,
  known: Known,
): Promise<core.Work> {
  const scope = await scopeArgument(ctx, step.run, { reads }, known);
  const previousError = step.errors?.at(-1) ?? null;
  const args = { token: tokenOf(step), scope, previousError };
  // A later attempt has the keys of the first.
  const { permits = action.permits, startedAt: cameAt, standing, parentOfMany: group } = step;
  const isAgain = step.attempt > 1;
  const at = step.place ?? core.placeOf({ cameAt, isAgain, ...standing });
  const fair = standing?.fairness;
  return { work: step._id, ...action, args, group, permits, fair, isAgain, at };
}

async function scopeArgument(
  ctx: MutationCtx,
  run: RunId,
  { reads }: Pick<Stage, "reads">,
  known: Known,
): Promise<Record<string, unknown> | null> {
  if (reads.some(({ sensitive }) => sensitive === true)) return null;
  return await smallScope(ctx, run, reads, known, MAX_SCOPE_BYTES);
}
