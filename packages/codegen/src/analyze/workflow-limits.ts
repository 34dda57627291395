import { ts } from "../typescript.js";
import type { WorkflowPlan } from "../plan/schema.js";
import { sortedBy } from "../plan/sorted.js";
import { type Option, stringOf, unwrap } from "./functions.js";
import { fileOf, type Options, optionsIn } from "./options.js";
import type { DefinitionFile } from "./parser.js";
import { sourceHash } from "./tokens.js";

/** Returns what a workflow says of limits, as far as it is seen: see `limits` in plan/schema.ts. */
export function readWorkflowLimits(
  all: Options | undefined,
  definition: DefinitionFile,
): WorkflowPlan["limits"] {
  const option = all?.get("limits");
  if (option === undefined) return undefined;
  const file = fileOf(option, definition);
  const value = unwrap(option.value);
  const list = ts.isArrayLiteralExpression(value) ? value.elements.map(unwrap) : [value];
  const found = new Map<string, string>();
  for (const each of list) {
    const name = stringOf(each);
    if (name !== undefined) {
      found.set(name, "");
      continue;
    }
    const keys = optionsIn(each, file);
    for (const option of keys.values())
      found.set(option.name, hashOf(option, fileOf(option, file)));
    if (keys.rest !== undefined) found.set("*", sourceHash([value], file));
  }
  return Object.fromEntries(sortedBy(found, ([name]) => name));
}

/** Returns the hash of the key and the estimate that are given for a limit. */
function hashOf({ value }: Option, file: DefinitionFile): string {
  const given = unwrap(value);
  if (given.kind === ts.SyntaxKind.TrueKeyword) return "";
  const budget = ts.isObjectLiteralExpression(given) ? optionsIn(given, file) : undefined;
  // What it has used is asked of each output: nothing is stored of that.
  if (budget === undefined || budget.rest !== undefined) return sourceHash([value], file);
  const of = (option: Option | undefined) =>
    option === undefined ? "" : sourceHash([option.value], fileOf(option, file));
  return `${of(budget.get("key"))}=${of(budget.get("estimate"))}`;
}
