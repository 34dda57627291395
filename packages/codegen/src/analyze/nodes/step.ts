import type { StagePlan } from "../../plan/schema.js";
import { ofAside, oneHandler, readHandler, readHeld } from "../handlers.js";
import { readLimits, readRecover } from "../handlers.js";
import { handlerKinds, policies } from "../options.js";
import { type NodeKind, ofNode, ofPart, type Read, stagePlan } from "./node-kind.js";

const planned = [...policies, "waitAtMost", "sensitive"];
const ofStep = [...handlerKinds, "args", ...planned, "recover", "limits", "compensate"];
const ofFinalize = [...handlerKinds, "args", ...policies];

/** `.step(name, { action | mutation | query, … })`: its function, and what undoes it. */
export const step: NodeKind = {
  known: ofStep,
  needsOne: oneHandler,
  // A compensation sees what either of them gives; these see nothing of each other.
  order: [[...handlerKinds, "recover"], ["compensate"]],
  planned,
  parts(read) {
    const { named, options, context } = read;
    const { file, scope: visible } = context;
    const handler = readHandler(options, named.at, named.label, file, ofStep);
    const recover = readRecover(options, visible, file);
    const limits = readLimits(options, visible, file);
    const stage = handler && stagePlan(ofNode(named), handler, { visible, recover, limits }, file);
    return { stages: [stage, compensateStage(read)] };
  },
};

/** It stands in no sequence. */
function compensateStage({ named, options, context }: Read): StagePlan | undefined {
  const part = ofPart(named, "compensate");
  const how = { known: ofAside, whyNoQuery: "which cannot undo anything" };
  const found = readHeld(options.get("compensate"), part.label, how, context.file);
  const visible = [...context.scope, "output", "error"];
  return found && stagePlan(part, found.handler, { visible, isAside: true }, found.file);
}

/** `.finalize({ action | mutation | query, args? })`: one stage, whose output is the workflow's. */
export const finalize: NodeKind = {
  known: ofFinalize,
  needsOne: oneHandler,
  planned: policies,
  lastName: "finalize",
  parts({ named, options, context: { file, scope: visible } }) {
    const { name, at, label } = named;
    const handler = readHandler(options, at, label, file, ofFinalize);
    const own = { ...ofNode(named), mention: { elsewhere: name, within: name } };
    return { stages: [handler && stagePlan(own, handler, { visible }, file)] };
  },
};
