import { type Node, ts, type TypeScript } from "../typescript.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { asyncFunction, type Given, isObject, type Known } from "../plan/known.js";
import { placeOf } from "./descendants.js";
import { once } from "../plan/once.js";
import { functionOf, isAsync, isFunctionNode, readOption, stringOf, unwrap } from "./functions.js";
import { Holders } from "./held.js";
import type { DefinitionFile } from "./parser.js";
import { isHidden, variablesIn } from "./scoping.js";
import { moduleOf } from "./tokens.js";
import { isUnchanged } from "./unchanged.js";

/** An object that is written here, or held by a const that nothing in the file changes. */
export function objectOf(value: Node, file: DefinitionFile) {
  const held = heldBy(value, file)?.node;
  if (held === undefined || !ts.isObjectLiteralExpression(held)) return undefined;
  return staysAsItIs(held, moduleOf(file)) ? held : undefined;
}

/** Says whether nothing in a file changes what is written in it, or what a const of it holds. */
export function staysAsItIs(held: Node, module: Module): boolean {
  const { holders } = new Evaluation(undefined);
  return isUnchanged(held, module, (member) => {
    const found = holders.held({ node: member, module })?.node;
    return found !== undefined && literal(found) !== undefined;
  });
}

/**
 * Returns what an expression stands for in its own file, or with `modules` in any file of the app.
 */
export const heldBy = (node: Node, file: DefinitionFile, modules?: AppModules) =>
  new Evaluation(modules).holders.held({ node, module: moduleOf(file) });

/** The text of a name or a key: as it is written, or of a const, a const object or an enum. */
export function constantText(node: Node, file: DefinitionFile): string | undefined {
  return stringOf(node) ?? new Evaluation(file.modules).text({ node, module: moduleOf(file) });
}

/** The value of literals, top-level consts and simple arithmetic; undefined for anything else. */
export const knownValue = once((node: Node, file: DefinitionFile): Known =>
  new Evaluation(undefined).value({ node, module: moduleOf(file) }),
);

type Scalar = string | number | boolean;

class Evaluation {
  readonly holders: Holders;
  /** What is being evaluated. A const that is defined by itself has no value. */
  readonly #open = new Set<Node>();

  /** @param modules for the text of a name; for an option, what may change has no value */
  constructor(private readonly modules: AppModules | undefined) {
    this.holders = new Holders(modules, (name) => this.text(name));
  }

  text(of: Declared): string | undefined {
    const known = this.value(of);
    return typeof known === "string" || typeof known === "number" ? String(known) : undefined;
  }

  value({ node: expression, module }: Declared): Known {
    const node = unwrap(expression);
    // Most are handlers.
    if (ts.isArrowFunction(node)) return other(node, module);
    const inside = (part: Node) => this.value({ node: part, module });
    if (ts.isObjectLiteralExpression(node)) return this.#object(node, module);
    if (ts.isPrefixUnaryExpression(node)) return signed(node.operator, inside(node.operand));
    if (ts.isBinaryExpression(node))
      return combined(node.operatorToken.getText(), inside(node.left), inside(node.right));
    if (ts.isTemplateExpression(node))
      return node.templateSpans.reduce((text: Known, span) => {
        const before = combined("+", text, inside(span.expression));
        return combined("+", before, span.literal.text);
      }, node.head.text);
    if (ts.isEnumMember(node)) return this.#enumMember(node, module);
    const written = literal(node) ?? global(node, module);
    return written ?? this.#held({ node, module }) ?? other(node, module);
  }

  #held(of: Declared): Known {
    const held = this.holders.held(of);
    if (held === undefined || held.node === of.node || this.#open.has(held.node)) return undefined;
    // Of functions only those count that are seen when reads are looked for.
    if (isFunctionNode(held.node)) return undefined;
    const mayChange = this.modules === undefined && isInObject(held.node);
    if (mayChange && !staysAsItIs(held.node, held.module)) return undefined;
    this.#open.add(held.node);
    const value = this.value(held);
    this.#open.delete(held.node);
    return value;
  }

  /** Numbers of an enum count on from the member before. */
  #enumMember(member: TypeScript.EnumMember, module: Module): Known {
    const { initializer: node, parent } = member;
    if (node !== undefined) return this.value({ node, module });
    const before = parent.members[parent.members.indexOf(member) - 1];
    const value = before === undefined ? -1 : this.#enumMember(before, module);
    return typeof value === "number" ? value + 1 : undefined;
  }

  #object(literal: TypeScript.ObjectLiteralExpression, module: Module): Known {
    const fields = new Map<string, Given>();
    let isWhole = true;
    for (const property of literal.properties) {
      const field = readOption(property, (node) => this.text({ node, module }));
      if (field !== undefined) {
        const value = this.value({ node: field.value, module });
        fields.set(field.name, { place: placeOf(field.nameNode, module.source), value });
        continue;
      }
      const node = ts.isSpreadAssignment(property) ? property.expression : undefined;
      const spread = node && this.value({ node, module });
      isWhole &&= isObject(spread) && spread.isWhole;
      // It may have any of the fields before it.
      if (!isObject(spread) || !spread.isWhole) fields.clear();
      else for (const [name, given] of spread.fields) fields.set(name, given);
    }
    return { fields, isWhole };
  }
}

/** Says whether it is an object, or is held by one. */
const isInObject = (node: Node): boolean =>
  ts.isObjectLiteralExpression(node) ||
  ts.findAncestor(node, ts.isObjectLiteralExpression) !== undefined;

const { POSITIVE_INFINITY, NEGATIVE_INFINITY, MAX_VALUE, MAX_SAFE_INTEGER } = Number;
const globals: ReadonlyMap<string, number> = new Map(Object.entries({ NaN, Infinity }));
const numbers: ReadonlyMap<string, number> = new Map(
  Object.entries({ NaN, POSITIVE_INFINITY, NEGATIVE_INFINITY, MAX_VALUE, MAX_SAFE_INTEGER }),
);

/** A number that has a name, unless the file declares that name. */
function global(node: Node, { source, imports }: Module): number | undefined {
  const isMember = ts.isPropertyAccessExpression(node);
  const root = isMember ? node.expression : node;
  if (!ts.isIdentifier(root) || isHidden(root)) return undefined;
  if (imports.has(root.text) || variablesIn(source).has(root.text)) return undefined;
  if (!isMember) return globals.get(root.text);
  return root.text === "Number" ? numbers.get(node.name.text) : undefined;
}

export const isScalar = (value: Known) => value !== undefined && typeof value !== "object";

function literal(node: Node): Scalar | undefined {
  const text = stringOf(node);
  if (text !== undefined) return text;
  if (ts.isNumericLiteral(node)) return Number(node.text);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return true;
  return node.kind === ts.SyntaxKind.FalseKeyword ? false : undefined;
}

/** Returns what can be seen to be no value of an option, whatever is in it. */
function other(node: Node, file: Module): Known {
  if (node.kind === ts.SyntaxKind.NullKeyword) return { is: "null" };
  if (ts.isArrayLiteralExpression(node)) return { is: "a list" };
  if (ts.isBigIntLiteral(node)) return { is: "a bigint" };
  const fn = functionOf(node, file);
  return fn && { is: isAsync(fn) ? asyncFunction : "a function" };
}

function signed(operator: TypeScript.SyntaxKind, operand: Known): Known {
  if (operator === ts.SyntaxKind.ExclamationToken) return isScalar(operand) ? !operand : undefined;
  if (typeof operand !== "number") return undefined;
  if (operator === ts.SyntaxKind.MinusToken) return -operand;
  return operator === ts.SyntaxKind.PlusToken ? operand : undefined;
}

const arithmetic: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
  "**": (a, b) => a ** b,
  "|": (a, b) => a | b,
  "&": (a, b) => a & b,
  "^": (a, b) => a ^ b,
  "<<": (a, b) => a << b,
  ">>": (a, b) => a >> b,
  ">>>": (a, b) => a >>> b,
};

function combined(operator: string, left: Known, right: Known): Known {
  if (typeof left === "number" && typeof right === "number")
    return arithmetic[operator]?.(left, right);
  const isText = typeof left === "string" || typeof right === "string";
  if (operator !== "+" || !isText) return undefined;
  return isScalar(left) && isScalar(right) ? `${left}${right}` : undefined;
}
