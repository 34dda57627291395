import { toJson } from "../plan/known.js";
import type { WorkflowPlan } from "../plan/schema.js";
import { knownValue } from "./known.js";
import { optionSource } from "./nodes/node-kind.js";
import { fileOf, type Options } from "./options.js";
import type { DefinitionFile } from "./parser.js";
import { sourceHash } from "./tokens.js";

/** By how much earlier the actions of a workflow go, as far as it is seen. */
export function readPriority(
  all: Options | undefined,
  definition: DefinitionFile,
): NonNullable<WorkflowPlan["priority"]> | undefined {
  const option = all?.get("priority");
  if (option === undefined) return undefined;
  const file = fileOf(option, definition);
  const by = toJson(knownValue(option.value, file));
  return {
    by: typeof by === "string" || typeof by === "number" ? by : undefined,
    hash: sourceHash(optionSource(new Map([[option.name, option]])), file),
  };
}

/** By which keys its actions share the slots of the pool. */
export function readFairness(
  all: Options | undefined,
  definition: DefinitionFile,
): string | undefined {
  const option = all?.get("fairness");
  return (
    option && sourceHash(optionSource(new Map([[option.name, option]])), fileOf(option, definition))
  );
}
