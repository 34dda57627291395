import { diagnostic, type Diagnostic, type Place, quote } from "../diagnostics/diagnostic.js";
import type { CodeName } from "../diagnostics/codes.js";
import { allNodes, capitalized, functionsOfNode } from "../plan/flow.js";
import { maxPathSegment } from "../plan/paths.js";
import type { WorkflowPlan } from "../plan/schema.js";

/** Words that cannot name an exported const, and globals that a module cannot declare. */
const reservedWords = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends false " +
    "finally for function if implements import in instanceof interface let new null package private protected public return " +
    "static super switch this throw true try typeof var void while with yield undefined NaN Infinity globalThis exports require module"
  ).split(" "),
);

/** Members that every object has: a field of such a name would be found where there is none. */
const builtInMembers = new Set(Object.getOwnPropertyNames(Object.prototype));

/** Names of a scope, and of what every generated file exports. */
const reservedForNodes =
  "children compensate error finalize input loop output reference resume run".split(" ");

/** Names of other generated files; Convex takes `schema` in any folder for a table schema. */
const reservedForWorkflows = "api index plan schema workflows".split(" ");

/** Names become names of files, exports and fields: each must be one that all of these accept. */
export const checkNames = (workflow: WorkflowPlan): Diagnostic[] => [
  ...checkName(workflow.name, "workflow", workflow.place),
  ...checkLength(`${workflow.name}.js`, `workflow ${quote(workflow.name)}`, "file", workflow.place),
  ...allNodes(workflow.nodes).flatMap((node) => [
    ...(node.isNamed ? checkName(node.name, "node", node.place) : []),
    ...(node.bodies ?? []).flatMap(({ key, place }) => checkName(key, "case", place)),
  ]),
  ...checkFunctionLengths(workflow),
];

function checkName(name: string, what: "workflow" | "node" | "case", place: Place): Diagnostic[] {
  const [code, message, hint] = problemOf(name, what) ?? [];
  return code === undefined || message === undefined
    ? []
    : [diagnostic(code, place, message, hint)];
}

type Problem = readonly [code: CodeName, message: string, hint: string];

function problemOf(name: string, what: "workflow" | "node" | "case"): Problem | undefined {
  const quoted = quote(name);
  if (name === "")
    return ["emptyName", `the name of a ${what} is empty`, "name it after what it does"];
  // Functions and records are named after it; a Convex field may not begin with _ or $.
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) {
    const hint = `use letters, digits and _, with a letter first${suggestion(name)}`;
    return ["notAnIdentifier", `${quoted} cannot be the name of a ${what}`, hint];
  }
  if (what === "case") return undefined;
  if (reservedWords.has(name)) {
    const message = `${quoted} is a reserved word of JavaScript, so it cannot be the name of a ${what}`;
    return ["reservedWord", message, `choose another name, such as "${name}It"`];
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
  const [first = "", ...rest] = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const text = [first, ...rest.map(capitalized)].join("").replace(/^\d+/, "");
  return text === "" ? "" : `: ${quote(text.slice(0, 1).toLowerCase() + text.slice(1))}`;
}

export function checkFunctionLengths(workflow: WorkflowPlan): Diagnostic[] {
  // A node has several functions; the longest of them says it all.
  return allNodes(workflow.nodes).flatMap((node) => {
    const names = functionsOfNode(node).map(({ name }) => name);
    const [longest] = names.sort((a, b) => b.length - a.length);
    return longest === undefined
      ? []
      : checkLength(longest, `node ${quote(node.path)}`, "function", node.place);
  });
}

function checkLength(generated: string, what: string, kind: string, place: Place): Diagnostic[] {
  const excess = generated.length - maxPathSegment;
  if (excess <= 0) return [];
  const message = `${what} needs a ${kind} named ${generated}, of ${generated.length} characters; Convex allows ${maxPathSegment}`;
  return [diagnostic("nameTooLong", place, message, `shorten the name by ${excess} or more`)];
}
