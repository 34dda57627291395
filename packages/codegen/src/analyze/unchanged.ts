import { type Node, ts, type TypeScript } from "../typescript.js";
import { isCalled, isConst, isFreeze, stringOf, unwrap, wrapping } from "./functions.js";
import { isImported } from "./modules.js";
import type { Module } from "./app-modules.js";
import { isAssigned, isHidden, usesOf } from "./scoping.js";

/** Whether a file only hands what a const holds to definitions. What cannot be seen may change. */
export function isUnchanged(held: Node, { source, imports }: Module): boolean {
  const seen = new Set<string>();
  const isLeft = (name: Node, value?: Node): boolean => {
    if (!ts.isIdentifier(name)) return false;
    const { text } = name;
    if (seen.has(text)) return true;
    seen.add(text);
    return usesOf(text, source).every((use) => leaves(use, value));
  };
  /** Whether a use of a value, if it is known, leaves it as it is. */
  const leaves = (use: Node, value?: Node): boolean => {
    const whole = wrapping(use);
    const { parent } = whole;
    if (isAssigned(whole)) return false;
    if (value !== undefined && isScalarLiteral(value)) return true;
    if (ts.isTypeQueryNode(parent) || ts.isExportSpecifier(parent)) return true;
    if (ts.isCallExpression(parent)) return whole !== parent.expression && isTaken(parent);
    if (ts.isPropertyAccessExpression(parent) || isMemberOf(whole, parent))
      return !isCalled(wrapping(parent)) && leaves(parent, memberOf(value, nameOf(parent)));
    if (
      ts.isPropertyAssignment(parent) ||
      ts.isShorthandPropertyAssignment(parent) ||
      ts.isSpreadAssignment(parent)
    )
      return leaves(parent.parent);
    return ts.isVariableDeclaration(parent) && isConst(parent) && isLeft(parent.name);
  };
  /** Whether a call takes its arguments into a definition, or as the input of a child. */
  const isTaken = ({ expression: callee }: TypeScript.CallExpression): boolean => {
    if (takers.some((each) => isImported(callee, imports, each))) return true;
    if (isFreeze(callee.parent)) return true;
    if (!ts.isPropertyAccessExpression(callee)) return false;
    const { expression: before } = callee;
    if (ts.isCallExpression(before)) return isTaken(before);
    // The builder of a body.
    return ts.isIdentifier(before) && isHidden(before, source);
  };
  const holder = holderOf(held);
  return !ts.isVariableDeclaration(holder) || isLeft(holder.name, holder.initializer);
}

/** What a value is part of: the variable that holds it, or an expression. */
const holderOf = (held: Node): Node => {
  const { parent } = wrapping(held);
  const isPart =
    ts.isObjectLiteralElementLike(parent) ||
    ts.isObjectLiteralExpression(parent) ||
    isFreeze(parent);
  return isPart ? holderOf(parent) : parent;
};

const isMemberOf = (of: Node, node: Node): node is TypeScript.ElementAccessExpression =>
  ts.isElementAccessExpression(node) && node.expression === of;

const nameOf = (
  node: TypeScript.PropertyAccessExpression | TypeScript.ElementAccessExpression,
): string | undefined =>
  ts.isPropertyAccessExpression(node) ? node.name.text : stringOf(node.argumentExpression);

const isScalarLiteral = (node: Node): boolean =>
  ts.isLiteralExpression(node) ||
  ts.isPrefixUnaryExpression(node) ||
  node.kind === ts.SyntaxKind.TrueKeyword ||
  node.kind === ts.SyntaxKind.FalseKeyword;

function memberOf(value: Node | undefined, name: string | undefined): Node | undefined {
  const object = value && unwrap(value);
  if (object === undefined || !ts.isObjectLiteralExpression(object)) return undefined;
  const found = object.properties.filter((each) => each.name?.getText() === name).at(-1);
  return found && ts.isPropertyAssignment(found) ? unwrap(found.initializer) : undefined;
}

const takers = ["defineWorkflow", "child", "childNamed"];
