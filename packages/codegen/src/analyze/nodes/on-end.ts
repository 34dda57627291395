import { quote } from "../../diagnostics/diagnostic.js";
import { ON_END } from "../../plan/on-end.js";
import type { NodePlan } from "../../plan/schema.js";
import { ofAside, readHeld } from "../handlers.js";
import { givenOptions, type Options, plannedValues } from "../options.js";
import type { DefinitionFile } from "../parser.js";
import { sourceHash } from "../tokens.js";
import { optionSource, stagePlan } from "./node-kind.js";

const planned = ["retry", "timeout"];

/** The `onEnd` among the options of a workflow: a node beside the others, with one stage. */
export function readOnEnd(
  all: Options | undefined,
  workflow: string,
  definition: DefinitionFile,
): NodePlan[] {
  const name = ON_END;
  const option = all?.get(name);
  const whyNoQuery = "which changes nothing, and nobody sees its result";
  const how = { known: ofAside, whyNoQuery };
  const found = readHeld(option, `workflow ${quote(workflow)}, ${name}`, how, definition);
  if (option === undefined || found === undefined) return [];
  const { options, handler, file } = found;
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
      place: file.placeOf(option.nameNode),
      given,
      isNamed: false,
    },
  ];
}
