import { convexToJson, getConvexSize, type Value } from "convex/values";
import { Failure } from "./errors/failure.js";

/** The most that one value may take: a document holds 1 MiB, and its record needs a little itself. */
export const MAX_VALUE_BYTES = 1_000_000;

/**
 * A handler's result as it will be stored: nothing returned is null, a field that is undefined vanishes.
 * @throws a {@link Failure} `invalidOutput` for what is no Convex value, with the path inside it; `tooLarge` for what does not fit.
 */
export function checkedOutput(stage: string, result: unknown): Value {
  const output = (result ?? null) as Value;
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
    `The result of "${stage}" takes ${size} bytes; at most ${MAX_VALUE_BYTES} can be stored. Put it into file storage or a table of yours, and return its id`,
  );
}
