import { diagnostic, type Diagnostic, quote } from "../diagnostics/diagnostic.js";
import { meant, nearest } from "../diagnostics/nearest.js";
import { namesInPath } from "../plan/constants.js";
import { digestOf } from "../plan/digest.js";
import { allLines, allNodes, generatedFunctions, goesOn, stagesOf } from "../plan/flow.js";
import { ON_END, withoutOnEnd } from "../plan/on-end.js";
import type { NodePlan, Renaming, StagePlan, WorkflowPlan } from "../plan/schema.js";
import {
  endsRun,
  hasBranches,
  hasCases,
  isApart,
  isLoop,
  makesNothing,
  startsOne,
} from "../plan/stage-kinds.js";

export const checkStructure = (workflow: WorkflowPlan): Diagnostic[] =>
  [checkHasNodes, checkEnds, checkBodies, checkReads, checkGlobals].flatMap((rule) =>
    rule(workflow),
  );

function checkHasNodes({ name, nodes, place, hasUnreadNodes }: WorkflowPlan): Diagnostic[] {
  if (withoutOnEnd(nodes).length > 0 || hasUnreadNodes) return [];
  const message = `workflow ${quote(name)} has no nodes, so there is nothing to run`;
  const hint = 'add one: `.step("name", { action: async (ctx, { input }) => … })`';
  return [diagnostic("noNodes", place, message, hint)];
}

/** No run comes to a node after a finalize or an end, or after one all of whose cases end. */
function checkEnds({ nodes }: WorkflowPlan): Diagnostic[] {
  return allLines(withoutOnEnd(nodes)).flatMap((line) => {
    const at = line.findIndex((node) => !node.isNamed || !goesOn(node));
    const end = line[at];
    const after = line[at + 1];
    if (end === undefined || after === undefined) return [];
    const what = after.isNamed ? `node ${quote(after.path)}` : `the ${after.name}`;
    const [why, hint] = end.isNamed
      ? [`${end.kind} ${quote(end.path)}, which always ends the run`, "let one of its cases go on"]
      : end.name === "finalize"
        ? ["a finalize", "move .finalize() to the end"]
        : ["an end", `move ${what} before it, or the end into a case of a branch`];
    const message = `no run comes to ${what}: it stands after ${why}`;
    const other = { message: "where it ends", place: end.place };
    return [diagnostic("afterFinalize", after.place, message, hint, other)];
  });
}

/** An iteration that does nothing would be made again and again. A case may do nothing. */
function checkBodies({ nodes }: WorkflowPlan): Diagnostic[] {
  return allNodes(nodes)
    .filter((node) => isLoop(node) || isApart(node))
    .flatMap((node) => (node.bodies ?? []).map((body) => ({ ...body, isOfLoop: isLoop(node) })))
    .filter((body) => body.nodes.length === 0 && !body.hasUnreadNodes)
    .map(({ label, place, isOfLoop }) => {
      const [what, gives] = isOfLoop ? ["an iteration", "next state"] : ["its run", "output"];
      const message = `${label} has no nodes, so ${what} would do nothing`;
      const where = isOfLoop ? "body: " : "";
      const hint = `add one: \`${where}(b) => b.step(…)\`; its last node gives the ${gives}`;
      return diagnostic("noNodes", place, message, hint);
    });
}

const checkReads = (workflow: WorkflowPlan): Diagnostic[] => [
  ...checkOptionReads(workflow),
  ...(workflow.hasUnknownNames
    ? []
    : stagesOf(workflow).flatMap((stage) => checkStageReads(workflow, stage))),
];

/** The options of a workflow are asked when a run is started: it has done nothing yet. */
function checkOptionReads({ name: workflow, optionReads = [] }: WorkflowPlan): Diagnostic[] {
  return optionReads.flatMap(({ of, reads }) =>
    reads
      .filter(({ name }) => name !== "input")
      .map(({ name, place }) => {
        const label = `\`${of}\` of workflow ${quote(workflow)}`;
        const message = `${label} reads ${quote(name)}, but sees the input alone`;
        return diagnostic("unknownRead", place, message, "it can read input");
      }),
  );
}

function checkStageReads(workflow: WorkflowPlan, stage: StagePlan): Diagnostic[] {
  const nodes = allNodes(workflow.nodes);
  return stage.readers.flatMap(({ reads, visible }) =>
    reads
      .filter(({ name }) => !visible.includes(name))
      .map(({ name, place }) => {
        const node = nodes.find((each) => each.name === name);
        const near = nearest(name, visible);
        const why = `${quote(name)}, ${whyUnseen(node, stage)}`;
        const output = isOfOnEnd(stage) && name === "output" ? "; `run.output` is the output" : "";
        const can = `it can read ${visible.join(", ")}${output}`;
        const message = `${stage.label} of workflow ${quote(workflow.name)} reads ${why}`;
        const hint =
          near === undefined || node !== undefined ? can : `did you mean ${quote(near)}? ${can}`;
        return diagnostic("unknownRead", place, message, hint);
      }),
  );
}

const isOfOnEnd = ({ name, isAside }: StagePlan): boolean => isAside === true && name === ON_END;

/** Why a stage does not see a node; undefined: there is none of that name. */
function whyUnseen(node: NodePlan | undefined, stage: StagePlan): string {
  if (node === undefined) return "which nothing gives";
  if (isOfOnEnd(stage)) return "but sees no node: the run may have ended before it";
  if (makesNothing(node)) return `a ${node.kind}, which gives nothing`;
  const around = node.path.split(".").slice(0, -1).join(".");
  return stage.name.startsWith(around === "" ? "" : `${around}.`)
    ? "which does not come before it"
    : `which is inside ${quote(around)} and seen there only`;
}

/** Exports keep their names, and a global has no other: the copied input would mean the node. */
function checkGlobals(workflow: WorkflowPlan): Diagnostic[] {
  const { input, name } = workflow;
  if (input.kind !== "copy") return [];
  return generatedFunctions(workflow)
    .filter((generated) => input.globals.includes(generated.name))
    .map((generated) => {
      const message = `the input of workflow ${quote(name)} uses the global ${generated.name}, which ${generated.label} hides in generated code`;
      const hint = "rename the node, or export the input as a const and write `input: thatConst`";
      return diagnostic("hiddenGlobal", generated.stage.place, message, hint);
    });
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

/**
 * A run goes through one case, all branches, and at least once through the body of a loop. It may
 * have ended before what comes after an `.end`.
 */
function sureChildren(
  nodes: readonly NodePlan[],
  byName: ReadonlyMap<string, WorkflowPlan>,
): { readonly node: NodePlan; readonly starts: WorkflowPlan }[] {
  const last = nodes.findIndex(mayEnd);
  return (last < 0 ? nodes : nodes.slice(0, last + 1)).flatMap((node) => {
    const { stages, bodies = [] } = node;
    if (isLoop(node) || hasBranches(node))
      return bodies.flatMap((body) => sureChildren(body.nodes, byName));
    const names = startsOne(node)
      ? (stages[0]?.workflows ?? []).slice(0, 1)
      : stages.flatMap(({ startsAlways = [] }) => startsAlways);
    return names.flatMap((name) => {
      const starts = byName.get(name);
      return starts === undefined ? [] : [{ node, starts }];
    });
  });
}

/** Says whether a run may end in a node: in a branch of its own, an `.end` ends only that. */
const mayEnd = (node: NodePlan): boolean =>
  endsRun(node) ||
  ((hasCases(node) || isLoop(node)) &&
    (node.bodies ?? []).some(({ nodes, hasUnreadNodes }) => hasUnreadNodes || nodes.some(mayEnd)));

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

/** Names that are none, and nodes that are to stand in others. */
export function checkRenamings(workflow: WorkflowPlan): Diagnostic[] {
  const all = allNodes(workflow.nodes);
  const paths = new Set(
    [...all, ...all.flatMap(({ bodies = [] }) => bodies)].map((each) => each.path),
  );
  return workflow.renamings.flatMap((renaming) => checkRenaming(renaming, paths, workflow));
}

function checkRenaming(
  { old, now, place }: Renaming,
  paths: ReadonlySet<string>,
  { name, renamings, hasUnknownNames, hasUnreadNodes }: WorkflowPlan,
): Diagnostic[] {
  const report = (what: string, hint: string) => {
    const message = `\`renamed\` of workflow ${quote(name)} maps ${quote(old)} to ${quote(now)}, which ${what}`;
    return [diagnostic("unusableRenaming", place, message, hint)];
  };
  // The new name may be one that was changed again.
  const there = [...reachable(now, renamings)].filter((path) => paths.has(path));
  if (there.length === 0) {
    if (hasUnknownNames || hasUnreadNodes) return [];
    const hint = meant(now, paths, `what is there: ${[...paths].join(", ")}`, quote);
    return report("is not there", hint);
  }
  const around = reachable(parentOf(old), renamings);
  if (there.some((path) => around.has(parentOf(path)))) return [];
  const hint = "a run can follow a node to another name, but not into or out of another node";
  return report("stands elsewhere", hint);
}

const parentOf = (path: string): string => namesInPath(path).slice(0, -1).join(".");

/** A path, and all that it may be called by now: by its own name or that of a node around it. */
function reachable(path: string, renamings: readonly Renaming[]): ReadonlySet<string> {
  const all = new Set([path]);
  for (const each of all)
    for (const { old, now } of renamings)
      if ((each === old || each.startsWith(`${old}.`)) && depthOf(old) === depthOf(now))
        all.add(now + each.slice(old.length));
  return all;
}

const depthOf = (path: string): number => namesInPath(path).length;
