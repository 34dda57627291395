import { handlerKinds, readHandler } from "../handlers.js";
import { readOptions } from "../options.js";
import { stagePlan } from "../stages.js";
import { nodePlan, type Named, type NodeKind } from "./node-kind.js";
import { policies, reportUnknown } from "./option-rules.js";

const name = "finalize";

/** `.finalize({ action | mutation | query, args? })`: one stage, whose output is the workflow's. */
export const finalize: NodeKind = {
  analyze(call, context) {
    const { file, scope, prefix } = context;
    const at = call.kindNode;
    if (prefix !== "") {
      const inside = JSON.stringify(prefix.slice(0, -1));
      const message = `a finalize stands inside ${inside}; only a workflow has one`;
      const hint = "make it a step: the last node of a case or a body gives its output";
      file.report("finalizeInBody", at, message, hint);
      return undefined;
    }
    const named: Named = { name, at, path: name, code: [name], label: name };
    const options = readOptions(call.call.getArguments()[0], at, name, file);
    if (options === undefined)
      return nodePlan(call, named, context, { stages: [], isFinalize: true });
    reportUnknown(options, [...handlerKinds, "args", ...policies], name, file);
    const rules = { of: name, references: true, optional: false };
    const handler = readHandler(options, at, rules, file);
    const mention = { elsewhere: name, within: name };
    const parts = { name, node: name, code: [name], label: name, mention, visible: scope };
    const stage = handler && stagePlan({ ...handler, ...parts }, file);
    return nodePlan(call, named, context, {
      stages: [stage],
      options,
      planned: policies,
      isFinalize: true,
    });
  },
};
