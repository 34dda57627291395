import { digestOf } from "./digest.js";
import { completionName, generatedFunctions, stageIdentifier } from "./functions.js";
import type { Leftover, WorkflowPlan, WrittenPlan } from "./schema.js";

/**
 * The action stages that were there in earlier plans and are not there now, by workflow, and the workflows that are gone: runs may still
 * be at them, or be called by their names.
 *
 * @param befores the plan that was written last, with what it had left behind itself; and others that may be deployed
 */
export function leftoversOf(
  befores: readonly WrittenPlan[],
  workflows: readonly WorkflowPlan[],
): Leftover[] {
  const byName = new Map(workflows.map((workflow) => [workflow.name, workflow]));
  // Files whose names differ only in case are one file on macOS and Windows.
  const files = new Set(workflows.map(({ name }) => name.toLowerCase()));
  return [...actionsBefore(befores)].sort(alphabetically).flatMap(([name, before]): Leftover[] => {
    const now = byName.get(name);
    if (now === undefined && files.has(name.toLowerCase())) return [];
    const actions = new Set(now && digestOf(now).actions);
    const stages = [...before].filter((stage) => !actions.has(stage)).sort();
    return now !== undefined && stages.length === 0 ? [] : [{ workflow: name, stages }];
  });
}

/** The action stages of earlier plans, by workflow. */
function actionsBefore(befores: readonly WrittenPlan[]): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  const add = (name: string, actions: readonly string[]) => {
    all.set(name, new Set([...(all.get(name) ?? []), ...actions]));
  };
  for (const { workflows, removed = [] } of befores) {
    for (const workflow of workflows) add(workflow.name, digestOf(workflow).actions);
    for (const { workflow, stages } of removed) add(workflow, stages);
  }
  return all;
}

/** A plan without what it has left behind itself: whoever leaves that out now has dropped it. */
export function withoutLeft(plan: WrittenPlan): WrittenPlan {
  return { ...plan, removed: undefined };
}

/** Those of some leftovers that are not among others. */
export function leftOut(wanted: readonly Leftover[], among: readonly Leftover[]): Leftover[] {
  return wanted.flatMap(({ workflow, stages }): Leftover[] => {
    const there = among.find((each) => each.workflow === workflow);
    if (there === undefined) return [{ workflow, stages }];
    const missing = stages.filter((stage) => !there.stages.includes(stage));
    return missing.length === 0 ? [] : [{ workflow, stages: missing }];
  });
}

const alphabetically = (
  [a]: readonly [string, unknown],
  [b]: readonly [string, unknown],
): number => (a < b ? -1 : a > b ? 1 : 0);

/** A function that a stage leaves behind. */
export interface LeftFunction {
  readonly stage: string;
  readonly name: string;
  /** Whether it is that which the action reports to, and not the action. */
  readonly isCompletion: boolean;
}

/**
 * The functions that action stages leave behind only to end the runs that are at them, or to send them on: those whose name something else
 * has taken meanwhile are left out.
 *
 * @param workflow the one whose stages they were; undefined when it is gone too
 */
export function leftFunctions(
  workflow: WorkflowPlan | undefined,
  { stages }: Pick<Leftover, "stages">,
): LeftFunction[] {
  const taken = new Set(workflow && generatedFunctions(workflow).map(({ name }) => name));
  // What the copied input means by the name of a global must not be one of these.
  if (workflow?.input.kind === "copy") for (const name of workflow.input.globals) taken.add(name);
  const both = stages.flatMap((stage): LeftFunction[] => [
    { stage, name: stageIdentifier(stage), isCompletion: false },
    { stage, name: completionName(stage), isCompletion: true },
  ]);
  // `a.b` and `aB`, of different versions, had functions of one name.
  return both.filter(({ name }) => !taken.has(name) && taken.add(name));
}
