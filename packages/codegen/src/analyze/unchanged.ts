import { type Node, ts, type TypeScript } from "../typescript.js";
import { isCalled, isConst, isFreeze, isMember, wrappedIn, wrapping } from "./functions.js";
import { isImported } from "./modules.js";
import type { Module } from "./app-modules.js";
import { isAssigned, isHidden, usesOf } from "./scoping.js";

/**
 * Says whether a file only hands what a const holds to definitions. What cannot be seen may change.
 * @param isScalar whether a member is a text, a number or the like, which nothing changes
 */
export function isUnchanged(
  held: Node,
  { source, imports }: Module,
  isScalar: (member: Node) => boolean,
): boolean {
  const seen = new Set<string>();
  const isLeft = (name: Node): boolean => {
    if (!ts.isIdentifier(name)) return false;
    const isKnown = seen.has(name.text);
    seen.add(name.text);
    return isKnown || usesOf(name.text, source).every(leaves);
  };
  const leaves = (use: Node): boolean => {
    const { parent } = use;
    if (isAssigned(use)) return false;
    const isExported = ts.isExportSpecifier(parent) || ts.isExportAssignment(parent);
    if (ts.isTypeQueryNode(parent) || ts.isTypeReferenceNode(parent) || isExported) return true;
    if (ts.isCallExpression(parent)) return use !== parent.expression && isTaken(parent);
    if (ts.isVariableDeclaration(parent)) return isConst(parent) && isLeft(parent.name);
    if (isMemberOf(use, parent) && isScalar(parent)) return !isAssigned(parent);
    if (ts.isImportEqualsDeclaration(parent)) return isLeft(parent.name);
    if (isCalled(parent)) return false;
    const isInside =
      wrappedIn(parent) === use ||
      isPart(parent) ||
      isMemberOf(use, parent) ||
      ts.isQualifiedName(parent);
    return isInside && leaves(parent);
  };
  /** Says whether a call takes its arguments into a definition, or as the input of a child. */
  const isTaken = (call: TypeScript.CallExpression): boolean => {
    const { expression: callee } = call;
    if (isFreeze(call) || takers.some((each) => isImported(callee, imports, each))) return true;
    if (!ts.isPropertyAccessExpression(callee)) return false;
    const { expression: before } = callee;
    if (ts.isCallExpression(before)) return isTaken(before);
    // The builder of a body.
    return ts.isIdentifier(before) && isHidden(before);
  };
  /** What a class or a namespace holds may be changed by the name of that. */
  const isKept = (holder: Node): boolean => {
    if (ts.isPropertyDeclaration(holder)) return isKept(holder.parent);
    if (ts.isClassExpression(holder)) return isKept(holderOf(holder));
    if (!isNamed(holder)) return true;
    const around = ts.findAncestor(holder.parent, ts.isModuleDeclaration);
    return isLeft(holder.name) && (around === undefined || isKept(around));
  };
  return isKept(holderOf(held));
}

const isNamed = (node: Node): node is TypeScript.NamedDeclaration & { readonly name: Node } =>
  ts.isVariableDeclaration(node) ||
  ts.isModuleDeclaration(node) ||
  (ts.isClassDeclaration(node) && node.name !== undefined);

/** Returns what a value is part of: the variable that holds it, or an expression. */
function holderOf(held: Node): Node {
  const { parent } = wrapping(held);
  return isPart(parent) || isFreeze(parent) ? holderOf(parent) : parent;
}

const isPart = (node: Node): boolean =>
  ts.isObjectLiteralExpression(node) ||
  ts.isObjectLiteralElementLike(node) ||
  ts.isArrayLiteralExpression(node);

const isMemberOf = (of: Node, node: Node): boolean => isMember(node) && node.expression === of;

const takers = ["defineWorkflow", "defineConfig", "child", "childNamed"];
