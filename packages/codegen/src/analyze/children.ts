import { quote } from "../diagnostics/diagnostic.js";
import { type Node, ts, type TypeScript } from "../typescript.js";
import type { DefinitionFile } from "./parser.js";
import { constantOf, type FunctionNode, functionOf, readOption } from "./functions.js";
import { partsOf, returnedBy, unwrap, wrapping } from "./functions.js";
import { heldBy, isScalar, knownValue, objectOf, staysAsItIs } from "./known.js";
import {
  isAssigned,
  isDeclaredInFile,
  isHidden,
  referencesIn,
  usesOf,
  variablesIn,
} from "./scoping.js";
import { isImported, localNamesOf } from "./modules.js";
import { calleeName, callsIn } from "./descendants.js";
import { moduleOf } from "./tokens.js";
import type { Target, Workflows } from "./workflows.js";

/** What the children of a parent are runs of. */
interface Children {
  /** The workflows of all `child(…)` calls, sorted; undefined if there may be others. */
  readonly workflows: string[] | undefined;
  /** The ones that each run starts: their calls stand in the list or record it returns. */
  readonly startsAlways: string[];
}

/** The workflows of a function's `child(…)` calls. */
export function childWorkflows(fn: FunctionNode, file: DefinitionFile, known: Workflows): Children {
  const found = new Set<string>();
  const always = new Set<string>();
  const calls = new Set<Node>();
  let all = false;
  const names = new Set(makers.flatMap((name) => [name, ...localNamesOf(file.imports, name)]));
  for (const call of callsIn(fn)) {
    const { expression: callee } = call;
    if (!names.has(calleeName(call) ?? "")) continue;
    const isNamed = isImported(callee, file.imports, "childNamed");
    if (!isNamed && !isImported(callee, file.imports, "child")) continue;
    calls.add(call);
    const [argument] = call.arguments;
    const resolved = argument && (isNamed ? childNamed : workflowOf)(argument, file, known);
    if (resolved === "reported") continue;
    if (resolved === undefined) all = true;
    else {
      found.add(resolved.workflow);
      if (isReturned(call, fn)) always.add(resolved.workflow);
    }
  }
  const isWhole = !all && found.size > 0 && !mayGetOthers(fn, calls, file);
  return { workflows: isWhole ? [...found].sort() : undefined, startsAlways: [...always] };
}

/** Says whether a call stands in the literal list or record that a function returns. */
function isReturned(call: Node, fn: FunctionNode): boolean {
  const returned = returnedBy(fn);
  const { parent } = wrapping(call);
  const around = ts.isPropertyAssignment(parent) ? parent.parent : parent;
  if (!ts.isArrayLiteralExpression(around) && !ts.isObjectLiteralExpression(around)) return false;
  return returned !== undefined && unwrap(returned) === around;
}

const makers = ["child", "childNamed"];

/** Says whether a name in a function, besides its calls of `child`, may hold or give children. */
function mayGetOthers(
  fn: Node,
  calls: ReadonlySet<Node>,
  file: DefinitionFile,
  seen = new Set<Node>(),
): boolean {
  seen.add(fn);
  const isAside = (around: Node) => calls.has(around) || ts.isTypeNode(around);
  return referencesIn(fn).some((id) => {
    if (ts.findAncestor(id.parent, isAside) !== undefined) return false;
    const name = id.text;
    const imported = file.imports.get(name);
    // A package knows no workflow of the app.
    if (imported !== undefined) return !file.modules.isPackage(imported.module, file.file);
    const called = functionOf(id, file);
    if (called !== undefined)
      return !seen.has(called) && mayGetOthers(called, new Set(), file, seen);
    return isDeclaredInFile(name, file) && !isHeldData(id, file);
  });
}

/** Says whether a variable begins with literals only, and keeps to them. */
function isHeldData(id: TypeScript.Identifier, file: DefinitionFile): boolean {
  const initializer = variablesIn(file.source).get(id.text)?.initializer;
  const held = initializer && unwrap(initializer);
  if (held === undefined || !isData(held, file)) return false;
  if (ts.isObjectLiteralExpression(held)) return objectOf(id, file) !== undefined;
  return !ts.isArrayLiteralExpression(held) || usesOf(id.text, file.source).every(isRead);
}

/** Says whether a use of a list only reads what is in it. */
const isRead = ({ parent }: Node): boolean =>
  ts.isSpreadElement(parent) ||
  ts.isForOfStatement(parent) ||
  (ts.isElementAccessExpression(parent) && !isAssigned(parent)) ||
  (ts.isPropertyAccessExpression(parent) && readers.has(parent.name.text));

const readers: ReadonlySet<string> = new Set(
  "length at entries every filter find flatMap forEach includes indexOf join keys map slice some values".split(
    " ",
  ),
);

/**
 * Says whether an expression has only literals. An empty list or object may be filled elsewhere.
 */
function isData(expression: Node | undefined, file: DefinitionFile): boolean {
  const node = expression && unwrap(expression);
  if (node === undefined) return false;
  if (ts.isArrayLiteralExpression(node))
    return node.elements.length > 0 && node.elements.every((each) => isData(each, file));
  if (ts.isObjectLiteralExpression(node)) {
    const fields = node.properties.map((each) => {
      return ts.isPropertyAssignment(each) ? each.initializer : undefined;
    });
    return fields.length > 0 && fields.every((each) => isData(each, file));
  }
  return isScalar(knownValue(node, file));
}

type Resolved = { workflow: string } | "reported" | undefined;

/** The workflow of a `.child(name, workflow, args)`; undefined, and reported, if it is not seen. */
export function childWorkflow(
  argument: Node,
  label: string,
  file: DefinitionFile,
  known: Workflows,
): string | undefined {
  const resolved = workflowOf(argument, file, known) ?? heldWorkflow(argument, file, known);
  if (resolved === undefined) {
    const message = `the workflow of ${label} cannot be seen here`;
    const hint =
      "name a workflow of this file, or one that is imported from a *.workflow.ts file of this app; one that is chosen when it runs needs a parent: `.parent(name, { children: (scope) => [child(chosen, { … })] })`";
    file.report("unknownChild", argument, message, hint);
  }
  return typeof resolved === "object" ? resolved.workflow : undefined;
}

/** The workflow that an expression stands for. If something changes it, the run time says so. */
function heldWorkflow(argument: Node, file: DefinitionFile, known: Workflows): Resolved {
  const held = heldBy(argument, file, file.modules);
  const holder = held && wrapping(held.node).parent;
  if (!holder || !ts.isVariableDeclaration(holder) || !ts.isIdentifier(holder.name))
    return undefined;
  const { unread, workflow = unread } = known.lookUp({
    from: held.module.file,
    name: holder.name.text,
  });
  return workflow === undefined ? undefined : { workflow };
}

function workflowOf(argument: Node, file: DefinitionFile, known: Workflows): Resolved {
  const target = targetOf(unwrap(argument), file);
  if (target === undefined) return undefined;
  const { unread, workflow = unread, endsInDefinition } = known.lookUp(target);
  if (workflow !== undefined) return { workflow };
  // A name of this file that is no definition may still hold one; another file's cannot.
  const isMissing = target.module !== undefined && endsInDefinition;
  if (!isMissing && !isUndeclared(unwrap(argument), file)) return undefined;
  return reportUnknown(argument, target.name, file, known);
}

/**
 * Says whether a name is neither imported, nor declared at the top of the file or around its use.
 */
function isUndeclared(node: Node, file: DefinitionFile): boolean {
  if (!ts.isIdentifier(node) || isHidden(node)) return false;
  return !file.imports.has(node.text) && !isDeclaredInFile(node.text, file);
}

/** Members of members, and consts of consts. One that stands for itself stands for nothing. */
const maxLinks = 20;

/** The file and exported name that an expression stands for, if local or from a file of the app. */
export function targetOf(node: Node, file: DefinitionFile, links = 0): Target | undefined {
  const [root, member] = partsOf(node);
  if (root === undefined || links > maxLinks) return undefined;
  const isName = ts.isIdentifier(root) && !isHidden(root);
  const from = isName ? file.imports.get(root.text) : undefined;
  if (from !== undefined && (member !== undefined) === (from.imported === "*"))
    return { from: file.file, module: from.module, name: member ?? from.imported };
  if (member !== undefined) return memberOf(root, member, file, links);
  if (!isName || from !== undefined) return undefined;
  // `const other = workflow` and `import other = flows.workflow` are the workflow.
  const held = constantOf(root, file) ?? aliased(root.text, file);
  if (held === undefined || partsOf(held)[0] === undefined)
    return { from: file.file, name: root.text };
  return targetOf(held, file, links + 1);
}

/** Returns what `import name = flows.base` gives a name to. */
function aliased(name: string, file: DefinitionFile): Node | undefined {
  const value = moduleOf(file).declared(name);
  return value && ts.isImportEqualsDeclaration(value.parent) ? value : undefined;
}

/**
 * Returns what an object or a whole module has under a name, in whichever file of the app it is.
 */
function memberOf(of: Node, name: string, file: DefinitionFile, links: number) {
  const found = file.modules.member(name, of, moduleOf(file));
  const holder = found ? found.node.parent : undefined;
  if (found && holder && ts.isVariableDeclaration(holder) && ts.isIdentifier(holder.name))
    return { from: found.module.file, name: holder.name.text };
  const held = heldBy(of, file, file.modules);
  if (held === undefined || !ts.isObjectLiteralExpression(held.node)) return undefined;
  if (held.without?.includes(name)) return undefined;
  if (!staysAsItIs(held.node, held.module)) return undefined;
  const options = held.node.properties.map((each) => readOption(each));
  const option = options.findLast((each) => each === undefined || each.name === name);
  const value =
    option && (ts.isGetAccessor(option.value) ? returnedBy(option.value) : option.value);
  return value && targetOf(unwrap(value), file.of(held.module), links + 1);
}

function childNamed(argument: Node, file: DefinitionFile, known: Workflows): Resolved {
  const workflow = knownValue(argument, file);
  if (typeof workflow !== "string") return undefined;
  return known.has(workflow) ? { workflow } : reportUnknown(argument, workflow, file, known);
}

function reportUnknown(at: Node, name: string, file: DefinitionFile, known: Workflows): "reported" {
  const near = known.nearest(name);
  const message = `there is no workflow ${quote(name)} to start as a child`;
  let hint = "a child is a workflow exported from a *.workflow.ts file of this app";
  if (near !== undefined) hint = `did you mean ${quote(near)}?`;
  if (near === name) hint = `${quote(near)} is a workflow of another file: correct the import`;
  file.report("unknownChild", at, message, hint);
  return "reported";
}
