import { diagnostic, quote, type Diagnostic } from "../diagnostics/diagnostic.js";
import { digestOf } from "../plan/digest.js";
import type { NodePlan, WorkflowPlan } from "../plan/schema.js";
import { stageKind } from "../plan/stage-kinds.js";

/** A child that every run of a workflow starts. */
interface Sure {
  readonly node: NodePlan;
  readonly starts: WorkflowPlan;
}

/** Workflows whose every run starts another one below it. A parent may start none. */
export function checkRecursion(workflows: readonly WorkflowPlan[]): Diagnostic[] {
  const byName = new Map(workflows.map((workflow) => [workflow.name, workflow]));
  const found: Diagnostic[] = [];
  const seen = new Set<WorkflowPlan>();
  /** The workflows on the way to the one that is looked at. */
  const line: WorkflowPlan[] = [];
  const follow = (workflow: WorkflowPlan) => {
    seen.add(workflow);
    line.push(workflow);
    const { startsChild } = digestOf(workflow);
    for (const { node, starts } of startsChild ? sureChildren(workflow.nodes, byName) : []) {
      const at = line.indexOf(starts);
      if (at >= 0) found.push(endless(node, line.slice(at), byName));
      else if (!seen.has(starts)) follow(starts);
    }
    line.pop();
  };
  for (const workflow of workflows) if (!seen.has(workflow)) follow(workflow);
  return found;
}

/** A run goes through one case of a branch, and at least once through the body of a loop. */
function sureChildren(
  nodes: readonly NodePlan[],
  byName: ReadonlyMap<string, WorkflowPlan>,
): Sure[] {
  return nodes.flatMap((node) => {
    const { stages, bodies = [] } = node;
    if (stages.some(({ kind }) => stageKind(kind).shape === "loop"))
      return bodies.flatMap((body) => sureChildren(body.nodes, byName));
    const [name] = stages.find(({ kind }) => kind === "child")?.workflows ?? [];
    const starts = name === undefined ? undefined : byName.get(name);
    return starts === undefined ? [] : [{ node, starts }];
  });
}

/** @param circle from the workflow that is started again to the one whose node starts it */
function endless(
  node: NodePlan,
  circle: readonly WorkflowPlan[],
  byName: ReadonlyMap<string, WorkflowPlan>,
): Diagnostic {
  const [again, ...others] = circle;
  const name = again?.name ?? "";
  const way = [...circle.map((each) => each.name), name].join(" → ");
  const related = circle.slice(0, -1).flatMap((workflow, at) => {
    const next = sureChildren(workflow.nodes, byName).find(({ starts }) => starts === others[at]);
    return next === undefined
      ? []
      : [{ message: `starts ${quote(next.starts.name)}`, place: next.node.place }];
  });
  const message = `every run of workflow ${quote(name)} starts one more of it, so none can ever end: ${way}`;
  const hint = `start it in a .parent() whose \`children\` may give none, as \`childNamed(${quote(name)}, …)\`, or put it into a case of a .branch()`;
  return diagnostic("endlessRecursion", node.place, message, hint, ...related);
}
