import type { WorkflowPlan } from "../plan/schema.js";
import { stringOf, unwrap } from "./functions.js";
import { optionSource } from "./nodes/node-kind.js";
import { fileOf, type Options, optionsIn } from "./options.js";
import type { DefinitionFile } from "./parser.js";
import { sourceHash } from "./tokens.js";

/** What a workflow says of runs with the same key, as far as it is seen. */
export function readOne(
  all: Options | undefined,
  definition: DefinitionFile,
): NonNullable<WorkflowPlan["one"]> | undefined {
  const option = all?.get("one");
  if (option === undefined) return undefined;
  const file = fileOf(option, definition);
  const otherwise = optionsIn(option.value, file).get("otherwise");
  return {
    otherwise: otherwise && stringOf(unwrap(otherwise.value)),
    hash: sourceHash(optionSource(new Map([[option.name, option]])), file),
  };
}
