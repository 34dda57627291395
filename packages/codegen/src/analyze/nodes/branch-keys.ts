import type { AsExpression } from "ts-morph";
import { Node, SyntaxKind } from "../../ts-morph.js";
import type { DefinitionFile } from "../definition-file.js";
import { functionOf, stringOf, type FunctionNode } from "../functions.js";
import { knownValue } from "../known.js";

export type Keys = Map<string, Node>;

/** All keys that `on` can give, by its returns and written type; undefined if some are unseen. */
export function keysOf(on: Node, file: DefinitionFile): Keys | undefined {
  const fn = functionOf(on, file);
  if (fn === undefined || isTyped(on, file)) return undefined;
  const keys: Keys = new Map();
  const type = fn.getReturnTypeNode();
  if (type !== undefined && !addTypeKeys(type, keys)) return undefined;
  const returned = returnedBy(fn);
  const isKnown =
    returned.length > 0 &&
    returned.every((each) => each !== undefined && addKeys(each, keys, file));
  return isKnown || type !== undefined ? keys : undefined;
}

/** Whether an expression, or its const, has a written type: it may say more than the expression. */
function isTyped(value: Node, { source }: DefinitionFile): boolean {
  const isTypedAt = (node: Node | undefined): boolean => {
    if (Node.isAsExpression(node)) return !isConst(node) || isTypedAt(node.getExpression());
    if (Node.isParenthesizedExpression(node) || Node.isSatisfiesExpression(node))
      return isTypedAt(node.getExpression());
    if (!Node.isIdentifier(node)) return false;
    const named = source.getVariableDeclaration(node.getText());
    return named?.getTypeNode() !== undefined || isTypedAt(named?.getInitializer());
  };
  return isTypedAt(value);
}

const isConst = (node: AsExpression): boolean => node.getTypeNode()?.getText() === "const";

function returnedBy(fn: FunctionNode): (Node | undefined)[] {
  const body = fn.getBody();
  if (!Node.isBlock(body)) return [body];
  return body
    .getDescendantsOfKind(SyntaxKind.ReturnStatement)
    .filter((each) => each.getFirstAncestor(isFunction) === fn)
    .map((each) => each.getExpression());
}

const isFunction = (node: Node): boolean =>
  Node.isFunctionLikeDeclaration(node) || Node.isFunctionExpression(node);

/** Whether all that an expression can give are strings that can be seen. */
function addKeys(node: Node, keys: Keys, file: DefinitionFile): boolean {
  if (
    Node.isParenthesizedExpression(node) ||
    Node.isSatisfiesExpression(node) ||
    Node.isNonNullExpression(node)
  )
    return addKeys(node.getExpression(), keys, file);
  if (Node.isAsExpression(node)) {
    if (isConst(node)) return addKeys(node.getExpression(), keys, file);
    return addTypeKeys(node.getTypeNodeOrThrow(), keys);
  }
  if (Node.isConditionalExpression(node))
    return addKeys(node.getWhenTrue(), keys, file) && addKeys(node.getWhenFalse(), keys, file);
  const key = knownValue(node, file);
  if (typeof key !== "string" || isTyped(node, file)) return false;
  keys.set(key, node);
  return true;
}

/** Whether a type is a union of strings that are written out. */
function addTypeKeys(type: Node, keys: Keys): boolean {
  if (Node.isParenthesizedTypeNode(type)) return addTypeKeys(type.getTypeNode(), keys);
  if (Node.isUnionTypeNode(type))
    return type.getTypeNodes().every((each) => addTypeKeys(each, keys));
  const literal = Node.isLiteralTypeNode(type) ? type.getLiteral() : undefined;
  const key = stringOf(literal);
  if (key === undefined || literal === undefined) return false;
  keys.set(key, literal);
  return true;
}
