import { isPlain, isPromise, literalText } from "./literal.js";
import { HALF_PAIR, wellFormed } from "./result.js";

const MAX_ELEMENTS = 8_192;
const MAX_FIELDS = 1_024;
/** How long the name of a field can be. */
const MAX_NAME = 1_024;

/** Why the shape of a value does not fit: it is too large, or cannot be stored at all. */
interface Misshape {
  readonly isTooLarge: boolean;
  /** With the place: `has 9000 elements at result.list; …`, `result[0] is nested …`. */
  readonly text: string;
}

/** Checks what Convex checks only on writing a document, and cycles. @param path for messages. */
export function misshapeOf(
  value: unknown,
  path: string,
  maxDepth: number,
  depth = 1,
): Misshape | undefined {
  // Convex says so without the place.
  if (typeof value === "bigint" && BigInt.asIntN(64, value) !== value)
    return unfit(`${path} is a bigint that does not fit into 64 bits`);
  // A back end that reads JSON strictly refuses the whole call that carries it.
  if (typeof value === "string" && wellFormed(value) !== value)
    return unfit(`${path} is a text with ${HALF_PAIR}`);
  const unstorable = whyNone(value);
  if (unstorable !== undefined) return unfit(`${path} is ${unstorable}`);
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return undefined;
  if (depth > maxDepth) return unfit(`${path} is nested more than ${maxDepth} deep`);
  if (Array.isArray(value)) {
    if (value.length > MAX_ELEMENTS)
      return tooLarge(
        `${value.length} elements at ${path}; a list can have at most ${MAX_ELEMENTS}`,
      );
    return firstOf(value.entries(), ([index, each]) => {
      const place = `${path}[${index}]`;
      if (each !== undefined) return misshapeOf(each, place, maxDepth, depth + 1);
      // Convex takes a hole of a list for null, and refuses undefined without saying where.
      const is = Object.hasOwn(value, index) ? "undefined" : "a hole";
      return unfit(`${place} is ${is} in the list: write null there`);
    });
  }
  const fields = Object.entries(value);
  if (fields.length > MAX_FIELDS)
    return tooLarge(`${fields.length} fields at ${path}; an object can have at most ${MAX_FIELDS}`);
  return firstOf(fields, ([name, field]) =>
    // Convex would make a prototype of it, and drop what it holds.
    /^(?!__proto__$)[ -#%-~][ -~]{0,1023}$/.test(name)
      ? misshapeOf(field, `${path}.${name}`, maxDepth, depth + 1)
      : unfit(
          `${path} has a field ${literalText(name)}: a name must not be empty, __proto__ or begin with $, hold other characters than ASCII, or more than ${MAX_NAME} of them`,
        ),
  );
}

/** Returns what a value is that is no Convex value, and what to write; undefined if it is one. */
function whyNone(value: unknown): string | undefined {
  if (typeof value === "symbol" || typeof value === "function")
    return `a ${typeof value}, which ${NOT_STORED}`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  if (value instanceof ArrayBuffer || isPlain(value)) return undefined;
  return `${literalText(value)}, which ${NOT_STORED}${adviceFor(value)}`;
}
const NOT_STORED = "is no Convex value";

function adviceFor(value: object): string {
  if (isPromise(value)) return ": await it";
  if (value instanceof Date) return ": write its getTime()";
  if (ArrayBuffer.isView(value)) return ": write its slice().buffer";
  if (value instanceof Map) return ": write Object.fromEntries(it)";
  if (value instanceof Set || Symbol.iterator in value) return ": write [...it]";
  return ": write a plain object";
}

const unfit = (text: string): Misshape => ({ isTooLarge: false, text });
const tooLarge = (what: string): Misshape => ({ isTooLarge: true, text: `has ${what}` });

function firstOf<Each>(all: Iterable<Each>, check: (each: Each) => Misshape | undefined) {
  for (const each of all) {
    const found = check(each);
    if (found !== undefined) return found;
  }
  return undefined;
}
