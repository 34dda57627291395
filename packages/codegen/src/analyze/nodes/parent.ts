import { quote } from "../../diagnostics/diagnostic.js";
import type { StagePlan } from "../../plan/schema.js";
import { childWorkflows } from "../children.js";
import type { DefinitionFile } from "../parser.js";
import { functionOf } from "../functions.js";
import { knownValue } from "../known.js";
import { allReads, readHandler, readHeld, readRecover, reportArgs } from "../handlers.js";
import { type Reads, scopeReads } from "../handlers.js";
import { handlerKinds, type Options, policies, policyOf } from "../options.js";
import { readOptions } from "../options.js";
import { type NodeKind, ofNode, ofPart, type Read, stagePlan } from "./node-kind.js";
import { reportMissing } from "../told-options.js";

const order = [handlerKinds, ["children", "tolerate"], ["reduce"], ["finalize"]];
const handlers: ReadonlySet<string> = new Set(handlerKinds);
const planned = [...policies, "concurrency", "tolerate", "sensitive"];
const known = [...new Set([...order.flat(), "recover", ...planned])];

/** `.parent(name, { action? | mutation? | query?, children, reduce?, finalize?, … })`. */
export const parent: NodeKind = {
  known,
  order,
  planned,
  needed: { children: "(scope) => [child(workflow, input)]" },
  parts(read) {
    const { scope } = read.context;
    const hasHandler = handlerKinds.some((kind) => read.options.has(kind));
    const within = hasHandler ? [...scope, "output"] : scope;
    const finalize = finalizeStage([...within, "children"], read);
    return { stages: [outputStage(scope, read), childrenStage(within, scope, read), finalize] };
  },
};

function outputStage(visible: readonly string[], read: Read): StagePlan | undefined {
  const { named, options, context } = read;
  const at = [...options.values()].find(({ name }) => handlers.has(name))?.nameNode;
  const handler = at && readHandler(options, at, named.label, context.file, known, true);
  const part = {
    ...ofPart(named, "output", []),
    label: `${named.label}, handler`,
    mention: { elsewhere: `the handler of ${quote(named.name)}`, within: "its handler" },
  };
  if (at === undefined && options.rest === undefined)
    reportArgs(options, named.label, context.file);
  if (handler === undefined) return undefined;
  // The timeout of a parent covers all its stages, not one attempt of its handler.
  const { timeout: _, ...values } = handler.policy.values;
  const computed = handler.policy.computed.filter((name) => name !== "timeout");
  const policy = { ...handler.policy, values, computed };
  return stagePlan(part, { ...handler, policy }, { visible }, context.file);
}

/** @param around what `recover` may read: not the handler's `output`, which may have failed */
function childrenStage(
  visible: readonly string[],
  around: readonly string[],
  { named, options, context }: Read,
): StagePlan | undefined {
  const { file, workflows } = context;
  const { label, name } = named;
  const option = options.get("children");
  if (option === undefined && options.rest === undefined) return undefined;
  const ofMost = readsOfMost(options, file);
  const reads = allReads([scopeReads(option, file), ofMost]);
  const fn = option && functionOf(option.value, file);
  const mention = { elsewhere: `the children of ${quote(name)}`, within: "its children" };
  const work = {
    kind: "children",
    policy: policyOf(options, file),
    at: option?.nameNode ?? named.at,
    reads,
    reduce: isReduced(options, label, file) ? true : undefined,
    ...(fn && childWorkflows(fn, file, workflows)),
  } as const;
  const recover = readRecover(options, around, file);
  return stagePlan({ ...ofNode(named), mention }, work, { visible, recover }, file);
}

/** Returns what a `concurrency` reads: one that is not seen may be a function. */
export function readsOfMost(options: Options, file: DefinitionFile): Reads {
  const option = options.get("concurrency");
  if (option === undefined) return options.rest === undefined ? [] : "*";
  return typeof knownValue(option.value, file) === "number" ? [] : scopeReads(option, file);
}

/**
 * Says whether the outputs of the children are reduced; a `reduce` that lacks a part is reported.
 */
export function isReduced(all: Options, label: string, file: DefinitionFile): boolean {
  const option = all.get("reduce");
  // One that is not there is passed over when it runs.
  if (option === undefined) return all.rest !== undefined;
  const of = { label: `${label}, reduce`, at: option.nameNode };
  const options = readOptions(option.value, of.at, of.label, file);
  const needed = { initial: "0", step: "(total, output) => …" };
  if (options !== undefined) reportMissing(options, needed, of, file);
  return true;
}

function finalizeStage(
  visible: readonly string[],
  { named, options, context }: Read,
): StagePlan | undefined {
  const part = ofPart(named, "finalize");
  const how = { known: [...handlerKinds, "args", ...policies] };
  const found = readHeld(options.get("finalize"), part.label, how, context.file);
  if (found === undefined) return undefined;
  const { values, computed } = found.handler.policy;
  const isolate = values["isolate"] === true || computed.includes("isolate") ? true : undefined;
  return stagePlan(part, { ...found.handler, isolate }, { visible }, found.file);
}
