import type { Node as TsNode } from "ts-morph";
import { identifiersIn } from "./descendants.js";
import { Node } from "../ts-morph.js";
import type { FunctionNode } from "./functions.js";
import { isReference } from "./scoping.js";

/** What each kind of function in a definition is called with, in order. */
const calledWith = {
  /** An inline action, mutation or query. */
  handler: ["ctx", "scope", "info"],
  /** The arguments of a function reference. */
  args: ["scope", "info"],
  recover: ["error", "scope"],
  /** Children, a duration, the key of a branch, the state of a loop, the input of a child. */
  ofScope: ["scope"],
  body: ["builder"],
} as const;

export type Role = keyof typeof calledWith;
export type Argument = (typeof calledWith)[Role][number];

/** What a function calls an argument; undefined if not taken, `"hidden"` if reached another way. */
export function bindingOf(
  fn: FunctionNode,
  role: Role,
  argument: Argument,
): TsNode | "hidden" | undefined {
  const parameters = fn.getParameters().filter((each) => each.getName() !== "this");
  const index = (calledWith[role] as readonly Argument[]).indexOf(argument);
  const gathers = parameters.slice(0, index + 1).some((each) => each.isRestParameter());
  return gathers || looksAround(fn) ? "hidden" : parameters[index]?.getNameNode();
}

/** Whether code in a function may see what it does not name; arrows have no own `arguments`. */
function looksAround(fn: FunctionNode): boolean {
  const isOpen = (name: string) =>
    name === "eval" || (name === "arguments" && !Node.isArrowFunction(fn));
  return identifiersIn(fn, isOpen).some(isReference);
}
