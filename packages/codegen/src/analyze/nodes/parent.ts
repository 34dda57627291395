import type { Policy, StagePlan } from "../../plan/schema.js";
import { childWorkflows } from "../children.js";
import { functionOf } from "../functions.js";
import { handlerKinds, readHandler, readRecover, scopeReads, type Handler } from "../handlers.js";
import { policyOf, readOptions, type Options } from "../options.js";
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
import { policies, reportMissing, reportOrder, reportUnknown } from "./option-rules.js";

const order = [handlerKinds, ["children", "tolerate"], ["reduce"], ["finalize"]];
const planned = [...policies, "concurrency", "tolerate", "sensitive"];
const known = [...new Set([...order.flat(), "recover", ...planned])];

/** What the stages of one parent have in common. */
interface Parent extends Named {
  readonly options: Options;
  readonly context: NodeContext;
}

/**
 * `.parent(name, { action? | mutation? | query?, children, reduce?, finalize?, recover? })`: the stage of its handler, whose output `children`
 * and `finalize` see as `output`; that of its children; that of its finalize, which sees their outputs as `children`.
 */
export const parent: NodeKind = {
  analyze(call, context) {
    const { file, scope } = context;
    const named = readName(call, context);
    if (named === undefined) return undefined;
    const { label, at } = named;
    const options = readOptions(call.call.getArguments()[1], call.kindNode, label, file);
    if (options === undefined) return nodePlan(call, named, context, { stages: [] });
    reportUnknown(options, known, label, file);
    reportOrder(options, order, label, file);
    if (!options.has("children")) {
      const message = `${label} has no children`;
      const hint = "add `children: (scope) => [child(workflow, input)]`, or make it a step";
      file.report("noChildren", at, message, hint);
    }
    const of: Parent = { ...named, options, context };
    const within = handlerKinds.some((kind) => options.has(kind)) ? [...scope, "output"] : scope;
    const stages = [
      outputStage(scope, of),
      childrenStage(within, scope, of),
      finalizeStage([...within, "children"], of),
    ];
    return nodePlan(call, named, context, { stages, options, planned });
  },
};

function outputStage(visible: readonly string[], of: Parent): StagePlan | undefined {
  const { file } = of.context;
  const at = [...of.options.values()].find(({ name }) => isHandler(name))?.nameNode;
  const rules = { of: of.label, references: false, optional: true };
  const handler = at && readHandler(of.options, at, rules, file);
  const part = {
    ...ofPart(of, "output", []),
    label: `${of.label}, handler`,
    mention: { elsewhere: `the handler of ${JSON.stringify(of.name)}`, within: "its handler" },
  };
  return handler && stagePlan({ ...handler, ...part, visible, policy: ofHandler(handler) }, file);
}

/** The timeout of a parent is that of all its stages together, not of one attempt of its handler. */
function ofHandler({ policy }: Handler): Policy {
  const { timeout: _, ...values } = policy.values;
  return { ...policy, values, computed: policy.computed.filter((name) => name !== "timeout") };
}

const isHandler = (name: string): boolean => handlerKinds.some((kind) => kind === name);

/** @param around what `recover` may read: not the `output` of the handler, which may have failed. */
function childrenStage(
  visible: readonly string[],
  around: readonly string[],
  of: Parent,
): StagePlan | undefined {
  const { file, workflows: known, modules } = of.context;
  const option = of.options.get("children");
  const reads = option && scopeReads(option.value, `the children of ${of.label}`, file);
  const fn = option && functionOf(option.value, file);
  if (option === undefined || reads === undefined || fn === undefined) return undefined;
  const recover = readRecover(of.options, of, file);
  const mention = {
    elsewhere: `the children of ${JSON.stringify(of.name)}`,
    within: "its children",
  };
  return stagePlan(
    {
      ...ofNode(of),
      mention,
      kind: "children",
      reads,
      policy: policyOf(of.options, file),
      at: option.nameNode,
      visible,
      recover: recover && { reads: recover, visible: around },
      reduce: isReduced(of) ? true : undefined,
      workflows: childWorkflows(fn, file, known, modules),
    },
    file,
  );
}

/** Whether the outputs of the children are folded; a `reduce` that lacks a part is reported. */
function isReduced({ options: all, label, context: { file } }: Parent): boolean {
  const option = all.get("reduce");
  if (option === undefined) return false;
  const of = `${label}, reduce`;
  const options = readOptions(option.value, option.nameNode, of, file);
  if (options !== undefined) {
    const needed = { initial: "0", step: "(total, output) => …" };
    reportMissing(options, needed, { label: of, at: option.nameNode }, file);
  }
  return true;
}

function finalizeStage(visible: readonly string[], of: Parent): StagePlan | undefined {
  const { file } = of.context;
  const option = of.options.get("finalize");
  if (option === undefined) return undefined;
  const part = ofPart(of, "finalize");
  const options = readOptions(option.value, option.nameNode, part.label, file);
  if (options === undefined) return undefined;
  reportUnknown(options, [...handlerKinds, "args", ...policies], part.label, file);
  const rules = { of: part.label, references: true, optional: false };
  const handler = readHandler(options, option.nameNode, rules, file);
  return handler && stagePlan({ ...handler, ...part, visible }, file);
}
