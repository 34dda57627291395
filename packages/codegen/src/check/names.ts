import type { CodeName } from "../diagnostics/codes.js";
import { diagnostic, type Diagnostic, type Place, quote } from "../diagnostics/diagnostic.js";
import { allLines, allNodes, functionsOfNode } from "../plan/flow.js";
import { maxPathSegment } from "../plan/paths.js";
import {
  capitalized,
  reservedForNodes,
  reservedForWorkflows,
  reservedWords,
} from "../plan/names.js";
import { isOnEnd } from "../plan/on-end.js";
import type { NodePlan, ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { type Earlier, isIdentifier } from "../plan/storage-names.js";
import { neededByTombstones, takenFrom } from "../plan/tombstones.js";
import { storedAs } from "../plan/workflow-names.js";
import { planHash } from "../plan/write.js";
import { takesEvents } from "../plan/stage-kinds.js";

/** Members that every object has: a field of such a name would be found where there is none. */
const builtInMembers = new Set(Object.getOwnPropertyNames(Object.prototype));

/** Names become names of files, exports and fields: each must be one that all of these accept. */
export const checkNames = (workflow: WorkflowPlan): Diagnostic[] => [
  ...checkName(workflow.name, "workflow", workflow.place),
  ...checkLength(`${workflow.name}.js`, `workflow ${quote(workflow.name)}`, "file", workflow.place),
  ...allNodes(workflow.nodes).flatMap((node) => [
    ...(node.isNamed ? checkName(node.name, "node", node.place) : []),
    ...(node.bodies ?? []).flatMap(({ key, place }) => checkKey(key, place, node)),
  ]),
];

function checkName(name: string, what: "workflow" | "node", place: Place): Diagnostic[] {
  const problem = problemOf(name, what);
  if (problem === undefined) return [];
  const [code, message, hint] = problem;
  return [diagnostic(code, place, message, hint)];
}

/** The key of a case is any text that a path can have in it, and that of a branch a field. */
function checkKey(key: string, place: Place, node: NodePlan): Diagnostic[] {
  if (/^"|"\./.test(key)) {
    const message = `${quote(key)} cannot be the key of a case or a branch: in a path, quotes stand around a key`;
    return [diagnostic("notAnIdentifier", place, message, "choose another text, or use `default`")];
  }
  const isField = node.kind === "parallel" && node.stages[0]?.reduce !== true;
  if (!isField || /^[ -#%-~][ -~]*$/.test(key)) return [];
  const message = `the output of ${node.kind} ${quote(node.path)} cannot have a field ${quote(key)}: a name must not be empty, begin with $, or hold other characters than ASCII`;
  return [diagnostic("notAnIdentifier", place, message, "choose another key for the branch")];
}

type Problem = readonly [code: CodeName, message: string, hint: string];

function problemOf(name: string, what: "workflow" | "node"): Problem | undefined {
  const quoted = quote(name);
  if (name === "")
    return ["notAnIdentifier", `the name of a ${what} is empty`, "name it after what it does"];
  // Functions and records are named after it; a Convex field may not begin with _ or $.
  if (!isIdentifier(name)) {
    const hint = `use letters, digits and _, with a letter first${suggestion(name)}`;
    return ["notAnIdentifier", `${quoted} cannot be the name of a ${what}`, hint];
  }
  if (reservedWords.has(name)) {
    const message = `${quoted} is a reserved word of JavaScript, so it cannot be the name of a ${what}`;
    return ["reservedName", message, `choose another name, such as "${name}It"`];
  }
  const reserved = what === "node" ? reservedForNodes : reservedForWorkflows;
  // A workflow's name is that of a file too, and macOS and Windows do not tell files apart by case.
  const isReserved = reserved.includes(what === "node" ? name : name.toLowerCase());
  const message = `${quoted} is reserved, so it cannot be the name of a ${what}`;
  if (name === "then") {
    const hint =
      "a module that exports a function of this name is taken for a promise when it is imported";
    return ["reservedName", message, hint];
  }
  if (builtInMembers.has(name))
    return ["reservedName", message, "every JavaScript object has a member of this name"];
  return isReserved ? ["reservedName", message, `reserved are ${reserved.join(", ")}`] : undefined;
}

/** An identifier near to a name that is none. */
function suggestion(name: string): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").replaceAll("ß", "ss");
  // Without its other letters nobody would know it.
  if (/[^A-Za-z]/.test(plain.replace(/\P{L}/gu, ""))) return "";
  const [first = "", ...rest] = plain.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const text = [first, ...rest.map(capitalized)].join("").replace(/^\d+/, "");
  return text === "" ? "" : `: ${quote(text.slice(0, 1).toLowerCase() + text.slice(1))}`;
}

function checkFunctionLengths(workflow: WorkflowPlan): Diagnostic[] {
  // A node has several functions; the longest of them says it all.
  return allNodes(workflow.nodes).flatMap((node) => {
    const names = functionsOfNode(node).map(({ name }) => name);
    const [longest = ""] = names.sort((a, b) => b.length - a.length);
    return checkLength(longest, `node ${quote(node.path)}`, "function", node.place);
  });
}

function checkLength(generated: string, what: string, kind: string, place: Place): Diagnostic[] {
  const excess = generated.length - maxPathSegment;
  if (excess <= 0) return [];
  const message = `${what} needs a ${kind} named ${generated}, of ${generated.length} characters; Convex allows ${maxPathSegment}`;
  return [diagnostic("nameTooLong", place, message, `shorten the name by ${excess} or more`)];
}

export function checkDuplicateWorkflows(workflows: ProjectPlan["workflows"]): Diagnostic[] {
  // Names that differ only in case are one file on macOS and Windows, and one interface.
  return repeated(workflows, (workflow) => workflow.name.toLowerCase()).map(([first, second]) => {
    const quoted = quote(second.name);
    const message =
      first.name === second.name
        ? `there are two workflows named ${quoted}`
        : `the workflows ${quote(first.name)} and ${quoted} differ in case only, which file systems do not tell apart`;
    const hint = "rename one: a workflow is known by its name in the whole app";
    const other = { message: "the other one", place: first.place };
    return diagnostic("duplicateWorkflow", second.place, message, hint, other);
  });
}

export const checkDuplicates = (workflow: WorkflowPlan): Diagnostic[] => [
  ...allLines(workflow.nodes).flatMap((line) => checkLine(workflow, line)),
  ...checkHidden(workflow.nodes),
];

/** What follows from storage names, once all have one: the names of functions. */
export function checkStored(workflow: WorkflowPlan): Diagnostic[] {
  const cases = allNodes(workflow.nodes).flatMap(({ bodies = [] }) => bodies);
  if (!cases.every(({ storage, key }) => isIdentifier(storage ?? key))) return [];
  return [...checkFunctions(workflow), ...checkFunctionLengths(workflow)];
}

/**
 * A node that has a function which a tombstone needs: a run at the removed action would run it.
 * New nodes are stored under other names, but one that exists may get a stage.
 */
export function checkTombstones(workflow: WorkflowPlan, earlier: Earlier): Diagnostic[] {
  const own = storedAs(workflow);
  const last = earlier.last.flatMap(({ workflows }) =>
    workflows.filter((each) => storedAs(each) === own),
  );
  // Nothing new is in one that is the same.
  if (last.length > 0 && last.every(({ hash }) => hash === planHash(workflow))) return [];
  const needed = neededByTombstones(earlier, workflow);
  if (needed.size === 0) return [];
  const all = allNodes(last.flatMap(({ nodes }) => nodes)).flatMap(({ stages }) => stages);
  const written = new Set(all.map(({ name }) => name));
  return allNodes(workflow.nodes).flatMap((node) =>
    takenFrom(needed, functionsOfNode(node))
      .filter(({ stage }) => !written.has(stage.name))
      .slice(0, 1)
      .map(({ name, label, before }) => {
        const message = `in workflow ${quote(workflow.name)} ${label} would be compiled to a function named ${name}, which a run may call that is at the removed ${quote(before)}`;
        const hint =
          "rename the node, or deploy without it first, and run `npx workflow-codegen check --drop` when no run is at the removed one";
        return diagnostic("functionCollision", node.place, message, hint);
      }),
  );
}

/** Nodes of one line. A second finalize has no name to change: it is a node after the first. */
function checkLine(workflow: WorkflowPlan, line: readonly NodePlan[]): Diagnostic[] {
  const named = line.filter((node) => node.isNamed || isOnEnd(node));
  return repeated(named, (node) => node.name)
    .filter(([, { name }]) => name !== "")
    .map(([first, second]) => {
      const message = `workflow ${quote(workflow.name)} has two nodes named ${quote(second.name)}`;
      if (isOnEnd(second)) {
        const message = `workflow ${quote(workflow.name)} has an onEnd and a node of that name`;
        const other = { message: "the onEnd", place: second.place };
        return diagnostic("duplicateNode", first.place, message, "rename the node", other);
      }
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
    const { name } = node;
    const waitAgain = `give one a name of its own, and wait for the same event with anyOf: \`.event("${name}Again", { anyOf: { ${name}: schema } })\``;
    const areEvents = [node, outer].every(takesEvents);
    const hint = areEvents ? waitAgain : "rename one: what reads that name could mean either";
    const other = { message: "the other one", place: outer.place };
    return [diagnostic("hiddenName", node.place, message, hint, other), ...inner];
  });
}

/** Two stages that would be compiled to functions of one name. */
function checkFunctions(workflow: WorkflowPlan): Diagnostic[] {
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
function repeated<Item>(items: readonly Item[], keyOf: (item: Item) => string): [Item, Item][] {
  const seen = new Map<string, Item>();
  return items.flatMap((item): [Item, Item][] => {
    const first = seen.get(keyOf(item));
    seen.set(keyOf(item), first ?? item);
    return first === undefined ? [] : [[first, item]];
  });
}
