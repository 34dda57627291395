import { ts, type TypeScript } from "../ts-morph.js";
import { once } from "../plan/once.js";
import { childrenOf, identifiersIn } from "./descendants.js";
import { packageIn } from "./module-file.js";
import type { Import } from "./modules.js";
import { declarationsOf, isHidden, isReference } from "./scoping.js";

/** Whether a function, which is there before its file has run, reads what may not be. */
export function readsLate(
  fn: TypeScript.Node,
  source: TypeScript.SourceFile,
  imports: ReadonlyMap<string, Import>,
): boolean {
  const late = new Set(source.statements.flatMap(lateNames).map(([name]) => name));
  for (const [name, { module, typeOnly }] of imports)
    if (!typeOnly && packageIn(module) === undefined) late.add(name);
  const read = [fn];
  for (const part of read)
    for (const id of identifiersIn(part)) {
      if (!isReference(id) || ts.isPartOfTypeNode(id) || isHidden(id)) continue;
      if (late.has(id.text)) return true;
      const value = valuesIn(source).get(id.text);
      if (value !== undefined && !read.includes(value)) read.push(value);
    }
  return false;
}

/** The names that have no value before a statement has run. A function has its value at once. */
export function lateNames(statement: TypeScript.Statement): [string, TypeScript.Node][] {
  const isLate =
    ts.isVariableStatement(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isEnumDeclaration(statement) ||
    (ts.isImportEqualsDeclaration(statement) &&
      !ts.isExternalModuleReference(statement.moduleReference));
  const isAmbient = ({ kind }: TypeScript.ModifierLike) => kind === ts.SyntaxKind.DeclareKeyword;
  if (!isLate || statement.modifiers?.some(isAmbient) === true) return [];
  return declarationsOf(statement).map(([name, node]) => [name, node.name ?? node]);
}

interface ValueUsed {
  readonly part: TypeScript.Identifier | TypeScript.CallExpression;
  /** What runs it while the file is loaded: itself, or the name of a called function around it. */
  readonly runBy: TypeScript.Node | undefined;
}

/** The names that a file uses as values, and its calls, in order. */
export function valuesUsed(source: TypeScript.SourceFile): readonly ValueUsed[] {
  // Those of the file that was searched last are kept: of all files they would take much memory.
  if (latest.source !== source) latest = { source, used: searched(source) };
  return latest.used;
}

let latest: { source?: TypeScript.SourceFile; used: readonly ValueUsed[] } = { used: [] };

function searched(source: TypeScript.SourceFile): readonly ValueUsed[] {
  const used: ValueUsed[] = [];
  const ran = new Set<TypeScript.Node>();
  type Waiting = [part: TypeScript.Node, isRun: boolean, caller?: TypeScript.Node | undefined];
  const waiting = source.statements.map((each): Waiting => [each, true]).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [part, isRun, caller] = next;
    const runBy = isRun ? (caller ?? part) : undefined;
    if (ts.isIdentifier(part) || ts.isCallExpression(part)) used.push({ part, runBy });
    for (const body of isRun ? runningIn(part) : []) {
      if (ran.has(body)) continue;
      ran.add(body);
      for (const child of usesIn(body)) waiting.push([child, true, runBy]);
    }
    const isInside = isRun && !isLater(part);
    for (const child of usesIn(part).toReversed()) waiting.push([child, isInside, caller]);
  }
  return used;
}

/** What a part runs: the function that it calls, the getter that it reads, what makes a class. */
function runningIn(part: TypeScript.Node) {
  if (ts.isNewExpression(part)) return madeBy(heldBy(part.expression));
  const isCall = ts.isCallExpression(part);
  if (!isCall && !ts.isIdentifier(part) && !ts.isPropertyAccessExpression(part)) return [];
  const held = heldBy(isCall ? part.expression : part);
  const isKnown = held !== undefined && ts.isFunctionLike(held);
  if (isCall) return isKnown ? [] : mayRun(part.expression);
  const isRun = isKnown && (ts.isGetAccessor(held) || isCalledAtOnce(part));
  return isRun ? [held] : [];
}

function madeBy(made: TypeScript.Node | undefined): TypeScript.Node[] {
  if (made === undefined || !ts.isClassLike(made)) return [];
  const above = made.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword);
  const base = heldBy(above?.types[0]?.expression);
  // A class that is declared above: none is its own base.
  const isBase = base !== undefined && base.end <= made.pos;
  return [...made.members.filter(isMade), ...(isBase ? madeBy(base) : [])];
}

/** If it is not known what is called: all functions in what that is taken from. */
function mayRun(callee: TypeScript.Node, maxLinks = 9): TypeScript.Node[] {
  const held = heldBy(callee) ?? callee;
  const isWhole = ts.isNewExpression(held) || !("expression" in held);
  if (isWhole || maxLinks === 0) return functionsIn(held);
  return mayRun(held.expression as TypeScript.Node, maxLinks - 1);
}

/** Those of an object, a list, a class or a function, but none that a call is given. */
function functionsIn(value: TypeScript.Node): TypeScript.Node[] {
  if (ts.isCallExpression(value)) return [];
  const below = childrenOf(value).flatMap(functionsIn);
  return ts.isFunctionLike(value) ? [value, ...below] : below;
}

const isMade = (member: TypeScript.ClassElement): boolean =>
  ts.isConstructorDeclaration(member) || ts.isPropertyDeclaration(member);

/** The values of the names at the top of a file. */
export const valuesIn = once(
  (source: TypeScript.SourceFile): ReadonlyMap<string, TypeScript.Node> =>
    new Map(source.statements.flatMap(valuesOf)),
);

const definesWorkflows = once((source: TypeScript.SourceFile) =>
  source.text.includes("defineWorkflow"),
);

/** The values of a name at the top of a statement: of a variable, or what it declares itself. */
function valuesOf(statement: TypeScript.Statement): [string, TypeScript.Node][] {
  return declarationsOf(statement).flatMap(([name, node]): [string, TypeScript.Node][] => {
    const hasValue =
      ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isEnumDeclaration(node);
    const value = ts.isVariableDeclaration(node) ? node.initializer : hasValue ? node : undefined;
    return value === undefined ? [] : [[name, value]];
  });
}

/** What an expression stands for in its file: `f`, `o.m`, `new C().m`, `this.m`. */
function heldBy(part: TypeScript.Node | undefined, maxLinks = 9): TypeScript.Node | undefined {
  const next = (of: TypeScript.Node | undefined) => heldBy(of, maxLinks - 1);
  if (part === undefined || maxLinks === 0) return undefined;
  if (ts.isIdentifier(part))
    return isHidden(part) ? undefined : next(valuesIn(part.getSourceFile()).get(part.text));
  if (part.kind === ts.SyntaxKind.ThisKeyword) return ts.findAncestor(part, isObjectOrClass);
  if (ts.isNewExpression(part)) return next(part.expression) ?? part;
  if (ts.isParenthesizedExpression(part)) return next(part.expression);
  if (!ts.isPropertyAccessExpression(part)) return part;
  const owner = next(part.expression);
  const member = owner && childrenOf(owner).find((each) => nameIn(each) === part.name.text);
  if (member === undefined || ts.isFunctionLike(member)) return member;
  if (ts.isShorthandPropertyAssignment(member)) return next(member.name);
  const isField = ts.isPropertyAssignment(member) || ts.isPropertyDeclaration(member);
  return isField ? next(member.initializer) : undefined;
}

const isObjectOrClass = (part: TypeScript.Node): boolean =>
  ts.isClassLike(part) || ts.isObjectLiteralExpression(part);

/** What is below a node and may use a name as a value: no types, and no names of members. */
function usesIn(part: TypeScript.Node): readonly TypeScript.Node[] {
  if (ts.isImportDeclaration(part) || ts.isExportDeclaration(part)) return [];
  // `import x = other.y` reads `other` while the file is loaded.
  if (ts.isImportEqualsDeclaration(part)) return [part.moduleReference];
  if (ts.isInterfaceDeclaration(part) || ts.isTypeAliasDeclaration(part)) return [];
  if (ts.isExpressionWithTypeArguments(part)) return [part.expression];
  return childrenOf(part).filter((child) =>
    ts.isIdentifier(child)
      ? isReference(child)
      : ts.isExpressionWithTypeArguments(child) || !ts.isTypeNode(child),
  );
}

/** Whether what is below runs after the file is loaded: functions not called at once. */
function isLater(part: TypeScript.Node): boolean {
  if (ts.isPropertyDeclaration(part))
    return part.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) !== true;
  return ts.isFunctionLike(part) && !isCalledAtOnce(part);
}

/** `(() => …)()`, `list.map(() => …)`, and bodies, which `defineWorkflow` calls. */
function isCalledAtOnce(part: TypeScript.Node): boolean {
  const { parent } = part;
  if (ts.isParenthesizedExpression(parent)) return isCalledAtOnce(parent);
  const property = ts.isMethodDeclaration(part) ? part : parent;
  if (isBody(property) && definesWorkflows(part.getSourceFile())) return true;
  if (!ts.isCallExpression(parent) && !ts.isNewExpression(parent)) return false;
  const { expression: callee, arguments: given = [] } = parent;
  if (callee === part) return ts.isCallExpression(parent);
  const at = given.findIndex((each) => each === part);
  const calls = ts.isPropertyAccessExpression(callee) && listCalls.has(callee.name.text);
  if (calls && at >= 0) return true;
  const held = heldBy(callee);
  const fn = ts.isNewExpression(parent) ? madeBy(held).find(ts.isConstructorDeclaration) : held;
  return fn !== undefined && ts.isFunctionLike(fn) && callsParameter(fn, at);
}

/** Whether a function calls a parameter while it runs, as `lazy` does: `const lazy = (f) => f()`. */
function callsParameter(fn: TypeScript.SignatureDeclaration, at: number): boolean {
  const name = fn.parameters.filter((each) => nameIn(each) !== "this")[at]?.name;
  if (name === undefined || !ts.isIdentifier(name)) return false;
  const before = called.get(name);
  // The stack has no room for a parameter that is handed on by thousands of functions.
  if (before !== undefined || open.size > 99) return before === true;
  // A function that only gives its parameter to itself does not call it.
  called.set(name, false);
  open.add(name);
  try {
    const calls = identifiersIn(fn)
      .filter((id) => id.text === name.text && id !== name && isReference(id) && !isHidden(id, fn))
      .filter((id) => ts.findAncestor(id.parent, (each) => each === fn || isLater(each)) === fn)
      .some(isCalledAtOnce);
    called.set(name, calls);
    return calls;
  } finally {
    open.delete(name);
  }
}

const called = new WeakMap<TypeScript.Node, boolean>();
const open = new Set<TypeScript.Node>();

/** What calls a function for the elements of a list. */
const listCalls: ReadonlySet<string> = new Set(
  "every filter find findIndex findLast flatMap forEach from map reduce reduceRight some sort toSorted".split(
    " ",
  ),
);

/** `body: (b) => …`, and the cases of a branch: `defineWorkflow` calls them to see their nodes. */
function isBody(property: TypeScript.Node): boolean {
  if (!ts.isObjectLiteralElementLike(property)) return false;
  if (nameIn(property) === "body") return true;
  const around = property.parent.parent;
  return ts.isPropertyAssignment(around) && nameIn(around) === "cases";
}

const nameIn = ({ name }: TypeScript.Node & { readonly name?: TypeScript.Node }): string =>
  name && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? name.text : "";
