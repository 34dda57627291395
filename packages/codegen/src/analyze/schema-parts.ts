import { ts, type TypeScript } from "../typescript.js";
import type { AppModules, Declared, Module } from "./app-modules.js";

/* What the source of a schema consists of. */

interface OfApp {
  readonly modules: AppModules;
}

/** How many calls and names are followed: a schema may stand for itself by mistake. */
export const maxDepth = 50;

/** What an expression is without parentheses and types, or what the name in it stands for. */
export function valueOf({ node, module }: Declared, app: OfApp, depth = 0): Declared {
  if (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node)
  )
    return valueOf({ node: node.expression, module }, app, depth);
  const found = ts.isIdentifier(node)
    ? app.modules.find(node.text, module)
    : ts.isPropertyAccessExpression(node)
      ? app.modules.member(node.name.text, node.expression, module)
      : undefined;
  return found === undefined || depth > maxDepth || isOfPattern(found.node)
    ? { node, module }
    : valueOf(found, app, depth + 1);
}

/** Says whether it is what a pattern takes names from: none of these stands for all of it. */
const isOfPattern = ({ parent }: TypeScript.Node): boolean =>
  parent !== undefined && ts.isVariableDeclaration(parent) && !ts.isIdentifier(parent.name);

export function calledIn(node: TypeScript.Node) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression))
    return undefined;
  const { expression: of, name } = node.expression;
  return { of, method: name.text, args: node.arguments };
}

export function libraryOf(
  node: TypeScript.Node,
  { imports }: Module,
): "zod" | "convex" | undefined {
  const from = ts.isIdentifier(node) ? imports.get(node.text)?.module : undefined;
  if (from === "convex/values") return "convex";
  return from !== undefined && /^zod(\/|$)/.test(from) ? "zod" : undefined;
}
