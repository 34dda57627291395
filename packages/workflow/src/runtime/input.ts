import type { StandardSchemaV1 } from "@standard-schema/spec";
import { validate } from "convex-helpers/validators";
import { convexToJson, getConvexSize, type GenericValidator, type Value } from "convex/values";
import type { AnySchema } from "../definition/schema.js";
import { Failure } from "../errors/failure.js";
import { MAX_VALUE_BYTES } from "./values.js";

/**
 * A run's input, parsed: with the schema's defaults and transformations.
 * @throws a {@link Failure} `invalidInput` with every issue and its path, or `tooLarge`.
 */
export function parseInput(workflow: string, schema: AnySchema, input: unknown): Value {
  const parsed =
    "~standard" in schema ? parse(workflow, schema, input) : check(workflow, schema, input);
  try {
    convexToJson(parsed);
  } catch (error) {
    throw new Failure(
      "invalidInput",
      `The input of workflow "${workflow}" cannot be stored as its schema gives it: ${(error as Error).message}`,
    );
  }
  const size = getConvexSize(parsed);
  if (size <= MAX_VALUE_BYTES) return parsed;
  throw new Failure(
    "tooLarge",
    `The input of workflow "${workflow}" takes ${size} bytes; at most ${MAX_VALUE_BYTES} can be stored. Put it into file storage or a table, and pass its id`,
  );
}

function parse(workflow: string, schema: StandardSchemaV1, input: unknown): Value {
  const result = schema["~standard"].validate(input);
  if (result instanceof Promise)
    throw new Failure(
      "invalidInput",
      `The input schema of workflow "${workflow}" checks asynchronously, which a mutation cannot: move that check into a step`,
    );
  if (result.issues === undefined) return result.value as Value;
  const issues = result.issues.map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return `  ${place === "" ? "input" : `input.${place}`}: ${message}`;
  });
  throw invalid(workflow, issues);
}

function check(workflow: string, validator: GenericValidator, input: unknown): Value {
  try {
    validate(validator, input, { throw: true });
  } catch (error) {
    throw invalid(workflow, [`  ${(error as Error).message}`]);
  }
  return input as Value;
}

function invalid(workflow: string, issues: string[]): Failure {
  return new Failure(
    "invalidInput",
    `The input of workflow "${workflow}" does not fit its schema:\n${issues.join("\n")}`,
  );
}
