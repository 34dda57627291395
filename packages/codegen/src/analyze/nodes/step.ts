import type { StagePlan } from "../../plan/schema.js";
import { handlerKinds, readHandler, readRecover } from "../handlers.js";
import { readOptions, type Options } from "../options.js";
import { stagePlan } from "../stages.js";
import {
  nodePlan,
  ofNode,
  ofPart,
  readName,
  type Named,
  type NodeContext,
  type NodeKind,
} from "./node-kind.js";
import { policies, reportOrder, reportUnknown } from "./option-rules.js";

const planned = [...policies, "sensitive"];
const known = [...handlerKinds, "args", ...planned, "recover", "compensate"];
/** A compensation sees what either of them gives; these see nothing of each other. */
const order = [[...handlerKinds, "recover"], ["compensate"]];

/**
 * `.step(name, { action | mutation | query, args?, recover?, compensate? })`: the stage of its function, and that of what undoes it,
 * which stands in no sequence.
 */
export const step: NodeKind = {
  analyze(call, context) {
    const { file, scope: visible } = context;
    const named = readName(call, context);
    if (named === undefined) return undefined;
    const options = readOptions(call.call.getArguments()[1], call.kindNode, named.label, file);
    if (options === undefined) return nodePlan(call, named, context, { stages: [] });
    reportUnknown(options, known, named.label, file);
    reportOrder(options, order, named.label, file);
    const rules = { of: named.label, references: true, optional: false };
    const handler = readHandler(options, named.at, rules, file);
    const reads = readRecover(options, named, file);
    const recover = reads && { reads, visible };
    const stage = handler && stagePlan({ ...handler, ...ofNode(named), visible, recover }, file);
    const stages = [stage, compensateStage(options, named, context)];
    return nodePlan(call, named, context, { stages, options, planned });
  },
};

function compensateStage(
  all: Options,
  named: Named,
  { file, scope }: NodeContext,
): StagePlan | undefined {
  const option = all.get("compensate");
  if (option === undefined) return undefined;
  const part = ofPart(named, "compensate");
  const options = readOptions(option.value, option.nameNode, part.label, file);
  if (options === undefined) return undefined;
  const query = options.get("query");
  if (query !== undefined) {
    const message = `${part.label} is a query, which cannot undo anything`;
    const hint = "make it a mutation or an action";
    file.report("queryCompensation", query.nameNode, message, hint);
    return undefined;
  }
  reportUnknown(options, ["action", "mutation", "args", "retry", "timeout"], part.label, file);
  const rules = { of: part.label, references: true, optional: false };
  const handler = readHandler(options, option.nameNode, rules, file);
  const visible = [...scope, "output", "error"];
  return handler && stagePlan({ ...handler, ...part, visible, isAside: true }, file);
}
