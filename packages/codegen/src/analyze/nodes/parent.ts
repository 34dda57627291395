import { childWorkflows } from "../children.js";
import { functionOf } from "../functions.js";
import { readHandler, scopeReads, stagePlan } from "../handlers.js";
import { policyOf, readOptions, type Option, type Options } from "../options.js";
import type { StagePlan } from "../../plan/schema.js";
import { nodePlan, readName, type NodeContext, type NodeKind } from "./node-kind.js";
import { reportOrder, reportUnsupportedOptions } from "./option-rules.js";

const handlers = ["action", "mutation", "query"];
const order = [handlers, ["children"], ["finalize"]];
const planned = ["retry", "timeout", "isolate", "concurrency", "tolerate"];

/** What the stages of one parent have in common. */
interface Parent {
  readonly name: string;
  readonly label: string;
  readonly options: Options;
  readonly context: NodeContext;
}

/**
 * `.parent(name, { action? | mutation? | query?, children, finalize? })`: the stage of its handler, whose output `children`
 * and `finalize` see as `output`; that of its children; that of its finalize, which sees their outputs as `children`.
 */
export const parent: NodeKind = {
  analyze(call, context) {
    const { file, scope } = context;
    const named = readName(call, context);
    if (named === undefined) return undefined;
    const { name, node: at } = named;
    const label = `parent ${JSON.stringify(name)}`;
    const options = readOptions(call.call.getArguments()[1], call.kindNode, label, file);
    if (options === undefined)
      return nodePlan(call, file, { kind: "parent", name, at, stages: [] });
    reportUnsupportedOptions(options, label, file);
    reportOrder(options, order, label, file);
    if (!options.has("children")) {
      file.report("noChildren", at, `${label} has no children`, {
        hint: "add `children: (scope) => [child(workflow, input)]`, or make it a step",
      });
    }
    const of: Parent = { name, label, options, context };
    const within = handlers.some((kind) => options.has(kind)) ? [...scope, "output"] : scope;
    const stages = [
      outputStage(scope, of),
      childrenStage(within, of),
      finalizeStage([...within, "children"], of),
    ];
    return nodePlan(call, file, { kind: "parent", name, at, stages, options, planned });
  },
};

function outputStage(visible: readonly string[], of: Parent): StagePlan | undefined {
  const { file } = of.context;
  const at = [...of.options.values()].find(({ name }) => handlers.includes(name))?.nameNode;
  const label = `${of.label}, handler`;
  const rules = { of: of.label, references: false, optional: true };
  const handler = at && readHandler(of.options, at, rules, file);
  const mention = { elsewhere: `the handler of ${JSON.stringify(of.name)}`, within: "its handler" };
  return (
    handler && stagePlan({ ...handler, name: `${of.name}.output`, label, mention, visible }, file)
  );
}

function childrenStage(visible: readonly string[], of: Parent): StagePlan | undefined {
  const { file, workflows: known } = of.context;
  const option: Option | undefined = of.options.get("children");
  const reads = option && scopeReads(option, `the children of ${of.label}`, file);
  const fn = option && functionOf(option.value, file);
  if (option === undefined || reads === undefined || fn === undefined) return undefined;
  const workflows = childWorkflows(fn, file, known);
  const mention = {
    elsewhere: `the children of ${JSON.stringify(of.name)}`,
    within: "its children",
  };
  const { name, label } = of;
  const policy = policyOf(of.options, file);
  return stagePlan(
    {
      name,
      label,
      mention,
      kind: "children",
      reads,
      policy,
      at: option.nameNode,
      visible,
      workflows,
    },
    file,
  );
}

function finalizeStage(visible: readonly string[], of: Parent): StagePlan | undefined {
  const { file } = of.context;
  const option = of.options.get("finalize");
  if (option === undefined) return undefined;
  const label = `${of.label}, finalize`;
  const options = readOptions(option.value, option.nameNode, label, file);
  if (options === undefined) return undefined;
  reportUnsupportedOptions(options, label, file);
  const handler = readHandler(
    options,
    option.nameNode,
    { of: label, references: false, optional: false },
    file,
  );
  const mention = {
    elsewhere: `the finalize of ${JSON.stringify(of.name)}`,
    within: "its finalize",
  };
  return (
    handler && stagePlan({ ...handler, name: `${of.name}.finalize`, label, mention, visible }, file)
  );
}
