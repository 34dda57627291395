import type { Change, NodeThen, WorkflowThen } from "./change.js";

/** The compensations that are gone; `now` is undefined when the workflow is gone. */
export function compareUndoing(before: WorkflowThen, now: WorkflowThen | undefined): Change[] {
  const names = new Set(now && stageNames(now.nodes));
  return stageNames(before.nodes)
    .filter((name) => name.endsWith(ending) && !names.has(name))
    .map((name): Change => {
      const message =
        "its compensation is removed: a run that is past the step does not undo it when it fails";
      const node = name.slice(0, -ending.length);
      return { workflow: before.name, node, compatibility: "loses", message, hint };
    });
}

const ending = ".compensate";
const hint =
  "keep the step with its compensation until no run that has completed it can still fail";

function stageNames(nodes: readonly NodeThen[]): string[] {
  return nodes.flatMap(({ stages, bodies = [] }) => [
    ...stages.map(({ name }) => name),
    ...bodies.flatMap((body) => stageNames(body.nodes)),
  ]);
}
