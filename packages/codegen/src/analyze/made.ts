import { type Node, ts } from "../typescript.js";
import {
  type FunctionNode,
  functionOf,
  isConst,
  isDeclaring,
  isFunctionNode,
} from "./functions.js";
import { parametersOf, unwrap } from "./functions.js";
import { heldBy } from "./known.js";
import type { DefinitionFile } from "./parser.js";

export interface FoundFunction {
  readonly fn: FunctionNode;
  readonly file: DefinitionFile;
}

/** A function may give what it gives itself. */
export const maxLinks = 20;

/** The function that an expression is, names or makes, in whichever file of the app it is. */
export function functionFrom(
  node: Node,
  file: DefinitionFile,
  links = 0,
): FoundFunction | undefined {
  const own = functionOf(node, file);
  if (own !== undefined) return { fn: own, file };
  const { node: made = node, file: within } = madeBy({ node, file }, links);
  return isFunctionNode(made) ? { fn: made, file: within } : undefined;
}

/** An expression in the function, or at the call, that it is written in. */
export interface Placed {
  readonly node: Node;
  readonly file: DefinitionFile;
  /** What is given for the names that the function around it takes. */
  readonly taken?: ReadonlyMap<string, Placed> | undefined;
}

interface Made extends Partial<Placed> {
  readonly file: DefinitionFile;
  readonly isMade: boolean;
  readonly without?: readonly string[] | undefined;
}

/**
 * Returns what an expression stands for, also if it calls a function that does nothing but give it.
 */
export function madeBy({ node, file, taken }: Placed, links = 0): Made {
  // Most are written here.
  if (ts.isObjectLiteralExpression(node)) return { node, file, taken, isMade: false };
  if (links > maxLinks) return { file, isMade: false };
  const given = ts.isIdentifier(node) ? taken?.get(node.text) : undefined;
  if (given !== undefined) return { ...madeBy(given, links + 1), isMade: true };
  const held = heldBy(node, file, file.modules);
  if (held === undefined) return { file, isMade: false };
  const within = file.of(held.module);
  const { without } = held;
  if (!ts.isCallExpression(held.node))
    return { node: held.node, file: within, without, isMade: false };
  const { expression, arguments: all } = held.node;
  const maker = functionFrom(expression, within, links + 1);
  const made = maker && resultOf(maker.fn);
  if (maker === undefined || made === undefined)
    return { node: held.node, file: within, isMade: false };
  // A name of a const is not of the function that the const is used in.
  const around = held.node === node ? taken : undefined;
  const named = parametersOf(maker.fn).flatMap(({ name, dotDotDotToken }, at) => {
    const each = all.slice(0, at + 1).some(ts.isSpreadElement) ? undefined : all[at];
    if (each === undefined || dotDotDotToken || !ts.isIdentifier(name)) return [];
    return [[name.text, { node: each, file: within, taken: around }] as const];
  });
  const inside = { file: maker.file, taken: new Map<string, Placed>(named) };
  for (const { name, initializer } of made.consts)
    if (initializer && ts.isIdentifier(name))
      inside.taken.set(name.text, { node: unwrap(initializer), ...inside });
  return { ...madeBy({ node: unwrap(made.node), ...inside }, links + 1), isMade: true };
}

/** Returns what a function returns that does nothing before but hold parts of it in consts. */
function resultOf({ body }: FunctionNode) {
  if (body === undefined || !ts.isBlock(body)) return body && { node: body, consts: [] };
  const last = body.statements.at(-1);
  const before = body.statements.slice(0, -1);
  if (last === undefined || !ts.isReturnStatement(last) || !last.expression) return undefined;
  const held = before.filter((each) => !isDeclaring(each));
  if (!held.every(ts.isVariableStatement)) return undefined;
  const consts = held.flatMap(({ declarationList }) => declarationList.declarations);
  return { node: last.expression, consts: consts.filter(isConst) };
}
