import { toJson } from "../plan/known.js";
import type { WorkflowPlan } from "../plan/schema.js";
import { knownValue } from "./known.js";
import { optionSource } from "./nodes/node-kind.js";
import { fileOf, type Options, optionsIn } from "./options.js";
import type { DefinitionFile } from "./parser.js";
import { sourceHash } from "./tokens.js";

/** How a workflow collects its starts, as far as it is seen. */
export function readCollect(
  all: Options | undefined,
  definition: DefinitionFile,
): NonNullable<WorkflowPlan["collect"]> | undefined {
  const option = all?.get("collect");
  if (option === undefined) return undefined;
  const file = fileOf(option, definition);
  const options = optionsIn(option.value, file);
  const valueOf = (name: string) => {
    const given = options.get(name);
    const value = given && toJson(knownValue(given.value, fileOf(given, file)));
    return typeof value === "string" || typeof value === "number" ? value : undefined;
  };
  const key = options.get("key");
  return {
    keep: valueOf("keep"),
    quiet: valueOf("quiet"),
    atMost: valueOf("atMost"),
    size: valueOf("size"),
    key: key && sourceHash(optionSource(new Map([[key.name, key]])), file),
    hash: sourceHash(optionSource(new Map([[option.name, option]])), file),
  };
}
