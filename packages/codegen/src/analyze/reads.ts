import type { Identifier, Node as TsNode, ObjectBindingPattern } from "ts-morph";
import { identifiersIn } from "./descendants.js";
import { Node } from "../ts-morph.js";
import { type FunctionNode, stringOf, wrapping } from "./functions.js";
import { isDeclaredBetween, isReference, nameOf, namesIn } from "./scoping.js";
import type { Read } from "../plan/schema.js";
import type { DefinitionFile } from "./parser.js";

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

/** What a handler reads of its scope; `"*"` when its use hides which names it reads. */
export type Reads = Read[] | "*";

/** Finds which names of its scope, or of another argument, a function reads, by syntax. */
export function readsOf(
  fn: FunctionNode,
  role: Role,
  file: DefinitionFile,
  argument: Argument = "scope",
): Reads {
  const binding = bindingOf(fn, role, argument);
  if (binding === undefined) return [];
  if (binding === "hidden") return "*";
  if (Node.isObjectBindingPattern(binding)) return readsOfPattern(binding, file);
  if (!Node.isIdentifier(binding)) return "*";
  const body = fn.getBody();
  // A `var` of the same name belongs to the whole function.
  const isHidden = Node.isBlock(body) && namesIn(body.compilerNode).has(nameOf(binding));
  if (isHidden) return "*";
  return readsThrough(binding, fn, file);
}

/** `{ a, b: renamed, c = 1, d: { e } }` reads a, b, c and d. */
function readsOfPattern(pattern: ObjectBindingPattern, file: DefinitionFile): Reads {
  const reads: Read[] = [];
  for (const element of pattern.getElements()) {
    if (element.getDotDotDotToken() !== undefined) return "*";
    const key = element.getPropertyNameNode() ?? element.getNameNode();
    const name = keyText(key);
    if (name === undefined) return "*";
    reads.push({ name, place: file.placeOf(key) });
  }
  return reads;
}

function keyText(key: Node): string | undefined {
  if (Node.isIdentifier(key)) return nameOf(key);
  if (Node.isComputedPropertyName(key)) return stringOf(key.getExpression());
  return stringOf(key);
}

/** Every use of the scope must read one name; the first that does not makes it all names. */
function readsThrough(parameter: Identifier, fn: FunctionNode, file: DefinitionFile): Reads {
  const reads: Read[] = [];
  const name = nameOf(parameter);
  for (const id of identifiersIn(fn, (text) => text === name)) {
    if (id === parameter) continue;
    if (!isReference(id) || isDeclaredBetween(id, fn)) continue;
    const found = readsOfUse(id, file);
    if (found === "*") return "*";
    reads.push(...found);
  }
  return reads;
}

function readsOfUse(id: Identifier, file: DefinitionFile): Reads {
  const use = wrapping(id);
  const parent = use.getParent();
  // `typeof scope` in a type reads nothing.
  if (Node.isTypeQuery(parent) || Node.isQualifiedName(parent)) return [];
  if (Node.isPropertyAccessExpression(parent)) {
    const member = parent.getNameNode();
    return Node.isIdentifier(member)
      ? [{ name: nameOf(member), place: file.placeOf(member) }]
      : "*";
  }
  if (Node.isElementAccessExpression(parent) && parent.getExpression() === use) {
    const argument = parent.getArgumentExpression();
    const name = stringOf(argument);
    return argument === undefined || name === undefined
      ? "*"
      : [{ name, place: file.placeOf(argument) }];
  }
  if (Node.isVariableDeclaration(parent) && parent.getInitializer() === use) {
    const pattern = parent.getNameNode();
    if (Node.isObjectBindingPattern(pattern)) return readsOfPattern(pattern, file);
  }
  return "*";
}
