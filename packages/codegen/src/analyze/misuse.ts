import { type Node, ts, type TypeScript } from "../typescript.js";
import type { DefinitionFile } from "./parser.js";
import { allBelow, calleeName, callsIn } from "./descendants.js";
import { isCalled, isMember, stringOf, unwrap, wrapping } from "./functions.js";
import { isImported, localNamesOf } from "./modules.js";
import { boundNames, isDeclaredInFile, isHidden, usesOf } from "./scoping.js";
import { isInType } from "./values-used.js";
import { quote } from "../diagnostics/diagnostic.js";
import { targetOf } from "./children.js";
import type { FoundInFile } from "./definitions.js";
import { madeBy } from "./made.js";
import { nodeKinds } from "./nodes/table.js";
import type { Workflows } from "./workflows.js";

export const writeOut =
  'write `export const name = defineWorkflow({ … }).step(…)` with every node in that one chain; let what several share be a workflow of its own, which each starts with `.child("name", shared, (scope) => ({ … }))`';

const define = "defineWorkflow";
const importIt = `write \`import { ${define} } from "@stepwise/workflow"\``;
const callIt = `call it where the workflow is, as in \`export const name = ${define}({ … })\`; another name is given to it by \`import { ${define} as other }\``;

/** Reports what is made with `defineWorkflow` otherwise than by a call of it as it is imported. */
export function reportMisused(file: DefinitionFile): void {
  const { source, imports } = file;
  const names = localNamesOf(imports, define).add(define);
  const wholes = wholeModules(file);
  const found = allBelow(source).filter((part) => {
    const text = ts.isIdentifier(part) ? part.text : keyOf(part);
    if (text === undefined || !(names.has(text) || wholes.has(text)) || isInType(part))
      return false;
    const named = ownerOf(isMemberName(part) ? part.parent : part);
    if (ts.isIdentifier(named) && isHidden(named)) return false;
    return !(wholes.has(text) ? isNamed(part) : isPlain(part, file));
  });
  // Of what has lost its name, whatever is taken from it is an echo.
  const whole = found.find((part) => ts.isIdentifier(part) && wholes.has(part.text));
  for (const part of whole === undefined ? found : [whole]) {
    const [what, hint] = misuseOf(part, imports);
    file.report("misusedDefine", part, `\`${stringOf(part) ?? part.getText()}\` ${what}`, hint);
  }
}

function misuseOf(part: Node, imports: DefinitionFile["imports"]): [what: string, hint: string] {
  if (keyOf(part) !== undefined) return ["is taken by a computed name, so it is not seen", callIt];
  const isUnknown = isCalled(part) && !imports.has(part.getText());
  if (isUnknown) return ["is not imported, so this is no workflow", importIt];
  return ["is handed on, so what is made with it is not seen", callIt];
}

/** What a member of members is taken from: `scope` in `scope.loop["state"]`. */
function ownerOf(member: Node): Node {
  const node = unwrap(member);
  return isMember(node) ? ownerOf(node.expression) : node;
}

const isMemberName = (part: Node): boolean =>
  ts.isElementAccessExpression(part.parent) ||
  (ts.isPropertyAccessExpression(part.parent) && part.parent.name === part);

const keyOf = (part: Node): string | undefined =>
  ts.isElementAccessExpression(part.parent) ? stringOf(part) : undefined;

const wholeModules = ({ imports }: DefinitionFile): ReadonlySet<string> =>
  new Set(
    [...imports].flatMap(([name, { module, imported, typeOnly }]) =>
      module === "@stepwise/workflow" && /^(\*|default)$/.test(imported) && !typeOnly ? [name] : [],
    ),
  );

/**
 * Says whether a member of a module is named: `it.member`, `it["member"]`, `const { member } = it`.
 */
function isNamed(part: Node): boolean {
  const { parent } = wrapping(part);
  if (ts.isPropertyAccessExpression(parent) || ts.isImportEqualsDeclaration(parent)) return true;
  if (ts.isElementAccessExpression(parent)) return keyOf(parent.argumentExpression) !== undefined;
  if (!ts.isVariableDeclaration(parent) || !ts.isObjectBindingPattern(parent.name)) return false;
  return parent.name.elements.every(
    ({ dotDotDotToken, propertyName }) =>
      dotDotDotToken === undefined && !(propertyName && ts.isComputedPropertyName(propertyName)),
  );
}

/** Says whether it is called as it is imported, or handed on under its name. */
function isPlain(part: Node, file: DefinitionFile): boolean {
  const { parent } = part;
  const { imports } = file;
  if (ts.isExportSpecifier(parent)) return parent.name.text === define;
  if (ts.isPropertyAccessExpression(parent) && parent.name === part)
    return isImported(parent, imports, define) && isCalled(parent);
  const from = imports.get(part.getText());
  // Where one of the file's own is declared, it is looked at.
  if (from === undefined && isDeclaredInFile(define, file))
    return isCalled(part) || ts.isFunctionDeclaration(parent);
  return from?.imported === define && !from.typeOnly && isCalled(part);
}

export function reportUnseenChains(
  file: DefinitionFile,
  { locals }: FoundInFile,
  workflows: Workflows,
  isReported: boolean,
): void {
  const { source, imports } = file;
  const wholes = wholeModules(file);
  let isContinued = isReported;
  for (const part of allBelow(source)) {
    if (!ts.isPropertyAccessExpression(part) || !nodeKinds.has(part.name.text)) continue;
    const owner = unwrap(part.expression);
    const target = ts.isCallExpression(owner) ? undefined : targetOf(owner, file);
    const found = target && workflows.lookUp(target).workflow;
    if (found === undefined || (ts.isIdentifier(owner) && locals.has(owner.text))) continue;
    isContinued = true;
    const whose = target?.module === undefined ? "under another name" : "of another file";
    const message = `the chain of ${quote(owner.getText())}, a workflow ${whose}, goes on here, with .${part.name.text}(…)`;
    file.report("computedChain", owner, message, writeOut);
  }
  const roots = new Map<Node, Node>();
  for (const call of isContinued ? [] : callsIn(source)) {
    const root = rootOf(call, imports, roots);
    if (!isNode(call) || !isOutside(call, root, file)) continue;
    if (ts.isIdentifier(root) && (locals.has(root.text) || wholes.has(root.text))) continue;
    if (ts.isCallExpression(root) && isImported(root.expression, imports, define)) continue;
    const message = `this adds a node to ${quote(root.getText())}, which the compiler does not see as a workflow`;
    if (!ts.isCallExpression(root)) file.report("computedChain", root, message, writeOut);
    else file.report("misusedDefine", root, message, hintForMade(root, imports));
    return;
  }
}

/** A function of another file may be `defineWorkflow` under another name, or make workflows. */
function hintForMade(
  { expression: callee }: TypeScript.CallExpression,
  imports: DefinitionFile["imports"],
): string {
  const name = callee.getText();
  return imports.has(name)
    ? `call defineWorkflow() here, as it is imported from "@stepwise/workflow"; \`import { ${define} as ${name} }\` gives it that name`
    : writeOut;
}

/** Options that one kind of node or another has, and that hardly anything else has. */
const telling = new Set(["query", "mutation", "action", "children", "schema", "on", "body"]);

/** `base.step("name", { query })`, `base["step"](…)`, `export const a = make().sleep("b", 1)`. */
function isNode(call: TypeScript.CallExpression): boolean {
  if (!nodeKinds.has(methodOf(call) ?? "")) return false;
  const [name, value = name] = call.arguments;
  const isNamed = value !== name && stringOf(name) !== undefined;
  if (isNamed && ts.isVariableDeclaration(call.parent) && isExported(call.parent)) return true;
  return (
    value !== undefined &&
    ts.isObjectLiteralExpression(value) &&
    value.properties.some((each) => telling.has(each.name?.getText() ?? ""))
  );
}

const isExported = (declaration: TypeScript.Declaration): boolean =>
  (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) !== 0;

/**
 * Says whether it is outside functions, or in one that the file calls with what nodes are added to.
 */
function isOutside(call: Node, root: Node, file: DefinitionFile): boolean {
  const around = ts.findAncestor(call, ts.isFunctionLike);
  if (around === undefined) return true;
  const taken = around.parameters.flatMap((each) => boundNames(each.name));
  if (!ts.isIdentifier(root) || !taken.includes(root.text)) return false;
  const { parent } = around;
  if (ts.isCallExpression(parent)) return !isForNode(parent) && !isGiven(around, parent, file);
  if (ts.isMethodDeclaration(around)) return false;
  const { name } = ts.isVariableDeclaration(parent) ? parent : around;
  const uses = name && ts.isIdentifier(name) ? usesOf(name.text, file.source) : [];
  return uses.some((use) => isCalled(use) && ts.findAncestor(use, ts.isFunctionLike) === undefined);
}

/** Says whether a call adds a node, or stands in one that does: what it makes is looked at there. */
const isForNode = (call: Node): boolean =>
  ts.findAncestor(call, (part) => ts.isCallExpression(part) && isKind(part)) !== undefined;

const isKind = (call: TypeScript.CallExpression): boolean => nodeKinds.has(calleeName(call) ?? "");

/** Says whether a call gives the function that it takes: `body((b) => …)`, `Object.freeze(…)`. */
const isGiven = (fn: Node, call: Node, file: DefinitionFile): boolean =>
  madeBy({ node: call, file }).node === fn;

function methodOf({ expression: callee }: TypeScript.CallExpression): string | undefined {
  if (ts.isPropertyAccessExpression(callee)) return callee.name.text;
  return ts.isElementAccessExpression(callee) ? stringOf(callee.argumentExpression) : undefined;
}

/**
 * Returns what a chain of nodes begins with: `base`, or `make(…)`. It is the same for all in one
 * chain.
 */
function rootOf(call: Node, imports: DefinitionFile["imports"], known: Map<Node, Node>): Node {
  const links: Node[] = [];
  let root = call;
  while (!known.has(root) && ts.isCallExpression(root) && methodOf(root) !== undefined) {
    const { expression: callee } = root;
    if (!isMember(callee) || isImported(callee, imports, define)) break;
    links.push(root);
    root = unwrap(callee.expression);
  }
  const found = known.get(root) ?? root;
  for (const link of links) known.set(link, found);
  return found;
}
