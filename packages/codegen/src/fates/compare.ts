import type { WrittenPlan } from "../plan/schema.js";
import { quote, type Change, type WorkflowThen } from "./change.js";
import { linePairs } from "./lines.js";
import { compareLine } from "./nodes.js";

/**
 * What has changed between two plans, and what becomes of the runs that are in flight. Results are kept by node name, and what is
 * next is decided by the code that is deployed when a step ends: see DESIGN, "Across deploys".
 */
export function compare(before: WrittenPlan, now: WrittenPlan): Change[] {
  const then = new Map(before.workflows.map((workflow) => [workflow.name, workflow]));
  const names = new Set(now.workflows.map(({ name }) => name));
  const gone = before.workflows.filter(({ name }) => !names.has(name)).map(goneWorkflow);
  const others = now.workflows.flatMap((workflow) => {
    const old = then.get(workflow.name);
    return old === undefined ? [newWorkflow(workflow)] : compareWorkflow(old, workflow);
  });
  return [...gone, ...others].sort((a, b) =>
    a.workflow < b.workflow ? -1 : a.workflow > b.workflow ? 1 : 0,
  );
}

function goneWorkflow({ name }: WorkflowThen): Change {
  return {
    workflow: name,
    fate: "stops",
    message: "the workflow is removed or renamed: all its runs stop where they are",
    hint: `keep the workflow ${quote(name)}, started by nobody, until its runs have ended`,
  };
}

function newWorkflow({ name }: WorkflowThen): Change {
  return { workflow: name, fate: "safe", message: "the workflow is new" };
}

function compareWorkflow(before: WorkflowThen, now: WorkflowThen): Change[] {
  if (before.hash === now.hash) return [];
  const whole = (message: string): Change => ({ workflow: now.name, fate: "safe", message });
  const { pairs, goneCases } = linePairs(before, now);
  const differ = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
  return [
    ...(differ(before.input, now.input)
      ? [whole("another input: runs in flight keep the one they were started with")]
      : []),
    ...(differ(before.options, now.options)
      ? [whole("other options: they hold for what starts from now on")]
      : []),
    ...goneCases.map((path): Change => ({
      workflow: now.name,
      node: path,
      fate: "stops",
      message: "the case is removed: runs that are in it stop",
      hint: "keep the case, chosen by nothing, until no run is in it any more",
    })),
    ...pairs.flatMap((pair) => compareLine(pair, now.name)),
  ];
}
