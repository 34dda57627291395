import { convexToJson, getConvexSize, jsonToConvex, type Value } from "convex/values";
import { Failure } from "./errors/failure.js";
import { misshapeOf } from "./shape.js";

/** The most that one value may take: a document holds 1 MiB, and its record needs a little itself. */
export const MAX_VALUE_BYTES = 1_000_000;

/** A document has 16 levels, and is the first of them itself; what a loop hands on, or children are folded to, stands in a field of a field. */
const MAX_DEPTH = 14;

/**
 * A handler's result as it will be stored: nothing returned is null, a field that is undefined vanishes.
 * What a compensation gives is dropped, so it may be anything: nothing that was undone fails for it.
 * @throws a {@link Failure} `invalidOutput` for what is no Convex value, with the path inside it; `tooLarge` for what does not fit.
 */
export function checkedOutput(stage: string, result: unknown): Value {
  if (stage.endsWith(".compensate")) return null;
  const output = (result ?? null) as Value;
  const misshape = misshapeOf(output, "result", MAX_DEPTH);
  if (misshape?.isTooLarge === true)
    throw new Failure("tooLarge", `The result of "${stage}" ${misshape.text}. ${STORE_ELSEWHERE}`);
  if (misshape !== undefined)
    throw new Failure(
      "invalidOutput",
      `The result of "${stage}" cannot be stored: ${misshape.text}`,
    );
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

/** A value that shares nothing with the one given. */
export function copied(value: unknown): unknown {
  return value === undefined ? undefined : jsonToConvex(convexToJson(value as Value));
}
