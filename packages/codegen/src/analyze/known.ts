import { type Node, ts, type TypeScript } from "../typescript.js";
import { isAssigned, isHidden, usesOf, variablesIn } from "./scoping.js";
import type { DefinitionFile } from "./parser.js";
import { constantOf, functionOf, isAsync, readOption, stringOf, unwrap } from "./functions.js";
import { isImported } from "./modules.js";
import { once } from "../plan/once.js";
import { asyncFunction, type Given, isObject, type Known } from "../plan/known.js";

/** An object that is written here, or held by a const that nothing in the file can change. */
export function objectOf(value: Node, file: DefinitionFile) {
  const node = unwrap(value);
  const held = ts.isIdentifier(node) ? constantOf(node, file) : node;
  if (held === undefined || !ts.isObjectLiteralExpression(held)) return undefined;
  return held === node || new Uses(file).leave(node, held) ? held : undefined;
}

/** Whether uses of an object leave it unchanged. What cannot be followed may not. */
class Uses {
  readonly #seen = new Set<string>();

  constructor(private readonly file: DefinitionFile) {}

  leave(name: Node, held: Node): boolean {
    if (!ts.isIdentifier(name)) return false;
    const { text } = name;
    if (this.#seen.has(text)) return true;
    this.#seen.add(text);
    return usesOf(text, this.file.source).every((id) => this.#leaves(id, held));
  }

  /** @param held what is used, unless it is not known */
  #leaves(use: Node, held: Node | undefined): boolean {
    const { parent } = use;
    if (isAssigned(use)) return false;
    if (held !== undefined && isFixed(held)) return true;
    if (unwrap(parent) !== parent) return this.#leaves(parent, held);
    if (ts.isTypeQueryNode(parent) || ts.isExportSpecifier(parent)) return true;
    if (ts.isCallExpression(parent)) return use !== parent.expression && this.#isTaken(parent);
    if (ts.isPropertyAccessExpression(parent))
      return this.#leaves(parent, memberOf(held, parent.name.text));
    if (ts.isPropertyAssignment(parent) || ts.isShorthandPropertyAssignment(parent))
      return this.#leaves(parent.parent, undefined);
    if (ts.isSpreadAssignment(parent)) return this.#leaves(parent.parent, held);
    return (
      ts.isVariableDeclaration(parent) &&
      ts.isIdentifier(parent.name) &&
      constantOf(parent.name, this.file) !== undefined &&
      this.leave(parent.name, held ?? use)
    );
  }

  /** Whether a call takes its arguments into a definition, or as the input of a child. */
  #isTaken({ expression: callee }: TypeScript.CallExpression): boolean {
    const { imports, source } = this.file;
    if (["defineWorkflow", "child", "childNamed"].some((each) => isImported(callee, imports, each)))
      return true;
    if (!ts.isPropertyAccessExpression(callee)) return false;
    const before = unwrap(callee.expression);
    if (ts.isCallExpression(before)) return this.#isTaken(before);
    // The builder of a body.
    return ts.isIdentifier(before) && isHidden(before, source);
  }
}

/** What nobody can change. A called method may change its object, so most functions are not. */
const isFixed = (node: Node): boolean =>
  ts.isLiteralExpression(node) ||
  ts.isTemplateExpression(node) ||
  ts.isPrefixUnaryExpression(node) ||
  ts.isArrowFunction(node) ||
  fixed.has(node.kind);

const { TrueKeyword, FalseKeyword, NullKeyword } = ts.SyntaxKind;
const fixed: ReadonlySet<TypeScript.SyntaxKind> = new Set([TrueKeyword, FalseKeyword, NullKeyword]);

function memberOf(held: Node | undefined, name: string): Node | undefined {
  const all = held && ts.isObjectLiteralExpression(held) ? [...held.properties] : [];
  const fields = all.filter(ts.isPropertyAssignment);
  const member = fields.find((each) => each.name.getText() === name);
  return member && fields.length === all.length ? unwrap(member.initializer) : undefined;
}

/** The value of literals, top-level consts and simple arithmetic; undefined for anything else. */
export const knownValue = once((value: Node, file: DefinitionFile): Known =>
  new Evaluation(file).value(value),
);

type Scalar = string | number | boolean;

class Evaluation {
  /** The consts whose values are being evaluated. One that is defined by itself has none. */
  readonly #open = new Set<string>();

  constructor(private readonly file: DefinitionFile) {}

  value(expression: Node): Known {
    const node = unwrap(expression);
    // Most are handlers.
    if (ts.isArrowFunction(node)) return other(node, this.file);
    if (ts.isIdentifier(node)) return this.#named(node);
    if (ts.isObjectLiteralExpression(node)) return this.#object(node);
    if (ts.isPropertyAccessExpression(node)) return this.#member(node);
    if (ts.isPrefixUnaryExpression(node)) return signed(node.operator, this.value(node.operand));
    if (ts.isBinaryExpression(node)) {
      const sides = [this.value(node.left), this.value(node.right)] as const;
      return combined(node.operatorToken.getText(), ...sides);
    }
    if (ts.isTemplateExpression(node))
      return node.templateSpans.reduce((text: Known, span) => {
        const inside = combined("+", text, this.value(span.expression));
        return combined("+", inside, span.literal.text);
      }, node.head.text);
    return literal(node) ?? other(node, this.file);
  }

  /** A const that nothing inside the file hides, or a number that has a name. */
  #named(id: TypeScript.Identifier): Known {
    const name = id.text;
    if (this.#open.has(name) || isHidden(id, this.file.source)) return undefined;
    const constant = constantOf(id, this.file);
    if (constant === undefined)
      return this.#isGlobal(name) ? globals.get(name) : other(id, this.file);
    this.#open.add(name);
    // Of an object only one that nothing in the file may change.
    const isHeld = ts.isObjectLiteralExpression(constant);
    const found = isHeld ? objectOf(id, this.file) : constant;
    const value = found && this.value(found);
    this.#open.delete(name);
    return value;
  }

  #isGlobal(name: string): boolean {
    const { source, imports } = this.file;
    return !imports.has(name) && !variablesIn(source).has(name);
  }

  #object(literal: TypeScript.ObjectLiteralExpression): Known {
    const fields = new Map<string, Given>();
    let isWhole = true;
    for (const property of literal.properties) {
      const field = readOption(property);
      if (field !== undefined) {
        const place = this.file.placeOf(field.nameNode);
        fields.set(field.name, { place, value: this.value(field.value) });
        continue;
      }
      const isSpread = ts.isSpreadAssignment(property);
      const spread = isSpread ? this.value(property.expression) : undefined;
      isWhole &&= isObject(spread) && spread.isWhole;
      // It may have any of the fields before it.
      if (!isObject(spread) || !spread.isWhole) fields.clear();
      else for (const [name, given] of spread.fields) fields.set(name, given);
    }
    return { fields, isWhole };
  }

  #member(node: TypeScript.PropertyAccessExpression): Known {
    const owner = unwrap(node.expression);
    if (ts.isIdentifier(owner) && owner.text === "Number" && this.#isGlobal("Number"))
      return numbers.get(node.name.text);
    const object = this.value(owner);
    return isObject(object) ? object.fields.get(node.name.text)?.value : undefined;
  }
}

const { POSITIVE_INFINITY, NEGATIVE_INFINITY, MAX_VALUE, MAX_SAFE_INTEGER } = Number;
const globals: ReadonlyMap<string, number> = new Map(Object.entries({ NaN, Infinity }));
const numbers: ReadonlyMap<string, number> = new Map(
  Object.entries({ NaN, POSITIVE_INFINITY, NEGATIVE_INFINITY, MAX_VALUE, MAX_SAFE_INTEGER }),
);

export const isScalar = (value: Known) => value !== undefined && typeof value !== "object";

function literal(node: Node): Scalar | undefined {
  const text = stringOf(node);
  if (text !== undefined) return text;
  if (ts.isNumericLiteral(node)) return Number(node.text);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return true;
  return node.kind === ts.SyntaxKind.FalseKeyword ? false : undefined;
}

/** What can be seen to be no value of an option, whatever is in it. */
function other(node: Node, file: DefinitionFile): Known {
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
};

function combined(operator: string, left: Known, right: Known): Known {
  if (typeof left === "number" && typeof right === "number")
    return arithmetic[operator]?.(left, right);
  const isText = typeof left === "string" || typeof right === "string";
  if (operator !== "+" || !isText) return undefined;
  return isScalar(left) && isScalar(right) ? `${left}${right}` : undefined;
}
