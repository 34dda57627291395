import type { WorkflowPlan } from "../plan/schema.js";
import { readLimits, scopeReads } from "./handlers.js";
import { fileOf, type Options, optionsIn } from "./options.js";
import type { DefinitionFile } from "./parser.js";

/** The options of a workflow that hold functions of its input, by their names. */
const holders = { one: ["key"], collect: ["key"], fairness: ["key", "weight"] };

/** What the options of a workflow read that see its input alone, as far as that is seen. */
export function readOptionReads(
  options: Options,
  definition: DefinitionFile,
): WorkflowPlan["optionReads"] {
  const all = ["tags", "priority"].map((name) => readsOf(options, name, name, definition));
  for (const [holder, names] of Object.entries(holders)) {
    const option = options.get(holder);
    if (option === undefined) continue;
    const file = fileOf(option, definition);
    const inside = optionsIn(option.value, file);
    for (const name of names) all.push(readsOf(inside, name, `${holder}.${name}`, file));
  }
  const reads = readLimits(options, ["input"], definition)?.reads ?? [];
  all.push({ of: "limits", reads: reads === "*" ? [] : reads });
  const known = all.filter((each) => each.reads.length > 0);
  return known.length === 0 ? undefined : known;
}

function readsOf(options: Options, name: string, of: string, definition: DefinitionFile) {
  const option = options.get(name);
  const reads = option === undefined ? [] : scopeReads(option, fileOf(option, definition));
  return { of, reads: reads === "*" ? [] : reads };
}
