import { toJson } from "../plan/known.js";
import type { WorkflowPlan } from "../plan/schema.js";
import { type Option, stringOf, unwrap } from "./functions.js";
import { knownValue } from "./known.js";
import { optionSource } from "./nodes/node-kind.js";
import { fileOf, type Options, optionsIn } from "./options.js";
import type { DefinitionFile } from "./parser.js";
import { sourceHash } from "./tokens.js";

/** Returns what a workflow says of how its runs stand to others, as far as it is seen. */
export function readStanding(
  all: Options | undefined,
  definition: DefinitionFile,
): Pick<WorkflowPlan, "one" | "priority" | "fairness" | "collect"> {
  const read = <Made>(name: string, by: (option: Option, file: DefinitionFile) => Made) => {
    const option = all?.get(name);
    return option && by(option, fileOf(option, definition));
  };
  return {
    one: read("one", readOne),
    priority: read("priority", readPriority),
    fairness: read("fairness", hashOf),
    collect: read("collect", readCollect),
  };
}

const hashOf = (option: Option, file: DefinitionFile) =>
  sourceHash(optionSource(new Map([[option.name, option]])), file);

/** Reads the option `one`, which is about runs with the same key. */
function readOne(option: Option, file: DefinitionFile): WorkflowPlan["one"] {
  const otherwise = optionsIn(option.value, file).get("otherwise");
  return { otherwise: otherwise && stringOf(unwrap(otherwise.value)), hash: hashOf(option, file) };
}

/** By how much earlier its actions go. */
const readPriority = (option: Option, file: DefinitionFile): WorkflowPlan["priority"] => ({
  by: scalarOf(option, file),
  hash: hashOf(option, file),
});

/** Returns how it collects its starts. */
function readCollect(option: Option, file: DefinitionFile): WorkflowPlan["collect"] {
  const options = optionsIn(option.value, file);
  const valueOf = (name: string) => {
    const given = options.get(name);
    return given && scalarOf(given, fileOf(given, file));
  };
  const key = options.get("key");
  return {
    keep: valueOf("keep"),
    quiet: valueOf("quiet"),
    atMost: valueOf("atMost"),
    size: valueOf("size"),
    key: key && hashOf(key, file),
    hash: hashOf(option, file),
  };
}

/** A string or a number that is seen. */
function scalarOf({ value }: Option, file: DefinitionFile): string | number | undefined {
  const seen = toJson(knownValue(value, file));
  return typeof seen === "string" || typeof seen === "number" ? seen : undefined;
}
