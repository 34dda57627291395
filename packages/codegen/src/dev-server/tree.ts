import type { ComponentApi } from "@stepwise/workflow/_generated/component.js";
import type { FunctionReturnType } from "convex/server";
import { stageKind, stageKindNames } from "../plan/stage-kinds.js";

export type Views = ComponentApi["views"];
/** A run and those below it, oldest first. */
export type RunTree = NonNullable<FunctionReturnType<Views["tree"]>>;
export type TreeRun = RunTree["runs"][number];
export type TreeStep = TreeRun["steps"][number];
export type StepError = TreeStep["errors"][number];

/** Which of a run's steps it is: of a body there is one for each iteration. */
function stepKey({ stage, iterations = [] }: TreeStep): string {
  return [stage, ...iterations].join(" ");
}

/** Whether a state is one that a run or step record does not leave any more. */
export function hasEnded(state: string): boolean {
  return !ACTIVE.has(state);
}
const ACTIVE = new Set(["pending", "running", "waiting", "compensating"]);

/** Something that happened to a run or to one of its steps. */
export type Change = { readonly run: TreeRun } & (
  | { readonly what: "runStarted" | "runEnded" }
  /** It began to run or to wait, or a loop came to its next iteration. */
  | { readonly what: "stepStarted" | "stepChanged" | "stepEnded"; readonly step: TreeStep }
  /** An attempt failed and another one follows. */
  | { readonly what: "stepRetries"; readonly step: TreeStep; readonly error: StepError }
);

/** What happened between two states of a tree, in the order in which it can be told. */
export function changesBetween(before: RunTree | undefined, after: RunTree): Change[] {
  const known = new Map(before?.runs.map((run) => [run.runId, run]));
  return [...ofRuns(known, after.runs)];
}

function* ofRuns(known: Map<string, TreeRun>, runs: readonly TreeRun[]): Generator<Change> {
  for (const run of runs) {
    if (!known.has(run.runId)) yield { what: "runStarted", run };
  }
  for (const run of runs) yield* ofSteps(known.get(run.runId), run);
  yield* ended(known, runs).map((run) => ({ what: "runEnded" as const, run }));
}

/** The runs that have ended since, in the order of time; a parent after its children. */
function ended(known: Map<string, TreeRun>, runs: readonly TreeRun[]): TreeRun[] {
  const parents = new Map(runs.map((run) => [run.runId, run.parentRunId]));
  const depth = (runId: string | undefined): number =>
    runId === undefined ? 0 : 1 + depth(parents.get(runId));
  return runs
    .filter(
      ({ runId, state }) => hasEnded(state) && !hasEnded(known.get(runId)?.state ?? "pending"),
    )
    .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0) || depth(b.runId) - depth(a.runId));
}

/** Kinds of records that end after those of the nodes inside them. */
const HOLDING: readonly string[] = stageKindNames.filter((each) =>
  ["decision", "loop"].includes(stageKind(each).shape),
);

function* ofSteps(before: TreeRun | undefined, run: TreeRun): Generator<Change> {
  const known = new Map(before?.steps.map((step) => [stepKey(step), step]));
  // Loops and branches that have ended, outermost first: what is inside one has ended before it.
  const open: TreeStep[] = [];
  for (const step of run.steps) {
    for (let around = open.at(-1); around && !isInside(step, around); around = open.at(-1)) {
      open.pop();
      yield { what: "stepEnded", run, step: around };
    }
    const old = known.get(stepKey(step));
    if (old === undefined) yield { what: "stepStarted", run, step };
    else if (!hasEnded(step.state) && isChanged(old, step))
      yield { what: "stepChanged", run, step };
    const failed = retriedErrors(step);
    for (const error of failed.slice(old === undefined ? 0 : retriedErrors(old).length)) {
      yield { what: "stepRetries", run, step, error };
    }
    if (!hasEnded(step.state) || hasEnded(old?.state ?? "pending")) continue;
    if (HOLDING.includes(step.kind)) open.push(step);
    else yield { what: "stepEnded", run, step };
  }
  for (const step of open.reverse()) yield { what: "stepEnded", run, step };
}

const isInside = ({ stage }: TreeStep, around: TreeStep): boolean =>
  stage.startsWith(`${around.stage}.`);

function isChanged(before: TreeStep, now: TreeStep): boolean {
  return (
    before.state !== now.state || before.kind !== now.kind || before.iteration !== now.iteration
  );
}

/** The errors that were followed by another attempt: all, but for the last one of a failed step. */
function retriedErrors(step: TreeStep): readonly StepError[] {
  return step.errors.filter(({ attempt }) => attempt < step.attempt);
}
