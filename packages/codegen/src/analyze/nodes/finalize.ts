import { handlerKinds, readHandler } from "../handlers.js";
import { stagePlan } from "../stages.js";
import type { NodeKind } from "./node-kind.js";
import { policies } from "./option-rules.js";

const name = "finalize";
const stage = { name, node: name, code: [name], label: name };

/** `.finalize({ action | mutation | query, args? })`: one stage, whose output is the workflow's. */
export const finalize: NodeKind = {
  known: [...handlerKinds, "args", ...policies],
  planned: policies,
  isFinalize: true,
  parts({ named, options, context: { file, scope: visible } }) {
    const handler = readHandler(options, named.at, name, file);
    const mention = { elsewhere: name, within: name };
    return { stages: [handler && stagePlan({ ...handler, ...stage, mention, visible }, file)] };
  },
};
