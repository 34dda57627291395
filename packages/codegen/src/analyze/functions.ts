import { type Node, ts, type TypeScript } from "../typescript.js";
import { once } from "../plan/once.js";
import { hasModifier, isAssigned, isHidden, usesOf, variablesIn } from "./scoping.js";
import type { DefinitionFile } from "./parser.js";

export type FunctionNode =
  | TypeScript.ArrowFunction
  | TypeScript.FunctionExpression
  | TypeScript.MethodDeclaration
  | TypeScript.FunctionDeclaration;

/** A file, as far as its names are looked up. */
type FileOf = Pick<DefinitionFile, "source">;

/**
 * Returns what `(x)`, `x as T`, `<T>x`, `x satisfies T` and `x!` are; undefined for anything else.
 */
export const wrappedIn = (node: Node): Node | undefined =>
  ts.isParenthesizedExpression(node) ||
  ts.isAsExpression(node) ||
  ts.isTypeAssertionExpression(node) ||
  ts.isSatisfiesExpression(node) ||
  ts.isNonNullExpression(node)
    ? node.expression
    : undefined;

/** `Object.freeze(held)`, which gives what it is given. */
export const isFreeze = (node: Node): node is TypeScript.CallExpression =>
  ts.isCallExpression(node) && /^Object\s*\.\s*freeze$/.test(node.expression.getText());

export function unwrap(node: Node): Node {
  const inner = wrappedIn(node);
  return inner === undefined ? node : unwrap(inner);
}

/** Returns what an expression is inside: `(x)`, `x as T`, `x!`, and so on. */
export const wrapping = (node: Node): Node =>
  wrappedIn(node.parent) === undefined ? node : wrapping(node.parent);

export type Member = TypeScript.PropertyAccessExpression | TypeScript.ElementAccessExpression;

/** `held.name`, `held["name"]` */
export const isMember = (node: Node): node is Member =>
  ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);

export const stringOf = (node: Node | undefined): string | undefined =>
  node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined;

/** A name, or what has a member and the name of that: also in `import other = held.name`. */
export function partsOf(node: Node): [root?: Node, member?: string] {
  if (ts.isPropertyAccessExpression(node)) return [node.expression, node.name.text];
  if (ts.isElementAccessExpression(node)) {
    const name = stringOf(node.argumentExpression);
    return name === undefined ? [] : [node.expression, name];
  }
  if (ts.isQualifiedName(node)) return [node.left, node.right.text];
  return ts.isIdentifier(node) ? [node] : [];
}

export const isCalled = (node: Node): boolean =>
  ts.isCallExpression(node.parent) && node.parent.expression === node;

/** The function that an expression is, or names if it stays what it is at the top of the file. */
export function functionOf(value: Node, file: FileOf): FunctionNode | undefined {
  const node = unwrap(value);
  if (isFunctionNode(node)) return node;
  if (!ts.isIdentifier(node)) return undefined;
  const declared = isHidden(node) ? undefined : functionNamed(node.text, file);
  const held = declared ?? constantOf(node, file);
  return held !== undefined && isFunctionNode(held) ? held : undefined;
}

/** The functions that a file declares at its top, unless several have the same name. */
const functionsIn = once((source: TypeScript.SourceFile) => {
  const found = new Map<string, TypeScript.FunctionDeclaration | undefined>();
  for (const each of source.statements) {
    // What has no body is one of several forms of the function.
    if (!ts.isFunctionDeclaration(each) || each.body === undefined) continue;
    const name = each.name?.text ?? "";
    found.set(name, found.has(name) ? undefined : each);
  }
  return found;
});

/** The one function that a file declares by a name, if it stays that. */
export function functionNamed(name: string, { source }: FileOf): FunctionNode | undefined {
  const found = functionsIn(source).get(name);
  return found && usesOf(name, source).some(isAssigned) ? undefined : found;
}

export const isConst = (declaration: TypeScript.VariableDeclaration): boolean =>
  (declaration.parent.flags & ts.NodeFlags.BlockScoped) === ts.NodeFlags.Const;

/** Returns what a name stands for that is a const at the top of the file. */
export function constantOf(id: TypeScript.Identifier, { source }: FileOf) {
  const declaration = variablesIn(source).get(id.text);
  if (declaration?.initializer === undefined || !isConst(declaration)) return undefined;
  // Found by a pattern too, whose value is not that of the name.
  if (!ts.isIdentifier(declaration.name) || isHidden(id)) return undefined;
  return unwrap(declaration.initializer);
}

/** What a function takes: a `this` is only for types. */
export const parametersOf = ({ parameters }: FunctionNode) =>
  parameters.filter(({ name }) => !ts.isIdentifier(name) || name.text !== "this");

export function isFunctionNode(node: Node): node is FunctionNode {
  if (ts.isArrowFunction(node)) return true;
  const isOther =
    ts.isFunctionExpression(node) || ts.isMethodDeclaration(node) || ts.isFunctionDeclaration(node);
  return isOther && node.asteriskToken === undefined;
}

/** Returns what a function returns, if it does nothing else. */
export function returnedBy({ body }: { readonly body?: Node | undefined }): Node | undefined {
  if (body === undefined || !ts.isBlock(body)) return body;
  const [only, second] = body.statements;
  return only && !second && ts.isReturnStatement(only) ? only.expression : undefined;
}

/** Says whether a statement of a function only declares something besides variables. */
export const isDeclaring = (statement: TypeScript.Statement): boolean =>
  ts.isFunctionDeclaration(statement) ||
  ts.isClassDeclaration(statement) ||
  ts.isEnumDeclaration(statement) ||
  ts.isInterfaceDeclaration(statement) ||
  ts.isTypeAliasDeclaration(statement) ||
  // `"use strict"`
  (ts.isExpressionStatement(statement) && ts.isStringLiteral(statement.expression));

export const isAsync = (fn: FunctionNode): boolean => hasModifier(fn, ts.SyntaxKind.AsyncKeyword);

/** `internal.documents.outline`, if an expression is a path from `internal` or `api`. */
export function referencePath(value: Node, file: DefinitionFile): string | undefined {
  const names: string[] = [];
  let node = unwrap(value);
  while (ts.isPropertyAccessExpression(node) && node.questionDotToken === undefined) {
    names.unshift(node.name.text);
    node = node.expression;
  }
  if (!ts.isIdentifier(node) || names.length < 2 || isHidden(node)) return undefined;
  const root = file.imports.get(node.text)?.imported;
  return root === "internal" || root === "api" ? [root, ...names].join(".") : undefined;
}

/** An option that is `undefined`, or `void 0`, is not there. */
export function isAbsent(value: Node): boolean {
  const node = unwrap(value);
  return ts.isVoidExpression(node) || (ts.isIdentifier(node) && node.text === "undefined");
}

export interface Option {
  readonly name: string;
  readonly nameNode: Node;
  readonly value: Node;
  /** The file that it is written in if that is another one, or if a call gives it. */
  readonly elsewhere?: DefinitionFile;
  /** False if a condition or a spread may give another one, or none. */
  readonly isSure?: boolean;
  /** The condition that says whether it is given, or which one. */
  readonly condition?: Node;
}

/** Returns what a property gives an options object; undefined for a spread or a computed name. */
export function readOption(
  property: TypeScript.ObjectLiteralElementLike,
  textOf?: (computed: Node) => string | undefined,
): Option | undefined {
  if (ts.isSpreadAssignment(property)) return undefined;
  const { name: nameNode } = property;
  if (ts.isShorthandPropertyAssignment(property))
    return { name: property.name.text, nameNode, value: nameNode };
  const name = keyText(nameNode, textOf);
  const value = ts.isPropertyAssignment(property) ? property.initializer : property;
  // `__proto__: other` makes all that the other object has options too.
  return name === undefined || name === "__proto__" ? undefined : { name, nameNode, value };
}

/** The name of a property or in a pattern. @param textOf gives that of a computed one */
export function keyText(
  key: Node,
  textOf: (computed: Node) => string | undefined = stringOf,
): string | undefined {
  if (ts.isComputedPropertyName(key)) return textOf(key.expression);
  if (ts.isNumericLiteral(key)) return String(Number(key.text));
  return ts.isIdentifier(key) ? key.text : stringOf(key);
}
