import type { Identifier, ObjectBindingPattern } from "ts-morph";
import { Node } from "../ts-morph.js";
import type { Read } from "../plan/schema.js";
import type { DefinitionFile } from "./definition-file.js";
import { identifiersIn } from "./descendants.js";
import type { FunctionNode } from "./functions.js";
import { declaresVar, isDeclaredBetween, isReference } from "./scoping.js";

/** What a handler reads of its scope; `"*"` when the scope is used in a way that hides which of its names are read. */
export type Reads = Read[] | "*";

/**
 * Finds which names of its scope a handler reads, by syntax.
 *
 * @param parameter the place of the scope among the handler's parameters, from 0
 */
export function readsOf(fn: FunctionNode, parameter: number, file: DefinitionFile): Reads {
  const parameters = fn.getParameters();
  const gathers = parameters.slice(0, parameter + 1).some((each) => each.isRestParameter());
  if (gathers || usesArguments(fn)) return "*";
  const name = parameters[parameter]?.getNameNode();
  if (name === undefined) return [];
  if (Node.isObjectBindingPattern(name)) return readsOfPattern(name, file);
  if (!Node.isIdentifier(name) || declaresVar(fn, name.getText())) return "*";
  return readsThrough(name, fn, file);
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
  if (Node.isIdentifier(key)) return key.getText();
  if (Node.isComputedPropertyName(key)) return stringText(key.getExpression());
  return stringText(key);
}

/** Every use of the scope parameter must be the reading of one name; the first that is not makes it all of them. */
function readsThrough(parameter: Identifier, fn: FunctionNode, file: DefinitionFile): Reads {
  const reads: Read[] = [];
  const name = parameter.getText();
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
  const use = unwrapped(id);
  const parent = use.getParent();
  // `typeof scope` in a type reads nothing.
  if (Node.isTypeQuery(parent) || Node.isQualifiedName(parent)) return [];
  if (Node.isPropertyAccessExpression(parent)) {
    return [{ name: parent.getName(), place: file.placeOf(parent.getNameNode()) }];
  }
  if (Node.isElementAccessExpression(parent) && parent.getExpression() === use) {
    const argument = parent.getArgumentExpression();
    const name = argument === undefined ? undefined : stringText(argument);
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

/** `(scope)`, `scope!` and `scope as Scope` are the scope. */
function unwrapped(id: Node): Node {
  const parent = id.getParent();
  if (
    Node.isParenthesizedExpression(parent) ||
    Node.isNonNullExpression(parent) ||
    Node.isAsExpression(parent) ||
    Node.isSatisfiesExpression(parent)
  ) {
    return unwrapped(parent);
  }
  return id;
}

function stringText(node: Node): string | undefined {
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node))
    return node.getLiteralText();
  return undefined;
}

/** An arrow function has no `arguments` of its own. */
function usesArguments(fn: FunctionNode): boolean {
  if (Node.isArrowFunction(fn)) return false;
  return identifiersIn(fn, (text) => text === "arguments").some(isReference);
}
