import { quote } from "../diagnostics/diagnostic.js";
import { allNodes } from "../plan/flow.js";
import { withoutOnEnd } from "../plan/on-end.js";
import type { WrittenPlan } from "../plan/schema.js";
import { endsRun, isLoop, makesNothing, startsWorkflows } from "../plan/stage-kinds.js";
import { storedAs } from "../plan/workflow-names.js";
import { type Change, joined, type LinePair, type NodeThen, placed } from "./lines.js";
import type { WorkflowThen } from "./lines.js";
import { readersAfter } from "./readers.js";
import { renamesOf, sameCode } from "./renames.js";

/* What has ended keeps its output, though another node would make that now. */

/** Returns the nodes whose output is made by another of those inside them. */
export function otherOutputs(line: LinePair): Omit<Change, "workflow">[] {
  const { before, now } = line;
  return now.flatMap((node, at) => {
    const old = before.find(({ stored }) => stored === node.stored);
    if (old === undefined || !isInsideOther(old.node, node.node)) return [];
    const readers = readersAfter(at + 1, node, line);
    const [what, begun] = isLoop(node.node)
      ? ["state", ["an iteration that has begun keeps the state that it has"]]
      : ["output", []];
    if (begun.length + readers.length === 0) return [];
    const past = readers.length === 0 ? [] : [`in runs that are past it, ${getting(readers)}`];
    const message = `another node makes its ${what} now: ${[...begun, ...past].join("; ")}`;
    const hint = readers.length === 0 ? {} : { hint: takeBoth(readers) };
    return [{ node: node.path, compatibility: "safe", message, ...hint } as const];
  });
}

/** Returns who started runs of a workflow as children, and does, if another node makes its output. */
export function otherResults(
  old: WorkflowThen,
  workflow: WorkflowThen,
  before: WrittenPlan,
  now: WrittenPlan,
): Change[] {
  if (!isOther(withoutOnEnd(old.nodes), withoutOnEnd(workflow.nodes))) return [];
  // One that is new has no children that have ended.
  const known = new Set(startersOf(old, before).map(({ stored }) => stored));
  const parents = startersOf(workflow, now).flatMap(({ stored, called }) =>
    known.has(stored) ? [called] : [],
  );
  if (parents.length === 0) return [];
  const message = `another node makes its output now: of children that have ended, ${getting(parents)}`;
  return [{ workflow: workflow.name, compatibility: "safe", message, hint: takeBoth(parents) }];
}

/** The nodes that start runs of a workflow, in all workflows of its plan. */
const startersOf = ({ name }: WorkflowThen, { workflows }: WrittenPlan) =>
  workflows.flatMap((parent) =>
    allNodes(parent.nodes)
      .filter((node) => startsWorkflows(node) && mayStart(node, name))
      .map((node) => ({
        stored: joined(storedAs(parent), storedAs(node)),
        called: `${quote(node.name)} of ${parent.name}`,
      })),
  );

const mayStart = ({ stages }: NodeThen, workflow: string): boolean =>
  stages.some(({ workflows }) => workflows?.includes(workflow) === true);

const getting = (readers: readonly string[]): string =>
  `${readers.join(" and ")} ${readers.length === 1 ? "gets" : "get"} what the one before gave`;

const takeBoth = (readers: readonly string[]): string =>
  `let ${readers.join(" and ")} take both until none is left`;

/** Says whether another node makes the output of nodes that stand one after another. */
function isOther(before: readonly NodeThen[], now: readonly NodeThen[]): boolean {
  if ([before, now].some((nodes) => nodes.some(endsRun))) return false;
  const [was, is] = [before, now].map((nodes) => nodes.findLast((node) => !makesNothing(node)));
  if (was === undefined || is === undefined) return was !== is;
  if (storedAs(was) === storedAs(is)) return isInsideOther(was, is);
  const line = (nodes: readonly NodeThen[]) => nodes.map((node) => placed(node, ""));
  const renames = sameCode(renamesOf({ before: line(before), now: line(now) }));
  return ![...renames].some(([gone, added]) => gone.node === was && added.node === is);
}

const isInsideOther = (before: NodeThen, now: NodeThen): boolean =>
  (now.bodies ?? []).some(({ key, storage = key, nodes }) => {
    const old = before.bodies?.find((each) => (each.storage ?? each.key) === storage);
    return old !== undefined && isOther(old.nodes, nodes);
  });
