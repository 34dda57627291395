import type { JSONValue, Value } from "convex/values";
import { compare, type Document, fieldAt } from "../indexed/order.js";
import { valueOf } from "../indexed/ranges.js";

type Expression = JSONValue;
type Answer = Value | undefined;

/** Evaluates the expression of a query's `filter`. */
export function evaluate(expression: Expression, document: Document): Answer {
  if (typeof expression !== "object" || expression === null || Array.isArray(expression))
    return expression;
  const [operator = "", operand] = Object.entries(expression)[0] ?? [];
  const known = OPERATORS[operator];
  if (known === undefined) throw new Error(`Unknown expression ${JSON.stringify(expression)}`);
  return known(operand as JSONValue, (inner) => evaluate(inner, document), document);
}

type Operator = (
  operand: JSONValue,
  of: (expression: Expression) => Answer,
  document: Document,
) => Answer;

const two =
  (answer: (a: Answer, b: Answer) => Answer): Operator =>
  (operand, of) => {
    const [a = null, b = null] = operand as JSONValue[];
    return answer(of(a), of(b));
  };
const compared = (is: (order: number) => boolean): Operator => two((a, b) => is(compare(a, b)));
const number = (answer: (a: number, b: number) => number): Operator =>
  two((a, b) => answer(a as number, b as number));

const OPERATORS: Readonly<Record<string, Operator>> = {
  $eq: compared((order) => order === 0),
  $neq: compared((order) => order !== 0),
  $lt: compared((order) => order < 0),
  $lte: compared((order) => order <= 0),
  $gt: compared((order) => order > 0),
  $gte: compared((order) => order >= 0),
  $add: number((a, b) => a + b),
  $sub: number((a, b) => a - b),
  $mul: number((a, b) => a * b),
  $div: number((a, b) => a / b),
  $mod: number((a, b) => a % b),
  $neg: (operand, of) => -(of(operand) as number),
  $and: (operand, of) => (operand as JSONValue[]).every((each) => of(each) === true),
  $or: (operand, of) => (operand as JSONValue[]).some((each) => of(each) === true),
  $not: (operand, of) => of(operand) !== true,
  $field: (operand, _of, document) => fieldAt(operand as string)(document),
  $literal: (operand) => valueOf(operand),
};
