import type { StagePlan } from "../../plan/schema.js";
import { readHandler, readRecover } from "../handlers.js";
import { fileOf, policies, readOptions, reportUnknown, handlerKinds } from "../options.js";
import { type NodeKind, ofNode, ofPart, type Read, stagePlan } from "./node-kind.js";

const planned = [...policies, "sensitive"];

/** `.step(name, { action | mutation | query, … })`: its function, and what undoes it. */
export const step: NodeKind = {
  known: [...handlerKinds, "args", ...planned, "recover", "compensate"],
  // A compensation sees what either of them gives; these see nothing of each other.
  order: [[...handlerKinds, "recover"], ["compensate"]],
  planned,
  parts(read) {
    const { named, options, context } = read;
    const { file, scope: visible } = context;
    const handler = readHandler(options, named.at, named.label, file);
    const recover = readRecover(options, visible, file);
    const stage = handler && stagePlan(ofNode(named), handler, { visible, recover }, file);
    return { stages: [stage, compensateStage(read)] };
  },
};

/** It stands in no sequence. */
function compensateStage({ named, options: all, context }: Read): StagePlan | undefined {
  const { scope } = context;
  const option = all.get("compensate");
  const file = fileOf(option, context.file);
  const part = ofPart(named, "compensate");
  const options = option && readOptions(option.value, option.nameNode, part.label, file);
  if (option === undefined || options === undefined) return undefined;
  const query = options.get("query");
  if (query !== undefined) {
    const message = `${part.label} is a query, which cannot undo anything`;
    const hint = "make it a mutation or an action";
    return file.report("oneFunction", query.nameNode, message, hint);
  }
  reportUnknown(options, ["action", "mutation", "args", "retry", "timeout"], part.label, file);
  const handler = readHandler(options, option.nameNode, part.label, file);
  const visible = [...scope, "output", "error"];
  return handler && stagePlan(part, handler, { visible, isAside: true }, file);
}

/** `.finalize({ action | mutation | query, args? })`: one stage, whose output is the workflow's. */
export const finalize: NodeKind = {
  known: [...handlerKinds, "args", ...policies],
  planned: policies,
  lastName: "finalize",
  parts({ named, options, context: { file, scope: visible } }) {
    const { name, at, label } = named;
    const handler = readHandler(options, at, label, file);
    const own = { ...ofNode(named), mention: { elsewhere: name, within: name } };
    return { stages: [handler && stagePlan(own, handler, { visible }, file)] };
  },
};
