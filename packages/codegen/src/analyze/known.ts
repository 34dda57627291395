import type {
  ArrayLiteralExpression,
  CallExpression,
  Identifier,
  ObjectLiteralExpression,
  PropertyAccessExpression,
  SyntaxKind as Operator,
} from "ts-morph";
import { Node, SyntaxKind } from "../ts-morph.js";
import { isAssigned, isDeclaredBetween, nameOf, usesOf } from "./scoping.js";
import type { DefinitionFile } from "./parser.js";
import { constantOf, functionOf, stringOf, unwrap, readOption } from "./functions.js";
import { isImported } from "./modules.js";
import { once } from "../plan/once.js";
import { asyncFunction, type Given, isObject, type Known } from "../plan/known.js";

type Literal = ObjectLiteralExpression | ArrayLiteralExpression;

export function objectOf(value: Node, file: DefinitionFile): ObjectLiteralExpression | undefined {
  const node = unwrap(value);
  const held = heldIn(node, file) ?? node;
  return Node.isObjectLiteralExpression(held) ? held : undefined;
}

/** The object or list of a const at the top of the file that nothing in the file can change. */
export function heldIn(name: Node, file: DefinitionFile): Literal | undefined {
  const held = Node.isIdentifier(name) ? constantOf(name, file) : undefined;
  const isLiteral = Node.isObjectLiteralExpression(held) || Node.isArrayLiteralExpression(held);
  if (!isLiteral || !Node.isIdentifier(name)) return undefined;
  return new Uses(file).leave(nameOf(name), held) ? held : undefined;
}

/** Whether uses of objects and lists leave them unchanged. What cannot be followed may not. */
class Uses {
  readonly #seen = new Set<string>();

  constructor(private readonly file: DefinitionFile) {}

  leave(name: string, held: Node): boolean {
    if (this.#seen.has(name)) return true;
    this.#seen.add(name);
    return usesOf(name, this.file.source).every((id) => this.#leaves(id, held));
  }

  /** @param held what is used, unless it is not known */
  #leaves(use: Node, held: Node | undefined): boolean {
    if (isAssigned(use)) return false;
    const parent = use.getParentOrThrow();
    if (held !== undefined && isFixed(held)) return true;
    if (unwrap(parent) !== parent) return this.#leaves(parent, held);
    if (Node.isTypeQuery(parent) || Node.isExportSpecifier(parent)) return true;
    if (Node.isCallExpression(parent))
      return use !== parent.getExpression() && this.#isTaken(parent);
    if (Node.isPropertyAccessExpression(parent)) {
      const name = parent.getName();
      const isRead = isListOfScalars(held) && readers.has(name);
      return isRead || this.#leaves(parent, memberOf(held, name));
    }
    const isForEach = Node.isForOfStatement(parent) || Node.isSpreadElement(parent);
    if (isForEach || Node.isElementAccessExpression(parent))
      return isListOfScalars(held) && !isAssigned(parent);
    if (Node.isPropertyAssignment(parent) || Node.isShorthandPropertyAssignment(parent))
      return this.#leaves(parent.getParentOrThrow(), undefined);
    if (Node.isSpreadAssignment(parent)) return this.#leaves(parent.getParentOrThrow(), held);
    const name = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
    return (
      Node.isIdentifier(name) &&
      constantOf(name, this.file) !== undefined &&
      this.leave(nameOf(name), held ?? use)
    );
  }

  /** Whether a call takes its arguments into a definition, or as the input of a child. */
  #isTaken(call: CallExpression): boolean {
    const { imports, source } = this.file;
    const callee = call.getExpression();
    if (["defineWorkflow", "child", "childNamed"].some((each) => isImported(callee, imports, each)))
      return true;
    if (!Node.isPropertyAccessExpression(callee)) return false;
    const before = unwrap(callee.getExpression());
    if (Node.isCallExpression(before)) return this.#isTaken(before);
    // The builder of a body.
    return Node.isIdentifier(before) && isDeclaredBetween(before, source);
  }
}

/** What nobody can change. A called method may change its object, so most functions are not. */
const isFixed = (node: Node): boolean => fixed.has(node.getKindName());

const fixed: ReadonlySet<string> = new Set(
  (
    "StringLiteral NumericLiteral BigIntLiteral NoSubstitutionTemplateLiteral TemplateExpression " +
    "TrueKeyword FalseKeyword NullKeyword ArrowFunction PrefixUnaryExpression"
  ).split(" "),
);

const isListOfScalars = (held: Node | undefined): boolean =>
  Node.isArrayLiteralExpression(held) && held.getElements().every((each) => isFixed(unwrap(each)));

const readers: ReadonlySet<string> = new Set(
  (
    "length at concat entries every filter find findIndex findLast flatMap forEach includes indexOf join keys " +
    "lastIndexOf map reduce reduceRight slice some toReversed toSorted toSpliced values with"
  ).split(" "),
);

function memberOf(held: Node | undefined, name: string): Node | undefined {
  if (!Node.isObjectLiteralExpression(held)) return undefined;
  if (!held.getProperties().every(Node.isPropertyAssignment)) return undefined;
  const member = held.getProperty(name);
  const value = Node.isPropertyAssignment(member) ? member.getInitializer() : undefined;
  return value && unwrap(value);
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
    if (Node.isArrowFunction(node)) return other(node, this.file);
    if (Node.isIdentifier(node)) return this.#named(node);
    if (Node.isObjectLiteralExpression(node)) return this.#object(node);
    if (Node.isPropertyAccessExpression(node)) return this.#member(node);
    if (Node.isPrefixUnaryExpression(node))
      return signed(node.getOperatorToken(), this.value(node.getOperand()));
    if (Node.isBinaryExpression(node)) {
      const sides = [this.value(node.getLeft()), this.value(node.getRight())] as const;
      return combined(node.getOperatorToken().getText(), ...sides);
    }
    if (Node.isTemplateExpression(node))
      return node.getTemplateSpans().reduce((text: Known, span) => {
        const inside = combined("+", text, this.value(span.getExpression()));
        return combined("+", inside, span.getLiteral().getLiteralText());
      }, node.getHead().getLiteralText());
    return literal(node) ?? other(node, this.file);
  }

  /** A const that nothing inside the file hides, or a number that has a name. */
  #named(id: Identifier): Known {
    const name = id.getText();
    if (this.#open.has(name) || isDeclaredBetween(id, this.file.source)) return undefined;
    const constant = constantOf(id, this.file);
    if (constant === undefined)
      return this.#isGlobal(name) ? globals.get(name) : other(id, this.file);
    this.#open.add(name);
    // Of an object only one that nothing in the file may change.
    const isHeld = Node.isObjectLiteralExpression(constant);
    const found = isHeld ? objectOf(id, this.file) : constant;
    const value = found && this.value(found);
    this.#open.delete(name);
    return value;
  }

  #isGlobal(name: string): boolean {
    const { source, imports } = this.file;
    return !imports.has(name) && source.getVariableDeclaration(name) === undefined;
  }

  #object(literal: ObjectLiteralExpression): Known {
    const fields = new Map<string, Given>();
    let isWhole = true;
    for (const property of literal.getProperties()) {
      const field = readOption(property);
      if (field !== undefined) {
        const place = this.file.placeOf(field.nameNode);
        fields.set(field.name, { place, value: this.value(field.value) });
        continue;
      }
      const isSpread = Node.isSpreadAssignment(property);
      const spread = isSpread ? this.value(property.getExpression()) : undefined;
      isWhole &&= isObject(spread) && spread.isWhole;
      // It may have any of the fields before it.
      if (!isObject(spread) || !spread.isWhole) fields.clear();
      else for (const [name, given] of spread.fields) fields.set(name, given);
    }
    return { fields, isWhole };
  }

  #member(node: PropertyAccessExpression): Known {
    const owner = unwrap(node.getExpression());
    if (Node.isIdentifier(owner) && owner.getText() === "Number" && this.#isGlobal("Number"))
      return numbers.get(node.getName());
    const object = this.value(owner);
    return isObject(object) ? object.fields.get(node.getName())?.value : undefined;
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
  if (Node.isNumericLiteral(node)) return node.getLiteralValue();
  if (Node.isTrueLiteral(node)) return true;
  return Node.isFalseLiteral(node) ? false : undefined;
}

/** What can be seen to be no value of an option, whatever is in it. */
function other(node: Node, file: DefinitionFile): Known {
  if (Node.isNullLiteral(node)) return { is: "null" };
  if (Node.isArrayLiteralExpression(node)) return { is: "a list" };
  if (Node.isBigIntLiteral(node)) return { is: "a bigint" };
  const fn = functionOf(node, file);
  return fn && { is: fn.isAsync() ? asyncFunction : "a function" };
}

function signed(operator: Operator, operand: Known): Known {
  if (operator === SyntaxKind.ExclamationToken) return isScalar(operand) ? !operand : undefined;
  if (typeof operand !== "number") return undefined;
  if (operator === SyntaxKind.MinusToken) return -operand;
  return operator === SyntaxKind.PlusToken ? operand : undefined;
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
