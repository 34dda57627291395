import { ACTIVE_STATES, type Read, type Stage, type Token } from "../validators.js";
import type { Doc, QueryCtx, RunId, Step } from "./documents.js";
import { isEntry, isLoop } from "./kinds.js";

/** Names the record of a stage: a place in the definition, and the iterations around it. */
type Record = Pick<Read, "stage" | "iterations">;

export function keyOf({
  stage,
  iterations = [],
  loop,
  up = 0,
}: Record & Pick<Read, "loop" | "up">): string {
  const aspect = `${loop === true ? " loop" : ""}${up === 0 ? "" : ` ${up} up`}`;
  return `${stage} ${iterations.join(".")}${aspect}`;
}

const FINALIZE = ".finalize";

/** Returns which record has the output of a stage: a parent's finalize makes the parent's. */
export function outputStage({ stage, part }: Pick<Step, "stage" | "part">): string {
  // A record from before parts were stored has its part in its name only.
  const isFinalize = part === "finalize" || (part === undefined && stage.endsWith(FINALIZE));
  return isFinalize ? stage.slice(0, -FINALIZE.length) : stage;
}

/** What messages call a stage: as its node was called when the run came to it. */
export const nameOf = ({ stage, called = stage }: Pick<Step, "stage" | "called">): string => called;

/** @returns null for an unknown step, and one that was removed. */
export async function stepWithId(ctx: QueryCtx, step: string): Promise<Step | null> {
  const id = ctx.db.normalizeId("steps", step);
  return id === null ? null : await ctx.db.get("steps", id);
}

/** The record of a stage in one iteration; null if the run was never there. */
export async function stepRead(ctx: QueryCtx, run: RunId, { stage, iterations }: Record) {
  const inLoops = iterations?.length === 0 ? undefined : iterations;
  return await ctx.db
    .query("steps")
    .withIndex("by_run_stage", (q) => q.eq("run", run).eq("stage", stage).eq("iterations", inLoops))
    .first();
}

/** The active records of a run: those that have not ended. They may be changed meanwhile. */
export async function* activeSteps(ctx: QueryCtx, run: RunId): AsyncGenerator<Step, void> {
  for (const state of ACTIVE_STATES)
    yield* await ctx.db
      .query("steps")
      .withIndex("by_run_state", (q) => q.eq("run", run).eq("state", state))
      .collect();
}

/** Says whether a token is that of the step's present attempt, and the step has not ended. */
export function isActive(step: Step, token: Token): boolean {
  return (
    // guard: attempt
    step.attempt === token.attempt && hasNotEnded(step)
  );
}

/** The step of a token; null if it has ended, or if another of its attempts has begun. */
export async function activeStep(ctx: QueryCtx, token: Token): Promise<Step | null> {
  const step = await stepWithId(ctx, token.step);
  return step !== null && isActive(step, token) ? step : null;
}

/** Says whether the time of its node was up while it was paused: its action changes nothing more. */
export function isTooLate({ paused, event }: Pick<Step, "paused" | "event">): boolean {
  return paused === true && event?.kind === "failed" && event.error.kind === "timedOut";
}

export function hasNotEnded(step: Pick<Step, "state">): boolean {
  return ACTIVE_STATES.some((state) => state === step.state);
}

/** The loop around a step that can be undone, as its compensation sees it. */
export async function loopAround(ctx: QueryCtx, { run, stage, iterations = [], undoable }: Step) {
  if (undoable !== true || iterations.length === 0) return {};
  const names = stage.split(".");
  for (let depth = names.length - 1; depth > 0; depth--) {
    const stage = names.slice(0, depth).join(".");
    const where = { stage, iterations: iterations.slice(0, -1) };
    // The loop may be around the branch, or the item, that the run is.
    for (let id: RunId | undefined = run; id !== undefined;) {
      const around: Step | null = await stepRead(ctx, id, where);
      if (around !== null && isLoop(around))
        return { loop: { state: around.output, iteration: around.iteration } };
      id = (await ctx.db.get("runs", id))?.parentRun;
    }
  }
  return {};
}

/** The newest of the run's own steps that can still be undone. */
export async function lastOwnUndo(ctx: QueryCtx, run: RunId): Promise<Doc<"undos"> | null> {
  return await ctx.db
    .query("undos")
    .withIndex("by_run", (q) => q.eq("run", run).eq("at", undefined))
    .order("desc")
    .first();
}

export type RunOf = Pick<
  Step,
  "run" | "generation" | "plan" | "createdAt" | "parentOfMany" | "standing"
>;
export type StepOf = Omit<RunOf, "createdAt"> &
  Pick<Step, "_id" | "attempt" | "iterations"> &
  Partial<Pick<Step, "uncounted">>;

export function tokenOf({ _id: step, run, attempt, uncounted, iterations, ...of }: StepOf): Token {
  const { generation, plan, parentOfMany } = of;
  return { run, step, attempt, uncounted, iterations, generation, plan, parentOfMany };
}

export function newRecord(
  { run, generation, plan, createdAt, parentOfMany, standing }: RunOf,
  { stage, called, part, iterations }: Pick<Stage, "stage" | "called" | "part" | "iterations">,
) {
  const inLoops = iterations?.length === 0 ? undefined : iterations;
  const where = { run, createdAt, stage, called, part, iterations: inLoops };
  const of = { generation, plan, parentOfMany, standing };
  return { ...where, ...of, attempt: 1, startedAt: Date.now() };
}

/** Returns when a step was reached: by a run that was started for later, when that was entered. */
export function reachedAt(step: Pick<Step, "kind" | "startedAt" | "entersAt">): number {
  return isEntry(step) ? Math.max(step.startedAt, step.entersAt ?? 0) : step.startedAt;
}

/** The fields of a record of which no entry is scheduled. */
export const NO_ENTRY = {
  job: undefined,
  check: undefined,
  entersAt: undefined,
  event: undefined,
  isLastTry: undefined,
  dueAt: undefined,
};

/** Returns what a record says of its stage. Only what is set, as it is also patched. */
export function marksOf({ sensitive, undoable }: Pick<Stage, "sensitive" | "undoable">) {
  return {
    ...(sensitive === true ? { sensitive } : {}),
    ...(undoable === true ? { undoable, permanent: true } : {}),
  };
}
