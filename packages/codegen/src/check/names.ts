import { diagnostic, type Diagnostic, type Place } from "../diagnostics/diagnostic.js";
import { allNodes } from "../plan/flow.js";
import { functionsOfNode } from "../plan/functions.js";
import { maxPathSegment } from "../plan/paths.js";
import type { ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { isBuiltInMember, isReservedWord } from "./reserved.js";

/** A generated file with such an export could not be loaded. */
const thenable = "then";

/** Names of a scope, and of what every generated file exports. */
const reservedForNodes = new Set([
  "input",
  "output",
  "children",
  "loop",
  "error",
  "run",
  "resume",
  "reference",
  "finalize",
  "compensate",
]);

/** The names of other generated files; and that of a file which Convex deploys in no folder, as it takes it for a schema of tables. */
const reservedForWorkflows = new Set(["index", "api", "plan", "schema", "workflows"]);

/** Names become names of files, exports and fields: each must be one that all of these accept. */
export function checkNames({ workflows }: ProjectPlan): Diagnostic[] {
  return workflows.flatMap((workflow) => [
    ...checkName(workflow.name, "workflow", workflow.place, reservedForWorkflows),
    ...checkLength(
      `${workflow.name}.js`,
      `workflow ${JSON.stringify(workflow.name)}`,
      "file",
      workflow.place,
    ),
    ...allNodes(workflow.nodes).flatMap((node) => [
      ...(node.isNamed ? checkName(node.name, "node", node.place, reservedForNodes) : []),
      ...(node.bodies ?? []).flatMap(({ key, place }) => checkIdentifier(key, "case", place)),
    ]),
    ...checkFunctionLengths(workflow),
  ]);
}

/** Functions and records are named after it, and a field of a Convex object may not begin with _ or $. */
function checkIdentifier(name: string, what: string, place: Place): Diagnostic[] {
  const quoted = JSON.stringify(name);
  if (name === "") {
    const message = `the name of a ${what} is empty`;
    const hint = "name it after what it does";
    return [diagnostic("emptyName", place, message, hint)];
  }
  if (/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) return [];
  const message = `${quoted} cannot be the name of a ${what}`;
  const hint = `use letters, digits and _, with a letter first${suggestion(name)}`;
  return [diagnostic("notAnIdentifier", place, message, hint)];
}

function checkName(
  name: string,
  what: string,
  place: Place,
  reserved: ReadonlySet<string>,
): Diagnostic[] {
  const quoted = JSON.stringify(name);
  const unusable = checkIdentifier(name, what, place);
  if (unusable.length > 0) return unusable;
  if (isReservedWord(name)) {
    const message = `${quoted} is a reserved word of JavaScript, so it cannot be the name of a ${what}`;
    const hint = `choose another name, such as "${name}It"`;
    return [diagnostic("reservedWord", place, message, hint)];
  }
  // A workflow's name is that of a file too, and macOS and Windows do not tell files apart by case.
  const isReserved = reserved.has(reserved === reservedForWorkflows ? name.toLowerCase() : name);
  if (isReserved || isBuiltInMember(name) || name === thenable) {
    const names = [...reserved].sort().join(", ");
    const message = `${quoted} is reserved, so it cannot be the name of a ${what}`;
    const hint =
      name === thenable
        ? "a module that exports a function of this name is taken for a promise when it is imported"
        : isBuiltInMember(name)
          ? "every JavaScript object has a member of this name"
          : `reserved are ${names}`;
    return [diagnostic("reservedName", place, message, hint)];
  }
  return [];
}

/** An identifier near to a name that is none. */
function suggestion(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const joined = words
    .map((word, index) => (index === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1)))
    .join("");
  const start = joined.replace(/^\d+/, "");
  return start === ""
    ? ""
    : `: ${JSON.stringify(start.slice(0, 1).toLowerCase() + start.slice(1))}`;
}

/** Functions whose names Convex would refuse. */
export function checkFunctionLengths(workflow: WorkflowPlan): Diagnostic[] {
  // A node has several functions; the longest of them says it all.
  return allNodes(workflow.nodes).flatMap((node) => {
    const longest = functionsOfNode(node)
      .toSorted((a, b) => b.name.length - a.name.length)
      .at(0);
    if (longest === undefined) return [];
    return checkLength(longest.name, `node ${JSON.stringify(node.path)}`, "function", node.place);
  });
}

function checkLength(generated: string, what: string, kind: string, place: Place): Diagnostic[] {
  const excess = generated.length - maxPathSegment;
  if (excess <= 0) return [];
  const message = `${what} needs a ${kind} named ${generated}, of ${generated.length} characters; Convex allows ${maxPathSegment}`;
  const hint = `shorten the name by ${excess} or more`;
  return [diagnostic("nameTooLong", place, message, hint)];
}
