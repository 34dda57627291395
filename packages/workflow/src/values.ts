import { convexToJson, getConvexSize, jsonToConvex, type Value } from "convex/values";
import { Failure } from "./errors/failure.js";

/** The most that one value may take: a document holds 1 MiB, and its record needs a little itself. */
export const MAX_VALUE_BYTES = 1_000_000;

/** A list has at most so many elements, an object so many fields, wherever it stands; these are Convex's limits for a document. */
const MAX_ELEMENTS = 8_192;
const MAX_FIELDS = 1_024;
/** A document has 16 levels, and is the first of them itself. */
const MAX_DEPTH = 15;

/**
 * A handler's result as it will be stored: nothing returned is null, a field that is undefined vanishes.
 * What a compensation gives is dropped, so it may be anything: nothing that was undone fails for it.
 * @throws a {@link Failure} `invalidOutput` for what is no Convex value, with the path inside it; `tooLarge` for what does not fit.
 */
export function checkedOutput(stage: string, result: unknown): Value {
  if (stage.endsWith(".compensate")) return null;
  const output = (result ?? null) as Value;
  checkShape(stage, output, "result", 1);
  try {
    convexToJson(output);
  } catch (error) {
    throw new Failure(
      "invalidOutput",
      `The result of "${stage}" cannot be stored: ${(error as Error).message}`,
    );
  }
  const size = getConvexSize(output);
  if (size <= MAX_VALUE_BYTES) return output;
  throw new Failure(
    "tooLarge",
    `The result of "${stage}" takes ${size} bytes; at most ${MAX_VALUE_BYTES} can be stored. ${STORE_ELSEWHERE}`,
  );
}

const STORE_ELSEWHERE = "Put it into file storage or a table of yours, and return its id";

/** What Convex checks when a document is written, and not before; and what its own check does not come to an end with. */
function checkShape(stage: string, value: unknown, path: string, depth: number): void {
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return;
  const refused = (why: string) =>
    new Failure("invalidOutput", `The result of "${stage}" cannot be stored: ${path} ${why}`);
  const large = (of: string) =>
    new Failure("tooLarge", `The result of "${stage}" has ${of}. ${STORE_ELSEWHERE}`);
  if (depth > MAX_DEPTH) throw refused(`is nested more than ${MAX_DEPTH} deep`);
  if (Array.isArray(value)) {
    if (value.length > MAX_ELEMENTS)
      throw large(`${value.length} elements at ${path}; a list can have at most ${MAX_ELEMENTS}`);
    value.forEach((each, index) => checkShape(stage, each, `${path}[${index}]`, depth + 1));
    return;
  }
  const fields = Object.entries(value);
  if (fields.length > MAX_FIELDS)
    throw large(`${fields.length} fields at ${path}; an object can have at most ${MAX_FIELDS}`);
  for (const [name, field] of fields) {
    if (!/^[ -#%-~][ -~]*$/.test(name))
      throw refused(
        `has a field ${JSON.stringify(name)}: a name must not be empty, begin with $, or hold other characters than ASCII`,
      );
    checkShape(stage, field, `${path}.${name}`, depth + 1);
  }
}

/** A value that shares nothing with the one given. */
export function copied(value: unknown): unknown {
  return value === undefined ? undefined : jsonToConvex(convexToJson(value as Value));
}
