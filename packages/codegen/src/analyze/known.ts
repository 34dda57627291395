import { type Node, ts, type TypeScript } from "../typescript.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { type Given, type GivenOptions, isObject, isOther } from "../plan/known.js";
import { type Known, ofFunction } from "../plan/known.js";
import { placeOf } from "./descendants.js";
import { once } from "../plan/once.js";
import { functionOf, isAbsent, isAsync, isFunctionNode, readOption } from "./functions.js";
import { stringOf, unwrap } from "./functions.js";
import { Holders } from "./held.js";
import type { DefinitionFile } from "./parser.js";
import { isDeclaredInFile, isHidden } from "./scoping.js";
import { moduleOf } from "./tokens.js";
import { isUnchanged } from "./unchanged.js";

/** An object that is written here, or held by a const that nothing in the file changes. */
export function objectOf(value: Node, file: DefinitionFile) {
  const { node: held, without } = heldBy(value, file) ?? {};
  if (held === undefined || !ts.isObjectLiteralExpression(held)) return undefined;
  return without === undefined && staysAsItIs(held, moduleOf(file)) ? held : undefined;
}

/** Says whether nothing in a file changes what is written in it, or what a const of it holds. */
export const staysAsItIs = once((held: Node, module: Module): boolean => {
  const { holders } = new Evaluation(undefined);
  return isUnchanged(held, module, (member) => {
    const found = holders.held({ node: member, module })?.node;
    return found !== undefined && literal(found) !== undefined;
  });
});

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
  /** The values of consts: each may be used many times by the next one. */
  readonly #known = new Map<Node, Known>();
  /** The fields of an object that are `undefined`, which a spread of it takes away. */
  readonly #absent = new WeakMap<GivenOptions, ReadonlySet<string>>();

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
    if (ts.isArrayLiteralExpression(node)) {
      const isSeen = !node.elements.some(ts.isSpreadElement);
      return { is: "a list", ...(isSeen && { items: node.elements.map(inside) }) };
    }
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
    if (isFunctionNode(held.node) || held.without !== undefined) return undefined;
    const isOption = this.modules === undefined;
    if (isOption && ts.findAncestor(held.node, isOpenMember) !== undefined) return undefined;
    const mayChange = isOption && isInObject(held.node);
    if (mayChange && !staysAsItIs(held.node, held.module)) return undefined;
    if (!this.#known.has(held.node)) {
      this.#open.add(held.node);
      this.#known.set(held.node, this.value(held));
      this.#open.delete(held.node);
    }
    const value = this.#known.get(held.node);
    // Something may be added to a list.
    return isOther(value) ? { is: value.is } : value;
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
    const absent = new Set<string>();
    const set = (name: string, given: Given | undefined) => {
      if (given === undefined) fields.delete(name);
      else fields.set(name, given);
      if (given === undefined) absent.add(name);
      else absent.delete(name);
    };
    let isWhole = true;
    for (const property of literal.properties) {
      const field = readOption(property, (node) => this.text({ node, module }));
      if (field !== undefined) {
        const value = this.value({ node: field.value, module });
        const place = placeOf(field.nameNode, module.source);
        set(field.name, isAbsent(field.value) ? undefined : { place, value });
        continue;
      }
      const node = ts.isSpreadAssignment(property) ? property.expression : undefined;
      const spread = node && this.value({ node, module });
      isWhole &&= isObject(spread) && spread.isWhole;
      // It may have any of the fields before it.
      if (!isObject(spread) || !spread.isWhole) fields.clear();
      else {
        for (const [name, given] of spread.fields) set(name, given);
        for (const name of this.#absent.get(spread.fields) ?? []) set(name, undefined);
      }
    }
    this.#absent.set(fields, absent);
    return { fields, isWhole };
  }
}

/** Says whether it is an object or a list, or is held by one. */
const isInObject = (node: Node): boolean => ts.findAncestor(node, isHolding) !== undefined;

/** Says whether it is of a class, and anything may give it another value. */
const isOpenMember = (node: Node): boolean =>
  ts.isPropertyDeclaration(node) &&
  node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword) !== true;

const isHolding = (node: Node): boolean =>
  ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node);

const { POSITIVE_INFINITY, NEGATIVE_INFINITY, MAX_VALUE, MAX_SAFE_INTEGER } = Number;
const globals: ReadonlyMap<string, number> = new Map(Object.entries({ NaN, Infinity }));
const numbers: ReadonlyMap<string, number> = new Map(
  Object.entries({ NaN, POSITIVE_INFINITY, NEGATIVE_INFINITY, MAX_VALUE, MAX_SAFE_INTEGER }),
);

/** A number that has a name. */
function global(node: Node, module: Module): number | undefined {
  const isMember = ts.isPropertyAccessExpression(node);
  const name = nameOfGlobal(isMember ? node.expression : node, module);
  if (name === undefined || !isMember) return globals.get(name ?? "");
  return name === "Number" ? numbers.get(node.name.text) : undefined;
}

/** The name, unless the file declares or imports it. */
function nameOfGlobal(id: Node, { source, imports }: Module): string | undefined {
  if (!ts.isIdentifier(id) || isHidden(id)) return undefined;
  return imports.has(id.text) || isDeclaredInFile(id.text, { source }) ? undefined : id.text;
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
  if (ts.isBigIntLiteral(node)) return { is: "a bigint" };
  if (ts.isRegularExpressionLiteral(node)) return { is: "a RegExp" };
  if (ts.isNewExpression(node)) {
    const name = nameOfGlobal(node.expression, file);
    return name !== undefined && ofData.has(name) ? { is: `a ${name}` } : undefined;
  }
  const fn = functionOf(node, file);
  return fn && ofFunction(isAsync(fn));
}

/** Classes of JavaScript that hold data. Of a class of the app nobody knows what it is for. */
const ofData: ReadonlySet<string> = new Set(["Date", "Map", "Set", "Promise", "RegExp", "URL"]);

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
  if (!isScalar(left) || !isScalar(right)) return undefined;
  const [before, after] = [String(left), String(right)];
  return before.length + after.length > longestText ? undefined : before + after;
}

/** Consts can double a text many times over. No option and no name has one that is as long. */
const longestText = 100_000;
