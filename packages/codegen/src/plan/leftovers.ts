import { digestOf } from "./digest.js";
import { completionName, generatedFunctions, stageIdentifier } from "./functions.js";
import type { Leftover, WorkflowPlan, WrittenPlan } from "./schema.js";
import type { Earlier } from "./storage-names.js";
import type { StoredNode } from "./stored-nodes.js";

/**
 * The action stages and nodes that were there in earlier plans and are not there now, by workflow, and the workflows that are gone: runs
 * may still be at them, or have their results. A tombstone stays until it is dropped; new ones are made of what the baseline has, whatever
 * was generated since.
 */
export function leftoversOf(
  { baseline, last: all, drops = false }: Earlier,
  workflows: readonly WorkflowPlan[],
): Leftover[] {
  const last = drops ? [] : all;
  const byName = new Map(workflows.map((workflow) => [workflow.name, workflow]));
  // Files whose names differ only in case are one file on macOS and Windows.
  const files = new Set(workflows.map(({ name }) => name.toLowerCase()));
  const gone = [...goneIn(baseline === undefined ? last : [baseline], last)];
  return gone.sort(alphabetically).flatMap(([name, before]): Leftover[] => {
    const now = byName.get(name);
    if (now === undefined && files.has(name.toLowerCase())) return [];
    for (const stage of now === undefined ? [] : digestOf(now).actions) before.stages.delete(stage);
    for (const node of now === undefined ? [] : digestOf(now).stored)
      before.nodes.delete(node.name);
    const stages = [...before.stages].sort();
    const nodes = [...before.nodes].sort(alphabetically).map(([, node]) => node);
    if (now !== undefined && stages.length + nodes.length === 0) return [];
    return [{ workflow: name, stages, ...(nodes.length === 0 ? {} : { nodes }) }];
  });
}

interface Gone {
  readonly stages: Set<string>;
  readonly nodes: Map<string, StoredNode>;
}

/** The action stages and the nodes of earlier plans, by workflow, with those that were gone from others. */
function goneIn(plans: readonly WrittenPlan[], others: readonly WrittenPlan[]): Map<string, Gone> {
  const all = new Map<string, Gone>();
  const add = (workflow: string, stages: readonly string[], nodes: readonly StoredNode[] = []) => {
    const gone = all.get(workflow) ?? { stages: new Set(), nodes: new Map() };
    for (const stage of stages) gone.stages.add(stage);
    for (const node of nodes) gone.nodes.set(node.name, node);
    all.set(workflow, gone);
  };
  for (const workflow of plans.flatMap(({ workflows }) => workflows))
    add(workflow.name, digestOf(workflow).actions, digestOf(workflow).stored);
  for (const left of others.flatMap(({ removed = [] }) => removed))
    add(left.workflow, left.stages, left.nodes);
  return all;
}

/** Those of some leftovers that are not among others. */
export function leftOut(wanted: readonly Leftover[], among: readonly Leftover[]): Leftover[] {
  return wanted.flatMap((left): Leftover[] => {
    const there = among.find(({ workflow }) => workflow === left.workflow);
    if (there === undefined) return [left];
    const stages = left.stages.filter((stage) => !there.stages.includes(stage));
    const nodes = left.nodes?.filter(
      ({ name }) => !there.nodes?.some((each) => each.name === name),
    );
    return stages.length + (nodes?.length ?? 0) === 0 ? [] : [{ ...left, stages, nodes }];
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
