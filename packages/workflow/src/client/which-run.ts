import { ANY, checkAllGiven, isPlain, isText, literalText } from "@stepwise/workpool/core";
import type { FunctionArgs } from "convex/server";
import type { ComponentApi } from "../component/_generated/component.js";
import type { WorkflowReference } from "../runtime/reference.js";

/**
 * Which run of a workflow: by its id, or by the key that it was started with. A key names the run
 * that has not ended, or else the one that ended last.
 */
export type RunOrKey = string | { key: string };

/** Which run: by its id alone, or as one of a workflow. */
export type WhichRun =
  readonly [runId: string] | readonly [workflow: WorkflowReference<never>, run: RunOrKey];

type RunArgs = FunctionArgs<ComponentApi["steering"]["cancel"]>;

/** @throws if it is something else than its type says, such as the definition. */
export function checkCompiled(workflow: WorkflowReference<never> | undefined): void {
  if (typeof workflow?.parse === "function") return;
  const wanted =
    "A workflow is given as one of the `workflows` that workflow-codegen generates, such as `workflows.order`, and not as its definition or its name";
  const absent = ". This one is undefined: run workflow-codegen, and check how it is spelt";
  throw new TypeError(workflow === undefined ? wanted + absent : wanted);
}

/** A run as the component is given it. @throws if there is no id, and no key of a workflow. */
export function runArgs([first, second]: WhichRun): RunArgs {
  if (isText(first)) return { run: { runId: first } };
  if (isPlain(second)) checkAllGiven("A run of a workflow", second, { key: ANY }, "it");
  const key = isPlain(second) ? second.key : undefined;
  const run = isText(second) ? { runId: second } : isText(key) ? { key } : undefined;
  const isOfWorkflow = typeof first?.storedAs === "string";
  if (run === undefined || !isOfWorkflow)
    throw new TypeError(
      `A run is given by its id, or by its workflow and { key }, and not by ${literalText(isOfWorkflow ? second : first)}`,
    );
  return { run, workflow: first.storedAs };
}

/** A run as messages name it. */
export function described(which: WhichRun): string {
  const { run } = runArgs(which);
  const [workflow] = which;
  const named = "runId" in run ? `run "${run.runId}"` : `the run of key "${run.key}"`;
  return typeof workflow === "string" ? named : `${named} of "${workflow.name}"`;
}

/** @throws if it is no id of a run. */
export function checkRunId(runId: unknown): void {
  if (!isText(runId))
    throw new TypeError(`A run is given by its id, and not by ${literalText(runId)}`);
}

export function unknownRun(verb: string, which: WhichRun): Error {
  return new Error(`Cannot ${verb} ${described(which)}: there is no such run`);
}

/** Why something cannot be done, by what the component answers. */
export const REFUSALS: Readonly<Record<string, string>> = {
  unknown: "there is no such run",
  ended: "it has ended, or is being undone",
  "not paused": "it is not paused",
  child: "it is the child of another run, which is to be asked for instead",
  "goes on": "it goes on; cancel it, or wait until it has ended",
  "key taken": "another run with its key goes on; cancel that, or wait until it has ended",
  "no iteration":
    "the loop has not come to that iteration, or the result of the one before is no longer kept, as those of the first and of the newest 100 are",
  "no input": "it was canceled while it collected starts, so it has no input: give one",
};

export function refusal(
  verb: string,
  runId: string,
  why: "unknown" | "child" | "goes on" | "key taken" | "no iteration" | "no input",
): Error {
  if (why === "unknown") return unknownRun(verb, [runId]);
  const child = `it is the child of another run; ${verb} the one at the top`;
  return new Error(`Cannot ${verb} run "${runId}": ${why === "child" ? child : REFUSALS[why]}`);
}
