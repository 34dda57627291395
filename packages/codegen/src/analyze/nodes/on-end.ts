import { quote } from "../../diagnostics/diagnostic.js";
import { ON_END } from "../../plan/on-end.js";
import type { NodePlan } from "../../plan/schema.js";
import { readHandler } from "../handlers.js";
import {
  fileOf,
  givenOptions,
  type Options,
  plannedValues,
  readOptions,
  reportUnknown,
} from "../options.js";
import type { DefinitionFile } from "../parser.js";
import { sourceHash } from "../tokens.js";
import { optionSource, stagePlan } from "./node-kind.js";

const planned = ["retry", "timeout"];
const known = ["action", "mutation", "args", ...planned];

/** The `onEnd` among the options of a workflow: a node beside the others, with one stage. */
export function readOnEnd(
  all: Options | undefined,
  workflow: string,
  definition: DefinitionFile,
): NodePlan[] {
  const option = all?.get(ON_END);
  const file = fileOf(option, definition);
  const label = `workflow ${quote(workflow)}, ${ON_END}`;
  const options = option && readOptions(option.value, option.nameNode, label, file);
  if (option === undefined || options === undefined) return [];
  const { nameNode: at } = option;
  const query = options.get("query");
  if (query !== undefined) {
    const message = `${label} is a query, which changes nothing, and nobody sees its result`;
    file.report("oneFunction", query.nameNode, message, "make it a mutation or an action");
    return [];
  }
  reportUnknown(options, known, label, file);
  const handler = readHandler(options, at, label, file);
  if (handler === undefined) return [];
  const name = ON_END;
  const mention = { elsewhere: ON_END, within: ON_END };
  const own = { name, node: name, code: [name], label: name, mention };
  const stage = stagePlan(own, handler, { visible: ["input", "run"], isAside: true }, file);
  const given = givenOptions(options, file);
  return [
    {
      name,
      kind: name,
      stages: [stage],
      options: plannedValues(given, planned),
      hash: sourceHash(optionSource(options), file),
      path: name,
      place: file.placeOf(at),
      given,
      isNamed: false,
    },
  ];
}
