import { readHandler, stagePlan } from "../handlers.js";
import { readOptions } from "../options.js";
import { nodePlan, readName, type NodeKind } from "./node-kind.js";
import { reportUnsupportedOptions } from "./option-rules.js";

/** `.step(name, { action | mutation | query, args? })`: one stage, that of its function. */
export const step: NodeKind = {
  analyze(call, context) {
    const { file, scope } = context;
    const named = readName(call, context);
    if (named === undefined) return undefined;
    const { name, node: at } = named;
    const label = `step ${JSON.stringify(name)}`;
    const options = readOptions(call.call.getArguments()[1], call.kindNode, label, file);
    if (options === undefined) return nodePlan(call, file, { kind: "step", name, at, stages: [] });
    reportUnsupportedOptions(options, label, file);
    const handler = readHandler(
      options,
      at,
      { of: label, references: true, optional: false },
      file,
    );
    const mention = { elsewhere: JSON.stringify(name), within: JSON.stringify(name) };
    const stage = handler && stagePlan({ ...handler, name, label, mention, visible: scope }, file);
    return nodePlan(call, file, {
      kind: "step",
      name,
      at,
      stages: [stage],
      options,
      planned: ["retry", "timeout", "isolate"],
    });
  },
};
