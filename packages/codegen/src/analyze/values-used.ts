import { ts, type TypeScript } from "../ts-morph.js";
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
  const bodies = bodiesIn(source);
  const read = [fn];
  for (const part of read)
    for (const id of identifiersIn(part)) {
      if (!isReference(id) || ts.isPartOfTypeNode(id) || isHidden(id)) continue;
      const [body] = bodies.get(id.text) ?? [];
      if (body === undefined && late.has(id.text)) return true;
      if (body !== undefined && !read.includes(body)) read.push(body);
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
  /** Of functions that run while the file is loaded if it calls them then. */
  const bodies = bodiesIn(source);
  const definesWorkflows = source.text.includes("defineWorkflow");
  type Waiting = [part: TypeScript.Node, isRun: boolean, caller?: TypeScript.Node | undefined];
  const waiting = source.statements.map((each): Waiting => [each, true]).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [part, isRun, caller] = next;
    const runBy = isRun ? (caller ?? part) : undefined;
    if (ts.isIdentifier(part) || ts.isCallExpression(part)) used.push({ part, runBy });
    const name = isRun ? runningIn(part, definesWorkflows) : "";
    for (const child of bodies.get(name)?.flatMap(valuesIn) ?? [])
      waiting.push([child, true, runBy]);
    bodies.delete(name);
    const isInside = isRun && !isLater(part, definesWorkflows);
    for (const child of valuesIn(part).toReversed()) waiting.push([child, isInside, caller]);
  }
  return used;
}

/** What a part calls or reads, as `bodiesIn` names it: `f`, `o.m()`, `o.getter`, `new C`. */
function runningIn(part: TypeScript.Node, definesWorkflows: boolean): string {
  const owner =
    ts.isPropertyAccessExpression(part) || ts.isNewExpression(part) ? part.expression : part;
  if (!ts.isIdentifier(owner) || isHidden(owner)) return "";
  if (ts.isNewExpression(part)) return `new ${owner.text}`;
  const isCalled = isCalledAtOnce(part, definesWorkflows);
  if (ts.isPropertyAccessExpression(part))
    return `${owner.text}.${part.name.text}${isCalled ? "()" : ""}`;
  return isCalled ? owner.text : "";
}

const bodiesIn = (source: TypeScript.SourceFile) =>
  new Map(
    source.statements
      .flatMap(declarationsOf)
      .flatMap(([name, node]) =>
        bodiesOf(name, ts.isVariableDeclaration(node) ? node.initializer : node),
      ),
  );

type Bodies = [name: string, parts: readonly TypeScript.Node[]];

function bodiesOf(name: string, value: TypeScript.Node | undefined): Bodies[] {
  if (value === undefined) return [];
  if (ts.isFunctionLike(value)) return [[name, [value]]];
  if (ts.isClassLike(value)) {
    const isMade = (member: TypeScript.ClassElement) =>
      ts.isConstructorDeclaration(member) || ts.isPropertyDeclaration(member);
    return [[`new ${name}`, value.members.filter(isMade)]];
  }
  if (!ts.isObjectLiteralExpression(value)) return [];
  return value.properties.flatMap((property): Bodies[] => {
    const key = `${name}.${nameIn(property)}`;
    if (ts.isGetAccessorDeclaration(property)) return [[key, [property]]];
    const fn = ts.isPropertyAssignment(property) ? property.initializer : property;
    return ts.isFunctionLike(fn) ? [[`${key}()`, [fn]]] : [];
  });
}

/** What is below a node and may use a name as a value: no types, and no names of members. */
function valuesIn(part: TypeScript.Node): readonly TypeScript.Node[] {
  if (ts.isImportDeclaration(part) || ts.isExportDeclaration(part)) return [];
  // `import x = other.y` reads `other` while the file is loaded.
  if (ts.isImportEqualsDeclaration(part)) return [part.moduleReference];
  if (ts.isInterfaceDeclaration(part) || ts.isTypeAliasDeclaration(part)) return [];
  if (ts.isPropertyAccessExpression(part)) return [part.expression];
  if (ts.isQualifiedName(part)) return [part.left];
  if (ts.isPropertyAssignment(part))
    return ts.isComputedPropertyName(part.name)
      ? [part.name, part.initializer]
      : [part.initializer];
  if (ts.isExpressionWithTypeArguments(part)) return [part.expression];
  return childrenOf(part).filter(
    (child) => ts.isExpressionWithTypeArguments(child) || !ts.isTypeNode(child),
  );
}

/** Whether what is below runs after the file is loaded: functions not called at once. */
function isLater(part: TypeScript.Node, definesWorkflows: boolean): boolean {
  if (ts.isPropertyDeclaration(part))
    return part.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) !== true;
  return ts.isFunctionLike(part) && !isCalledAtOnce(part, definesWorkflows);
}

/** `(() => …)()`, `list.map(() => …)`, and bodies, which `defineWorkflow` calls. */
function isCalledAtOnce(part: TypeScript.Node, definesWorkflows: boolean): boolean {
  const { parent } = part;
  if (ts.isParenthesizedExpression(parent)) return isCalledAtOnce(parent, definesWorkflows);
  if (definesWorkflows && isBody(ts.isMethodDeclaration(part) ? part : parent)) return true;
  if (!ts.isCallExpression(parent)) return false;
  const callee = parent.expression;
  const calls = ts.isPropertyAccessExpression(callee) && listCalls.has(callee.name.text);
  return callee === part || (calls && parent.arguments.some((each) => each === part));
}

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

const nameIn = ({ name }: TypeScript.ObjectLiteralElementLike): string =>
  name && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? name.text : "";
