import { type Node, ts } from "../typescript.js";
import { type FunctionNode, functionOf, isFunctionNode, returnedBy } from "./functions.js";
import { heldBy } from "./known.js";
import type { DefinitionFile } from "./parser.js";

export interface FoundFunction {
  readonly fn: FunctionNode;
  readonly file: DefinitionFile;
}

/** A function may give what it gives itself. */
const maxLinks = 20;

/** The function that an expression is, names or makes, in whichever file of the app it is. */
export function functionFrom(
  node: Node,
  file: DefinitionFile,
  links = 0,
): FoundFunction | undefined {
  const own = functionOf(node, file);
  if (own !== undefined) return { fn: own, file };
  const { node: made = node, file: within } = madeBy(node, file, links);
  return isFunctionNode(made) ? { fn: made, file: within } : undefined;
}

/**
 * Returns what an expression stands for, also if it calls a function that does nothing but give it.
 */
export function madeBy(
  node: Node,
  file: DefinitionFile,
  links = 0,
): { readonly node?: Node; readonly file: DefinitionFile; readonly isMade: boolean } {
  // Most are written here.
  if (ts.isObjectLiteralExpression(node)) return { node, file, isMade: false };
  const held = links > maxLinks ? undefined : heldBy(node, file, file.modules);
  if (held === undefined) return { file, isMade: false };
  const within = file.of(held.module);
  if (!ts.isCallExpression(held.node)) return { node: held.node, file: within, isMade: false };
  const maker = functionFrom(held.node.expression, within, links + 1);
  const made = maker && returnedBy(maker.fn);
  if (made === undefined) return { node: held.node, file: within, isMade: false };
  return { ...madeBy(made, maker!.file, links + 1), isMade: true };
}
