import { ERRORS_BYTES, MOST_KEPT } from "../core/room.js";
import { getConvexSize, type Value } from "convex/values";
import type { StepError } from "../../definition/context.js";
import type { MutationCtx, Step, StepId } from "../core/documents.js";
import { payloadIn } from "../core/inbox.js";
import { isAction, isBranch, isParent, takesEvents } from "../core/kinds.js";
import { cancelScheduled } from "../core/scheduled.js";
import { keyOf, marksOf, newRecord, NO_ENTRY, outputStage, stepRead } from "../core/steps.js";
import type { Fused, Settlement } from "../protocol.js";
import type { Took } from "../validators.js";
import { scheduleEntry } from "./entry.js";

/** A loop that is at an iteration. */
export interface LoopStep extends Pick<Step, "_id" | "run" | "iterations"> {
  readonly iteration: number;
  /** Its iteration when its old ones were last looked at. */
  readonly before: number;
  readonly isOver: boolean;
}

export interface Progress {
  readonly step: Step;
  readonly ids: Map<string, StepId>;
  readonly known: Map<string, unknown>;
  readonly loops: LoopStep[];
}

/** When the attempt of an action began: clocks differ, but not before it could, and not later. */
function begun({ kind, startedAt, retries }: Step, beganAt: number | undefined) {
  if (!isAction({ kind }) || beganAt === undefined) return {};
  const earliest = retries?.at(-1)?.failedAt ?? startedAt;
  return { beganAt: Math.min(Math.max(earliest, Math.floor(beganAt)), Date.now()) };
}

export async function recordOutcome(
  ctx: MutationCtx,
  progress: Progress,
  { outcome, ...settlement }: Settlement,
) {
  const { step } = progress;
  const began = begun(step, settlement.beganAt);
  // A lost action has reported after all, or an event came before its timeout.
  const isOvertaken = isAction(step)
    ? outcome.kind !== "open"
    : outcome.kind === "success" && takesEvents(step);
  if (isOvertaken) await cancelScheduled(ctx, step);
  if (outcome.kind === "success") {
    const stored = await storeOutput(ctx, progress, step, outcome.output);
    const { took, timedOut } = outcome;
    const { names = [], storedNames = names } = step;
    const made = { ...stored, ...began };
    const ended = { state: "completed" as const, endedAt: Date.now(), ...NO_ENTRY, ...made };
    const errors = outcome.error === undefined ? step.errors : withError(step, outcome.error);
    const tells = took && tookBeside(took, { output: outcome.output, names: storedNames });
    const beside = { errors: errorsBeside(errors, stored), took: tells, timedOut };
    await ctx.db.patch("steps", step._id, { ...ended, ...beside });
    if (step.undoable === true)
      await ctx.db.insert("undos", { run: step.run, step: step._id, loop: outcome.loop });
  } else if (outcome.kind === "failed") {
    const errors = withError(step, outcome.error);
    const state = badState(outcome.error);
    const ended = { state, endedAt: Date.now(), ...NO_ENTRY, errors, ...began };
    await ctx.db.patch("steps", step._id, ended);
  } else if (outcome.kind === "retry") {
    const { dueAt } = outcome;
    const errors = withError(step, outcome.error);
    const { attempt: failed } = step;
    const times = { ...began, failedAt: Date.now(), nextAt: Math.floor(dueAt) };
    const retry = { attempt: failed, ...times, holds: outcome.holds };
    const retries = [...(step.retries ?? []), retry].slice(-MOST_KEPT);
    const attempt = failed + 1;
    const uncounted = outcome.holds === undefined ? step.uncounted : (step.uncounted ?? 0) + 1;
    const fields = { state: "waiting" as const, attempt, uncounted, errors, retries, dueAt };
    await scheduleEntry(ctx, step, { at: dueAt }, fields);
  } else if (isParent(step) && step.event !== undefined) {
    // The run goes on after the children; their record waits for the finalize.
    await ctx.db.patch("steps", step._id, NO_ENTRY);
  }
}

/** What was taken, as far as the output and the names that the record has waited for do not say. */
function tookBeside(
  { name, within = [], ...others }: Took,
  { output, names = [] }: { output: unknown; names?: readonly string[] },
): Took | undefined {
  const took = {
    ...others,
    name: names.length === 1 && names[0] === name ? undefined : name,
    within: `${within}` === `${payloadIn(output)}` ? undefined : within,
  };
  return Object.values(took).some((each) => each !== undefined) ? took : undefined;
}

function badState({ kind }: StepError): "failed" | "timedOut" {
  return kind === "timedOut" ? "timedOut" : "failed";
}

/** A document holds 1 MiB; the rest of the record takes less than this leaves. */
const MAX_RECORD_BYTES = 1_040_000;

/** The errors of a step's attempts; none if its record cannot hold them beside its output. */
export function errorsBeside(errors: StepError[] | undefined, made: unknown) {
  const bytes = getConvexSize((made ?? null) as Value) + getConvexSize(errors ?? []);
  return bytes > MAX_RECORD_BYTES ? undefined : errors;
}

/** Adds an error. If they are too many, those after the first are dropped, oldest first. */
function withError(step: Step, error: StepError): StepError[] {
  const errors = [...(step.errors ?? []), error];
  while (errors.length > 2 && getConvexSize(errors) > ERRORS_BYTES) errors.splice(1, 1);
  return errors;
}

/** Records a stage that was executed here: in its own record, if it has one. */
export async function recordFused(
  ctx: MutationCtx,
  progress: Progress,
  fused: Fused,
  { outcome }: Settlement,
): Promise<void> {
  const { step } = progress;
  const { stage, iterations, iteration, undoable } = fused;
  const isArrival = outcome.kind === "open" && keyOf(step) === keyOf(fused);
  const isBegun = fused.exists === true && !isArrival;
  const begun = isBegun ? await stepRead(ctx, step.run, fused) : null;
  // A deploy may have added a branch around it. A loop needs the state in its record.
  if (isBegun && begun === null && !isBranch(fused))
    throw new Error(`The run goes on with "${stage}", but was never there`);
  const fields = await fieldsOf(ctx, progress, fused);
  let id: StepId;
  if (isArrival) {
    id = step._id;
    // A parent began with its children.
    const startedAt = isParent(fused) ? step.startedAt : fields.startedAt;
    await ctx.db.patch("steps", id, { ...fields, ...NO_ENTRY, startedAt });
  } else if (begun !== null) {
    id = begun._id;
    await ctx.db.patch("steps", id, { ...fields, startedAt: begun.startedAt });
  } else {
    id = await ctx.db.insert("steps", { ...newRecord(step, fused), ...fields });
    progress.ids.set(keyOf(fused), id);
  }
  if (iteration !== undefined) {
    progress.known.set(keyOf({ ...fused, loop: true }), { state: fused.output, iteration });
    const [before, isOver] = [begun?.iteration ?? 1, fused.isOver === true];
    progress.loops.push({ _id: id, run: step.run, iterations, iteration, before, isOver });
  }
  if (undoable === true && fields.state === "completed")
    await ctx.db.insert("undos", { run: step.run, step: id, loop: fused.loop });
}

async function fieldsOf(ctx: MutationCtx, progress: Progress, fused: Fused) {
  const { kind, startedAt, output, error, iteration, chosen, took, timedOut } = fused;
  const { isOver = false } = fused;
  const hasFailed = output === undefined && error !== undefined;
  // The run has ended inside it: then it has no output, nor has a loop the state that it had.
  const isLeft = isOver && output === undefined;
  const isInside = output === undefined && error === undefined && !isOver;
  const isOpen = isInside || (iteration !== undefined && !isOver);
  const reached = isOpen ? ("running" as const) : ("completed" as const);
  return {
    kind,
    startedAt,
    state: hasFailed ? badState(error) : reached,
    ...(isOpen ? {} : { endedAt: Date.now() }),
    ...(iteration === undefined ? {} : { iteration }),
    ...(chosen === undefined ? {} : { chosen }),
    ...(took === undefined ? {} : { took: tookBeside(took, { output }) }),
    ...(timedOut === undefined ? {} : { timedOut }),
    ...(error === undefined ? {} : { errors: [error] }),
    ...marksOf(fused),
    ...(isParent(fused) ? NOT_REDUCED : {}),
    ...(isLeft ? { output: undefined } : {}),
    ...(output === undefined ? {} : await storeOutput(ctx, progress, fused, output)),
  };
}

/** A document may not hold a parent's output and the reduced outputs together. */
const NOT_REDUCED = { reduced: undefined };

/** Stores an output in the stage's record; that of a parent's finalize, in the parent's. */
async function storeOutput(
  ctx: MutationCtx,
  progress: Progress,
  { stage, part, iterations }: Pick<Fused, "stage" | "part" | "iterations">,
  output: unknown,
): Promise<{ output?: unknown }> {
  const { ids, known, step } = progress;
  const parent = { stage: outputStage({ stage, part }), iterations };
  if (parent.stage === stage) {
    known.set(keyOf(parent), output);
    return { output };
  }
  const record = progress.ids.get(keyOf(parent)) ?? (await stepRead(ctx, step.run, parent))?._id;
  if (record === undefined) throw new Error(`The run has a "${stage}", but no "${parent.stage}"`);
  const ended = { state: "completed" as const, endedAt: Date.now(), ...NO_ENTRY, ...NOT_REDUCED };
  await ctx.db.patch("steps", record, { ...ended, output });
  ids.set(keyOf(parent), record);
  known.set(keyOf(parent), output);
  return {};
}
