import { type Node, ts, type TypeScript } from "../typescript.js";
import { isAsync, isFunctionNode, keyText, parametersOf } from "./functions.js";
import { readOption, stringOf, unwrap } from "./functions.js";

/* What a function of a schema makes of one value, such as of one that is missing. */

/** A value that is seen. */
export interface Seen {
  readonly value: unknown;
  /** The object or the list that it is. Default: it is none, or not seen. */
  readonly written?: Node;
}

/** Stands for any value but `undefined` and `null`. */
export const some = Symbol("some");

/** Returns what a function returns for a value, as far as literals and conditions show it. */
export function calledWith(fn: Node, value: unknown): Seen | undefined {
  if (ts.isIdentifier(fn)) return converted(fn.text, value);
  if (!isFunctionNode(fn) || fn.body === undefined || isAsync(fn)) return undefined;
  const names = new Map<string, Seen | undefined>();
  const [parameter] = parametersOf(fn);
  if (parameter !== undefined) bind(parameter, { value }, names);
  if (!ts.isBlock(fn.body)) return seen(fn.body, names);
  const returned = returnedBy(fn.body.statements, names);
  return returned === "nothing" ? { value: undefined } : returned;
}

type Names = Map<string, Seen | undefined>;

type Binding = TypeScript.ParameterDeclaration | TypeScript.BindingElement;

/** Gives its value to a name, or to each name of a pattern; undefined if it is not seen. */
function bind(
  { name, initializer }: Pick<Binding, "name" | "initializer">,
  given: Seen | undefined,
  names: Names,
): void {
  const isFilled = initializer !== undefined && given !== undefined && given.value === undefined;
  const value = isFilled ? seen(initializer, names) : given;
  if (ts.isIdentifier(name)) names.set(name.text, value);
  else
    for (const [at, part] of name.elements.entries())
      if (ts.isBindingElement(part)) bind(part, partOf(value?.written, part, at, names), names);
}

/** Returns what a pattern takes of an object or a list. */
function partOf(
  whole: Node | undefined,
  { propertyName, name, dotDotDotToken }: TypeScript.BindingElement,
  at: number,
  names: Names,
): Seen | undefined {
  if (whole === undefined || dotDotDotToken !== undefined) return undefined;
  const parts = ts.isArrayLiteralExpression(whole)
    ? whole.elements.map((value, at) =>
        ts.isSpreadElement(value) ? undefined : { name: at, value },
      )
    : ts.isObjectLiteralExpression(whole)
      ? whole.properties.map((each) => readOption(each))
      : [undefined];
  const key = ts.isArrayLiteralExpression(whole) ? at : keyText(propertyName ?? name);
  if (key === undefined || parts.includes(undefined)) return undefined;
  const part = parts.findLast((each) => each?.name === key);
  return part === undefined ? { value: undefined } : seen(part.value, names);
}

function returnedBy(
  statements: readonly TypeScript.Statement[],
  names: Names,
): Seen | "nothing" | undefined {
  for (const statement of statements) {
    if (ts.isReturnStatement(statement))
      return statement.expression === undefined ? "nothing" : seen(statement.expression, names);
    if (ts.isVariableStatement(statement)) {
      for (const { name, initializer } of statement.declarationList.declarations)
        bind({ name }, initializer && seen(initializer, names), names);
      continue;
    }
    const isTrue = ts.isIfStatement(statement)
      ? truthOf(seen(statement.expression, names))
      : undefined;
    if (!ts.isIfStatement(statement) || isTrue === undefined) return undefined;
    const chosen = isTrue ? statement.thenStatement : statement.elseStatement;
    if (chosen === undefined) continue;
    const returned = returnedBy(ts.isBlock(chosen) ? chosen.statements : [chosen], names);
    if (returned !== "nothing") return returned;
  }
  return "nothing";
}

function seen(expression: Node, names: Names): Seen | undefined {
  const node = unwrap(expression);
  const inside = (part: Node) => seen(part, names);
  const text = stringOf(node);
  if (text !== undefined) return { value: text };
  if (ts.isNumericLiteral(node)) return { value: Number(node.text) };
  if (node.kind === ts.SyntaxKind.NullKeyword) return { value: null };
  if (node.kind === ts.SyntaxKind.TrueKeyword) return { value: true };
  if (node.kind === ts.SyntaxKind.FalseKeyword) return { value: false };
  if (ts.isVoidExpression(node)) return { value: undefined };
  if (ts.isIdentifier(node))
    return node.text === "undefined" ? { value: undefined } : names.get(node.text);
  if (ts.isTemplateExpression(node)) return { value: some };
  if (ts.isObjectLiteralExpression(node)) return { value: some, written: node };
  if (ts.isArrayLiteralExpression(node))
    return node.elements.every((each) => !isMissing(inside(each)))
      ? { value: some, written: node }
      : undefined;
  if (ts.isConditionalExpression(node)) {
    const isTrue = truthOf(inside(node.condition));
    return isTrue === undefined ? undefined : inside(isTrue ? node.whenTrue : node.whenFalse);
  }
  if (ts.isTypeOfExpression(node)) {
    const of = inside(node.expression);
    return of && of.value !== some ? { value: typeof of.value } : undefined;
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    const isTrue = truthOf(inside(node.operand));
    return isTrue === undefined ? undefined : { value: !isTrue };
  }
  if (ts.isBinaryExpression(node)) return combined(node, inside);
  if (ts.isOptionalChain(node)) {
    const before = inside(node.expression);
    return before && isMissing(before) ? { value: undefined } : undefined;
  }
  if (!ts.isCallExpression(node)) return undefined;
  const [argument] = node.arguments;
  const given = argument && inside(argument);
  return given && converted(node.expression.getText(), given.value);
}

const isMissing = (found: Seen | undefined): boolean => found?.value == null;

function truthOf(found: Seen | undefined): boolean | undefined {
  return found === undefined || found.value === some ? undefined : Boolean(found.value);
}

function combined(
  { left, operatorToken, right }: TypeScript.BinaryExpression,
  inside: (part: Node) => Seen | undefined,
): Seen | undefined {
  const operator = operatorToken.getText();
  const one = inside(left);
  if (one === undefined) return undefined;
  if (operator === "??") return isMissing(one) ? inside(right) : one;
  const isTrue = truthOf(one);
  if (operator === "||" || operator === "&&") {
    if (isTrue === undefined) return undefined;
    return isTrue === (operator === "||") ? one : inside(right);
  }
  const [, sign, strict] = /^([!=])=(=?)$/.exec(operator) ?? [];
  const other = inside(right);
  if (sign === undefined || other === undefined) return undefined;
  const areMissing = [one, other].map(isMissing);
  if ([one, other].some(({ value }) => value === some) && !areMissing.includes(true))
    return undefined;
  const areBothMissing = strict === "" && !areMissing.includes(false);
  return { value: (areBothMissing || one.value === other.value) === (sign === "=") };
}

/** What JavaScript's own functions make of a value that is seen. */
function converted(name: string, value: unknown): Seen | undefined {
  if (value === some || !Object.hasOwn(conversions, name)) return undefined;
  return { value: conversions[name]?.(value) };
}

const conversions: Readonly<Record<string, (value: unknown) => unknown>> = {
  String,
  Number,
  Boolean,
  "Array.isArray": Array.isArray,
};
