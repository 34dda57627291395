import { ts, type TypeScript } from "../typescript.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { changersOf } from "./changers.js";
import { readOption } from "./functions.js";

/* What the source of a schema consists of. */

interface OfApp {
  readonly modules: AppModules;
}

/** How many calls and names are followed: a schema may stand for itself by mistake. */
export const maxDepth = 50;

/**
 * Returns what an expression is without parentheses and types, or what the name in it stands for.
 * A name whose value may be changed later stands for itself.
 */
export function valueOf({ node, module }: Declared, app: OfApp, depth = 0): Declared {
  if (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node)
  )
    return valueOf({ node: node.expression, module }, app, depth);
  const found = ts.isIdentifier(node)
    ? app.modules.find(node.text, module)
    : ts.isPropertyAccessExpression(node) && depth < maxDepth
      ? (app.modules.member(node.name.text, node.expression, module) ??
        memberIn(valueOf({ node: node.expression, module }, app, depth + 1), node.name.text))
      : undefined;
  if (found === undefined || depth > maxDepth || isOfPattern(found.node)) return { node, module };
  const name = variableOf(found.node)?.name;
  const isChanged = changersOf(node, module).size > 0;
  return isChanged || (name !== undefined && changersOf(name, found.module).size > 0)
    ? { node, module }
    : valueOf(found, app, depth + 1);
}

/** Returns what an object has under a name, if it is written out without spreads. */
function memberIn({ node, module }: Declared, name: string): Declared | undefined {
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  const options = node.properties.map((each) => readOption(each));
  const found = options.includes(undefined)
    ? undefined
    : options.findLast((each) => each?.name === name);
  return found === undefined || ts.isObjectLiteralElementLike(found.value)
    ? undefined
    : { node: found.value, module };
}

/** Says whether it is what a pattern takes names from: none of these stands for all of it. */
const isOfPattern = (node: TypeScript.Node): boolean => {
  const name = variableOf(node)?.name;
  return name !== undefined && !ts.isIdentifier(name);
};

/** Returns the variable that has a value. A whole file is the value of none. */
export function variableOf({ parent }: TypeScript.Node) {
  return parent !== undefined && ts.isVariableDeclaration(parent) ? parent : undefined;
}

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
