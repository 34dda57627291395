import type { SyntaxKind as Operator } from "ts-morph";
import { Node, SyntaxKind } from "../ts-morph.js";

/** Whether an expression is given a value, is counted up or down, or is deleted. */
export function isAssigned(target: Node): boolean {
  const parent = target.getParent();
  if (Node.isBinaryExpression(parent))
    return parent.getLeft() === target && isAssignment(parent.getOperatorToken().getKind());
  if (Node.isPrefixUnaryExpression(parent) || Node.isPostfixUnaryExpression(parent))
    return counting.has(parent.getOperatorToken());
  if (Node.isForOfStatement(parent) || Node.isForInStatement(parent))
    return parent.getInitializer() === target;
  return Node.isDeleteExpression(parent) || (isPassedOn(target, parent) && isAssigned(parent));
}

const counting: ReadonlySet<Operator> = new Set([
  SyntaxKind.PlusPlusToken,
  SyntaxKind.MinusMinusToken,
]);

const isAssignment = (kind: Operator): boolean =>
  kind >= SyntaxKind.FirstAssignment && kind <= SyntaxKind.LastAssignment;

/** Whether a node is a target if its parent is: `(a)`, or in `[a, { b, c: d = 1 }]`. */
function isPassedOn(target: Node, parent: Node | undefined): parent is Node {
  if (Node.isPropertyAssignment(parent)) return parent.getInitializer() === target;
  return (
    Node.isParenthesizedExpression(parent) ||
    Node.isNonNullExpression(parent) ||
    Node.isAsExpression(parent) ||
    Node.isSatisfiesExpression(parent) ||
    Node.isTypeAssertion(parent) ||
    Node.isArrayLiteralExpression(parent) ||
    Node.isSpreadElement(parent) ||
    Node.isObjectLiteralExpression(parent) ||
    Node.isShorthandPropertyAssignment(parent) ||
    Node.isSpreadAssignment(parent)
  );
}
