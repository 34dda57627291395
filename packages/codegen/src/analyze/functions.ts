import type {
  ArrowFunction,
  FunctionDeclaration,
  FunctionExpression,
  Identifier,
  MethodDeclaration,
  ObjectLiteralExpression,
  VariableDeclaration,
} from "ts-morph";
import { Node, VariableDeclarationKind } from "../ts-morph.js";
import { isAssigned, isDeclaredBetween, nameOf, usesOf } from "./scoping.js";
import type { DefinitionFile } from "./parser.js";

export type FunctionNode =
  ArrowFunction | FunctionExpression | MethodDeclaration | FunctionDeclaration;

/** What `(x)`, `x as T`, `x satisfies T` and `x!` are; undefined for anything else. */
export const wrappedIn = (node: Node | undefined): Node | undefined =>
  Node.isParenthesizedExpression(node) ||
  Node.isAsExpression(node) ||
  Node.isSatisfiesExpression(node) ||
  Node.isNonNullExpression(node)
    ? node.getExpression()
    : undefined;

export function unwrap(node: Node): Node {
  const inner = wrappedIn(node);
  return inner === undefined ? node : unwrap(inner);
}

/** What an expression is inside: `(x)`, `x as T`, `x!`, and so on. */
export function wrapping(node: Node): Node {
  const parent = node.getParent();
  return parent !== undefined && unwrap(parent) !== parent ? wrapping(parent) : node;
}

export const stringOf = (node: Node | undefined): string | undefined =>
  Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node)
    ? node.getLiteralText()
    : undefined;

export function isCalled(node: Node): boolean {
  const parent = node.getParent();
  return Node.isCallExpression(parent) && parent.getExpression() === node;
}

/** The function that an expression is, or names if it stays what it is at the top of the file. */
export function functionOf(value: Node, file: DefinitionFile): FunctionNode | undefined {
  const node = unwrap(value);
  if (isFunctionNode(node)) return node;
  if (!Node.isIdentifier(node)) return undefined;
  const held = declaredFunction(node, file) ?? constantOf(node, file);
  return held !== undefined && isFunctionNode(held) ? held : undefined;
}

function declaredFunction(id: Identifier, { source }: DefinitionFile): Node | undefined {
  const name = nameOf(id);
  const [only, second] = source.getFunctions().filter((each) => each.getName() === name);
  if (only === undefined || second !== undefined || !only.hasBody()) return undefined;
  if (isDeclaredBetween(id, source)) return undefined;
  return usesOf(name, source).some(isAssigned) ? undefined : only;
}

export const isConst = (declaration: VariableDeclaration | undefined): boolean =>
  declaration?.getVariableStatement()?.getDeclarationKind() === VariableDeclarationKind.Const;

/** What a name stands for that is a const at the top of the file. */
export function constantOf(id: Identifier, { source }: DefinitionFile): Node | undefined {
  const declaration = source.getVariableDeclaration(nameOf(id));
  // Found by a pattern too, whose value is not that of the name.
  if (!Node.isIdentifier(declaration?.getNameNode())) return undefined;
  const initializer = declaration?.getInitializer();
  if (initializer === undefined || !isConst(declaration) || isDeclaredBetween(id, source))
    return undefined;
  return unwrap(initializer);
}

function isFunctionNode(node: Node): node is FunctionNode {
  if (Node.isArrowFunction(node)) return true;
  const isOther =
    Node.isFunctionExpression(node) ||
    Node.isMethodDeclaration(node) ||
    Node.isFunctionDeclaration(node);
  return isOther && !node.isGenerator();
}

/** `internal.documents.outline`, if an expression is a path from `internal` or `api`. */
export function referencePath(value: Node, file: DefinitionFile): string | undefined {
  const names: string[] = [];
  let node = unwrap(value);
  while (Node.isPropertyAccessExpression(node) && !node.hasQuestionDotToken()) {
    names.unshift(node.getName());
    node = node.getExpression();
  }
  if (!Node.isIdentifier(node) || names.length < 2) return undefined;
  if (isDeclaredBetween(node, file.source)) return undefined;
  const root = file.imports.get(node.getText())?.imported;
  return root === "internal" || root === "api" ? [root, ...names].join(".") : undefined;
}

export interface Option {
  readonly name: string;
  readonly nameNode: Node;
  readonly value: Node;
}

/** What a property gives an options object; undefined for a spread or a computed name. */
export function readOption(
  property: ReturnType<ObjectLiteralExpression["getProperties"]>[number],
  nameOfKey: (key: Node) => string | undefined = stringOf,
): Option | undefined {
  if (Node.isShorthandPropertyAssignment(property)) {
    const nameNode = property.getNameNode();
    return { name: property.getName(), nameNode, value: nameNode };
  }
  if (Node.isSpreadAssignment(property)) return undefined;
  const nameNode = property.getNameNode();
  const name = optionName(nameNode, nameOfKey);
  const value = Node.isPropertyAssignment(property) ? property.getInitializer() : property;
  // `__proto__: other` makes all that the other object has options too.
  if (name === undefined || name === "__proto__" || value === undefined) return undefined;
  return { name, nameNode, value };
}

function optionName(node: Node, nameOfKey: (key: Node) => string | undefined): string | undefined {
  if (Node.isComputedPropertyName(node)) return nameOfKey(node.getExpression());
  if (Node.isIdentifier(node)) return nameOf(node);
  if (Node.isNumericLiteral(node)) return String(node.getLiteralValue());
  return Node.isStringLiteral(node) ? node.getLiteralText() : undefined;
}
