import { diagnostic, type Diagnostic, type Place, quote } from "../diagnostics/diagnostic.js";
import { allLines, allNodes, functionsOfNode } from "../plan/flow.js";
import type { NodePlan, ProjectPlan, WorkflowPlan } from "../plan/schema.js";

interface Named {
  readonly name: string;
  readonly place: Place;
}

export function checkDuplicateWorkflows(workflows: ProjectPlan["workflows"]): Diagnostic[] {
  // Names that differ only in case are one file on macOS and Windows, and one interface.
  return repeated(workflows, (workflow) => workflow.name.toLowerCase()).map(([first, second]) => {
    const message = duplicateWorkflow(first, second);
    const hint = "rename one: a workflow is known by its name in the whole app";
    const other = { message: "the other one", place: first.place };
    return diagnostic("duplicateWorkflow", second.place, message, hint, other);
  });
}

/** Two of one name in a workflow; both places are shown. */
export const checkDuplicates = (workflow: WorkflowPlan): Diagnostic[] => [
  ...allLines(workflow.nodes).flatMap((line) => checkLine(workflow, line)),
  ...checkHidden(workflow.nodes),
  ...checkFunctions(workflow),
];

function duplicateWorkflow(first: WorkflowPlan, second: WorkflowPlan): string {
  const quoted = quote(second.name);
  if (first.name === second.name) return `there are two workflows named ${quoted}`;
  return `the workflows ${quote(first.name)} and ${quoted} differ in case only, which file systems do not tell apart`;
}

/** Nodes of one line. A second finalize has no name to change: it is a node after the first. */
function checkLine(workflow: WorkflowPlan, line: readonly NodePlan[]): Diagnostic[] {
  const named = line.filter((node) => node.isNamed);
  return repeated(named, (node) => node.name)
    .filter(([, { name }]) => name !== "")
    .map(([first, second]) => {
      const message = `workflow ${quote(workflow.name)} has two nodes named ${quote(second.name)}`;
      const hint = "rename one: handlers see the outputs of earlier nodes by their names";
      const other = { message: "the first one", place: first.place };
      return diagnostic("duplicateNode", second.place, message, hint, other);
    });
}

/** A node inside another, named like one before the other: a read could mean either. */
function checkHidden(
  nodes: readonly NodePlan[],
  around: ReadonlyMap<string, NodePlan> = new Map(),
  within = "",
): Diagnostic[] {
  const before = new Map(around);
  return nodes.flatMap((node) => {
    const outer = around.get(node.name);
    const inner = (node.bodies ?? []).flatMap((body) =>
      checkHidden(body.nodes, before, body.label),
    );
    if (node.name !== "") before.set(node.name, before.get(node.name) ?? node);
    if (outer === undefined) return inner;
    const message = `${within} has a node named ${quote(node.name)}, as one before it is`;
    const hint =
      isEvent(node) && isEvent(outer)
        ? waitAgain(node.name)
        : "rename one: what reads that name could mean either";
    const other = { message: "the other one", place: outer.place };
    return [diagnostic("hiddenName", node.place, message, hint, other), ...inner];
  });
}

const isEvent = ({ kind }: NodePlan): boolean => kind === "event";

const waitAgain = (name: string): string =>
  `give one a name of its own, and wait for the same event with anyOf: \`.event("${name}Again", { anyOf: { ${name}: schema } })\``;

/** Two stages that would be compiled to functions of one name. */
export function checkFunctions(workflow: WorkflowPlan): Diagnostic[] {
  // Nodes of one name have been reported; their functions would only repeat it.
  const all = allNodes(workflow.nodes).toReversed();
  const nodes = [...new Map(all.map((node) => [node.path, node])).values()].reverse();
  const functions = nodes.flatMap((node) =>
    functionsOfNode(node).map((generated) => ({ ...generated, place: node.place })),
  );
  return repeated(functions, ({ name }) => name).map(([first, second]) => {
    const message = `in workflow ${quote(workflow.name)} both ${first.label} and ${second.label} would be compiled to a function named ${second.name}`;
    const hint = "rename one of the nodes";
    const other = { message: first.label, place: first.place };
    return diagnostic("functionCollision", second.place, message, hint, other);
  });
}

/** Each item whose key an earlier one has, with the first that has it. */
function repeated<Item extends Named>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): [Item, Item][] {
  const seen = new Map<string, Item>();
  return items.flatMap((item): [Item, Item][] => {
    const first = seen.get(keyOf(item));
    if (first !== undefined) return [[first, item]];
    seen.set(keyOf(item), item);
    return [];
  });
}
