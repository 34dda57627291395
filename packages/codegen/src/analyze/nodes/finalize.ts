import { readHandler, stagePlan } from "../handlers.js";
import { readOptions } from "../options.js";
import { nodePlan, type NodeKind } from "./node-kind.js";
import { reportUnsupportedOptions } from "./option-rules.js";

const name = "finalize";
const planned = ["retry", "timeout", "isolate"];

/** `.finalize({ action | mutation | query })`: one stage, whose output is the workflow's. */
export const finalize: NodeKind = {
  analyze(call, { file, scope }) {
    const at = call.kindNode;
    const options = readOptions(call.call.getArguments()[0], at, name, file);
    if (options === undefined)
      return nodePlan(call, file, { kind: name, name, at, stages: [], isFinalize: true });
    reportUnsupportedOptions(options, name, file);
    const handler = readHandler(
      options,
      at,
      { of: name, references: false, optional: false },
      file,
    );
    const mention = { elsewhere: name, within: name };
    const stage =
      handler && stagePlan({ ...handler, name, label: name, mention, visible: scope }, file);
    return nodePlan(call, file, {
      kind: name,
      name,
      at,
      stages: [stage],
      options,
      planned,
      isFinalize: true,
    });
  },
};
