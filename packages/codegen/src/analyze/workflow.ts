import { quote } from "../diagnostics/diagnostic.js";
import { meant } from "../diagnostics/nearest.js";
import type { InputPlan, NodePlan, Renaming, WorkflowPlan } from "../plan/schema.js";
import { ON_END } from "../plan/on-end.js";
import { makesNothing } from "../plan/stage-kinds.js";
import type { Workflows } from "./workflows.js";
import type { DefinitionFile } from "./parser.js";
import type { FoundDefinition, NodeCall } from "./definitions.js";
import { fieldsOf } from "./fields.js";
import { type Option, stringOf, unwrap } from "./functions.js";
import { readLimits } from "./handlers.js";
import { oneInput, readInput, withInput } from "./input.js";
import { analyzeNode, literalName, optionSource } from "./nodes/node-kind.js";
import type { NodeContext, ReadNodes } from "./nodes/node-kind.js";
import {
  fileOf,
  givenOptions,
  optionsIn,
  plannedValues,
  readOptions,
  writeEach,
} from "./options.js";
import type { Options } from "./options.js";
import { readOnEnd } from "./nodes/on-end.js";
import { readOptionReads } from "./option-reads.js";
import { reportSecretReads } from "./secret-reads.js";
import { secretTags } from "./secret-tags.js";
import { reportTags } from "./tags.js";
import { readStanding } from "./standing.js";
import { readWorkflowLimits } from "./workflow-limits.js";
import { nodeKinds } from "./nodes/table.js";
import { sourceHash } from "./tokens.js";
import { reportUnknown } from "./told-options.js";

export function workflowPlan(
  definition: FoundDefinition,
  workflows: Workflows,
  file: DefinitionFile,
): Omit<WorkflowPlan, "isBroken"> {
  const { name, nameNode, root } = definition;
  const [at, label] = [root.expression, `workflow ${quote(name)}`];
  const known = [...own, ...planned];
  const options = readOptions(root.arguments[0], at, label, file, withInput);
  if (options !== undefined) reportUnknown(options, known, label, file, { needed: oneInput });
  const input = options && readInput(options, known, at, name, file);
  const schema = options?.get("input");
  const secrets = secretTags(options, name, file);
  const readNodes: NodeContext["readNodes"] = (calls, inside) =>
    secrets.inLine(() =>
      nodesOf(calls, { file, ...inside, workflow: name, workflows, secrets, readNodes }),
    );
  const given = givenOptions(options ?? new Map(), file);
  const values = plannedValues(given, planned);
  if (options !== undefined) {
    reportTags(options, name, file);
    reportSecretReads(options, name, file);
  }
  const renamedFrom = options && readRenamedFrom(options, name, file);
  const read = readNodes(definition.nodes, { prefix: "", code: [], scope: ["input"] });
  secrets.reportOnEnd(root.arguments, read.nodes);
  return {
    name,
    file: file.file,
    input: input ?? unreadInput,
    fields: schema && fieldsOf(schema.value, file),
    options: values,
    computed: options && computedHash(options, values, file),
    ...read,
    nodes: [...read.nodes, ...readOnEnd(options, name, file)],
    hasUnreadNodes: read.hasUnreadNodes || definition.isPart,
    hasUnknownNames: read.hasUnknownNames || definition.isPart,
    ...readStanding(options, file),
    limits: readWorkflowLimits(options, file),
    renamings: options === undefined ? [] : readRenamings(options, name, file),
    limitNames: options && readLimits(options, ["input"], file)?.names,
    optionReads: options && readOptionReads(options, file),
    given,
    ...(renamedFrom && { renamedFrom }),
    place: file.placeOf(nameNode),
  };
}

/** Returns the hash of the options but `input` whose values cannot be seen, if there are any. */
function computedHash(
  options: Options,
  values: Readonly<Record<string, unknown>>,
  file: DefinitionFile,
): string | undefined {
  const computed = [...options].filter(
    ([name]) => !own.includes(name) && !Object.hasOwn(values, name),
  );
  if (computed.length === 0) return undefined;
  return sourceHash(optionSource(new Map(computed)), file);
}

/** The entries of `renamed: { old: "new" }`, which are part of what is generated. */
function readRenamings(all: Options, workflow: string, definition: DefinitionFile): Renaming[] {
  const option = all.get("renamed");
  const file = fileOf(option, definition);
  const of = `workflow ${quote(workflow)}, renamed`;
  const options = option && optionsIn(option.value, file);
  const entries = [...(options?.values() ?? [])];
  // In the place of a value that may be another one stands what may change it.
  const isOwn = ({ nameNode, value }: Option) => nameNode.parent === value.parent;
  const others = new Set(entries.filter((each) => !isOwn(each)).map(({ value }) => value));
  for (const each of options?.rest ?? others)
    file.report("unreadableOptions", each, `${of} is computed in part`, writeEach);
  return entries.filter(isOwn).flatMap(({ name: old, nameNode, value }) => {
    const now = stringOf(unwrap(value));
    if (now !== undefined) return { old, now, place: file.placeOf(nameNode) };
    const message = `${of}: the new name of ${quote(old)} is not written out`;
    file.report("unreadableOptions", value, message, 'write it as a string: `old: "new"`');
    return [];
  });
}

/** The old name, which is part of what is generated. */
function readRenamedFrom(
  all: Options,
  workflow: string,
  definition: DefinitionFile,
): WorkflowPlan["renamedFrom"] {
  const option = all.get("renamedFrom");
  if (option === undefined) return undefined;
  const file = fileOf(option, definition);
  const name = stringOf(unwrap(option.value));
  if (name !== undefined) return { name, place: file.placeOf(option.nameNode) };
  const message = `the renamedFrom of workflow ${quote(workflow)} is not written out`;
  return file.report("unreadableOptions", option.value, message, 'write `renamedFrom: "oldName"`');
}

/** What is read by itself. */
const own = ["input", "tags", "limits", "one", "priority", "fairness", "collect", ON_END];
const planned = ["retry", "timeout", "retention", "sensitive", "renamed", "renamedFrom"];

function nodesOf(calls: readonly NodeCall[], context: NodeContext): ReadNodes {
  const scope = [...context.scope];
  let hasUnknownNames = false;
  const nodes = calls.flatMap((call) => {
    const file = call.file ?? context.file;
    const node = nodePlan(call, { ...context, file, scope: [...scope] });
    // Also the name of a node that cannot be read: what reads it is not wrong because of that.
    const named = node?.name ?? literalName(call, file);
    hasUnknownNames ||= named === undefined || isOpen(node);
    if (named !== undefined && !(node && makesNothing(node))) scope.push(named);
    context.secrets.report(call, node, file);
    return node ?? [];
  });
  return { nodes, hasUnreadNodes: nodes.length < calls.length, hasUnknownNames };
}

const isOpen = (node: NodePlan | undefined): boolean =>
  node?.bodies?.some((body) => body.hasUnknownNames) === true;

/** Stands for an input that was reported: with an error, nothing is emitted. */
const unreadInput: InputPlan = {
  kind: "copy",
  imports: [],
  expression: { parts: [] },
  globals: [],
  consts: [],
  hash: "",
};

function nodePlan(call: NodeCall, context: NodeContext): NodePlan | undefined {
  const kind = nodeKinds.get(call.kind);
  if (kind !== undefined) return analyzeNode(kind, call, context);
  const message = `workflow ${quote(context.workflow)} has a node of the unknown kind .${call.kind}()`;
  const kinds = [...nodeKinds.keys()];
  const hint = meant(call.kind, kinds, `the kinds are ${kinds.join(", ")}`, (near) => `.${near}()`);
  return context.file.report("unknownNode", call.kindNode, message, hint);
}
