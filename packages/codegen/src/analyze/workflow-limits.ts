import { ts } from "../typescript.js";
import type { WorkflowPlan } from "../plan/schema.js";
import { sortedBy } from "../plan/sorted.js";
import { stringOf, unwrap } from "./functions.js";
import { fileOf, type Options, optionsIn } from "./options.js";
import type { DefinitionFile } from "./parser.js";
import { sourceHash } from "./tokens.js";

/** What a workflow says of limits, as far as it is seen: see `limits` in plan/schema.ts. */
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
    for (const { value: key, ...of } of keys.values()) {
      const isKeyless = key.kind === ts.SyntaxKind.TrueKeyword;
      found.set(of.name, isKeyless ? "" : sourceHash([key], of.elsewhere ?? file));
    }
    if (keys.rest !== undefined) found.set("*", sourceHash([value], file));
  }
  return Object.fromEntries(sortedBy(found, ([name]) => name));
}
