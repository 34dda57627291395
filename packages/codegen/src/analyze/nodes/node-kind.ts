import { quote } from "../../diagnostics/diagnostic.js";
import type { Node } from "../../typescript.js";
import type { Given } from "../../plan/known.js";
import type { BodyPlan, NodePlan, StagePlan } from "../../plan/schema.js";
import { sortedBy } from "../../plan/sorted.js";
import type { NodeCall } from "../definitions.js";
import type { Option } from "../functions.js";
import type { DefinitionFile } from "../parser.js";
import { constantText } from "../known.js";
import type { Workflows } from "../workflows.js";
import { givenOptions, type Options, plannedValues, readOptions } from "../options.js";
import { fieldsOf } from "../fields.js";
import { sourceHash } from "../tokens.js";
import type { Reads } from "../handlers.js";
import type { SecretTags } from "../secret-tags.js";
import { reportMissing, reportOrder, reportUnknown, type Needs, written } from "../told-options.js";

/** Where a line of nodes stands: a workflow's own, that of a case, or the body of a loop. */
export interface Surroundings {
  /** What its stage names begin with, with the dot: nothing at the top, `route.big.`, `agent.`. */
  readonly prefix: string;
  /** Where its nodes are in the definition's: nowhere at the top level, `agent`, `body`. */
  readonly code: readonly string[];
  readonly scope: readonly string[];
}

export interface ReadNodes {
  readonly nodes: NodePlan[];
  readonly hasUnreadNodes: boolean;
  /** Says whether the name of one of them, or of one inside them, is computed. */
  readonly hasUnknownNames: boolean;
}

/** What is around a node. `scope` holds the names that a handler of this node may read. */
export interface NodeContext extends Surroundings {
  readonly file: DefinitionFile;
  readonly workflow: string;
  readonly workflows: Workflows;
  readonly secrets: SecretTags;
  readonly readNodes: (calls: readonly NodeCall[], inside: Surroundings) => ReadNodes;
}

export interface Read {
  readonly call: NodeCall;
  readonly named: Named;
  /** Empty for a kind that reads its arguments itself. */
  readonly options: Options;
  readonly context: NodeContext;
}

/** How one kind of node is read. Its stages say how it is lowered: see emit/stages.ts. */
export interface NodeKind extends Needs {
  /** Its options, by their names. Absent when it reads its arguments itself. */
  readonly known?: readonly string[];
  /** The order in which TypeScript can infer their types. */
  readonly order?: readonly (readonly string[])[];
  /** The options that belong in the plan if their values can be seen. */
  readonly planned?: readonly string[];
  /** Its name, if nothing follows it, so that it has none of its own. */
  readonly lastName?: string;
  /** Undefined if it cannot be read, which has then been reported. */
  parts(read: Read): NodeParts | undefined;
}

export interface NodeParts {
  readonly stages: readonly (StagePlan | undefined)[];
  readonly bodies?: BodyPlan[];
  /** The schemas of what it takes, by name. Default: none, or they cannot be seen. */
  readonly schemas?: ReadonlyMap<string, Node> | undefined;
  /** How the schemas of an event come into the generated file. */
  readonly events?: NodePlan["events"];
  /** The options that are given with their places. Default: the ones that were read. */
  readonly options?: Options;
  /** The source its hash is of. Default: its options, or without any its arguments but the name. */
  readonly source?: readonly Node[];
}

/** The plan of a node; undefined when it cannot be read, which has then been reported. */
export function analyzeNode(
  kind: NodeKind,
  call: NodeCall,
  context: NodeContext,
): NodePlan | undefined {
  const { file } = context;
  const { known, order, needed, planned = [], lastName } = kind;
  const named = lastName ? nameOfLast(lastName, call, context) : readName(call, context);
  if (named === undefined) return undefined;
  const { name, path, at, label } = named;
  const values = call.call.arguments.filter((each) => each !== at);
  const options =
    known && readOptions(values[0], call.kindNode, label, file, exampleOf(kind, call));
  if (options !== undefined) {
    reportUnknown(options, known ?? [], label, file, kind);
    if (needed !== undefined) reportMissing(options, needed, named, file, known);
    if (order !== undefined) reportOrder(options, order, label, file);
  }
  // One that cannot be read whole has no stages; it keeps its name, which other nodes may read.
  const isUnread = known !== undefined && options === undefined;
  const read = { call, named, options: options ?? new Map(), context };
  const parts: NodeParts | undefined = isUnread ? { stages: [] } : kind.parts(read);
  if (parts === undefined) return undefined;
  const shown = parts.options ?? options;
  const given = givenOptions(shown ?? read.options, file);
  const source = parts.source ?? (shown === undefined ? values : optionSource(shown));
  return {
    name,
    kind: call.kind,
    stages: parts.stages.filter((stage) => stage !== undefined),
    options: plannedValues(given, planned),
    hash: sourceHash(source, file),
    takes:
      parts.schemas &&
      [...parts.schemas].map(([name, schema]) => ({ name, ...fieldsOf(schema, file) })),
    bodies: parts.bodies,
    events: parts.events,
    path,
    place: file.placeOf(at),
    given,
    isNamed: lastName === undefined,
  };
}

/** How a node is written with what it needs. */
function exampleOf({ needed, needsOne = {}, lastName }: NodeKind, { kind, call }: NodeCall) {
  const [one] = Object.entries(needsOne);
  const options = `{ ${written(needed ?? Object.fromEntries(one ? [one] : []))} }`;
  const name = lastName === undefined ? call.arguments[0]?.getText() : undefined;
  return `\`.${kind}(${name === undefined ? options : `${name}, ${options}`})\``;
}

export interface Named {
  readonly name: string;
  readonly at: Node;
  readonly path: string;
  readonly code: readonly string[];
  /** How a person calls it: `step "agent.think"`. */
  readonly label: string;
}

/** The name of a node, which must be written out. `check` has the rules for names. */
function readName(call: NodeCall, context: NodeContext) {
  const { file, workflow, prefix, code } = context;
  const [at = call.kindNode] = call.call.arguments;
  const name = literalName(call, file);
  const { kind } = call;
  const path = `${prefix}${name}`;
  if (name !== undefined)
    return { name, at, path, code: [...code, name], label: `${kind} ${quote(path)}` };
  const isNone = call.call.arguments.length === 0;
  const message = isNone
    ? `this .${kind}() in workflow ${quote(workflow)} has no name`
    : `the name of this .${kind}() in workflow ${quote(workflow)} is only known when it runs`;
  return file.report(
    "computedName",
    at,
    message,
    `write it as a string: \`.${kind}("name", …)\`, or as a const, a const object or an enum of the app`,
  );
}

function nameOfLast(name: string, { kindNode: at }: NodeCall, context: NodeContext) {
  const { file, prefix, code } = context;
  const path = `${prefix}${name}`;
  const label = prefix === "" ? name : `the end of ${quote(prefix.slice(0, -1))}`;
  if (prefix === "" || name !== "finalize") return { name, at, path, code: [...code, name], label };
  const message = `a finalize stands inside ${quote(prefix.slice(0, -1))}; only a workflow has one`;
  const hint = "make it a step: the last node of a case or a body gives its output";
  return file.report("finalizeInBody", at, message, hint);
}

/** The name of a node, if it is written out or is that of a const, a const object or an enum. */
export function literalName({ call }: NodeCall, file: DefinitionFile): string | undefined {
  const [name] = call.arguments;
  return name === undefined ? undefined : constantText(name, file);
}

/** Returns what the one stage of a node, which bears its name, has from it. */
export const ofNode = ({ name, path, code, label }: Named) => ({
  name: path,
  node: path,
  code,
  label,
  mention: { elsewhere: quote(name), within: quote(name) },
});

/** What a part of a node, such as its finalize, has from it. */
export const ofPart = (
  { name, path, code, label }: Named,
  part: string,
  inDefinition = [part],
) => ({
  name: `${path}.${part}`,
  node: path,
  code: [...code, ...inDefinition],
  label: `${label}, ${part}`,
  mention: { elsewhere: `the ${part} of ${quote(name)}`, within: `its ${part}` },
});

/**
 * The source of options for a hash, in whatever order. Others stand for what is elsewhere, and for
 * what a condition gives: the value of that is around it, and holds the nodes before it too.
 */
export function optionSource(options: Options): Node[] {
  const { rest = [] } = options;
  const isSeen = ({ value, elsewhere }: Option) =>
    elsewhere === undefined && !rest.some(({ parent }) => parent === value);
  const seen = sortedBy(options.values(), ({ name }) => name).filter(isSeen);
  return [...seen.flatMap(({ nameNode, value }) => [nameNode, value]), ...rest];
}

export function sourceWithout(options: Options, bodies: string): Node[] {
  const others = new Map([...options].filter(([name]) => name !== bodies));
  return optionSource(Object.assign(others, { rest: options.rest }));
}

interface Reading {
  readonly reads: Reads;
  readonly visible: readonly string[];
}

/** What a stage does, and what its own function reads. */
interface StageWork
  extends
    Pick<StagePlan, "kind" | "policy" | "reference" | "info">,
    Pick<StagePlan, "reduce" | "isolate" | "workflows" | "startsAlways"> {
  readonly at: Node;
  readonly reads: Reads;
}

/** What its function may read, and what others of it read. */
interface StageReadings extends Pick<Reading, "visible"> {
  readonly recover?: Reading;
  readonly limits?: Reading & { readonly names: StagePlan["limitNames"] };
  readonly until?: Reading;
  readonly isAside?: boolean;
}

/** A stage of the plan. Its reads are in the order of the scope, however a handler is written. */
export function stagePlan(
  { name, node, code, label, mention }: ReturnType<typeof ofNode>,
  { kind, at, reads, policy, reference, info, reduce, isolate, workflows, startsAlways }: StageWork,
  { visible, recover, limits, until, isAside = false }: StageReadings,
  file: DefinitionFile,
): StagePlan {
  const readings = [{ reads, visible }, recover, limits, until].filter(
    (each) => each !== undefined,
  );
  // To spread objects takes several times as long.
  return {
    name,
    node,
    code,
    label,
    mention,
    kind,
    policy,
    reference,
    info,
    reduce,
    isolate,
    workflows,
    startsAlways,
    retry: isSure(policy.given.get("retry")) || undefined,
    reads: ordered({ reads, visible }),
    input: inputFields(readings),
    recover: recover && ordered(recover),
    limits: limits && ordered(limits),
    limitNames: limits?.names,
    until: until && ordered(until),
    isAside,
    readers: readings.map(({ reads, visible }) => ({ visible, reads: reads === "*" ? [] : reads })),
    place: file.placeOf(at),
  };
}

const isSure = (given: Given | undefined): boolean => given !== undefined && !given.isUnsure;

/** The fields of `input` that are read, if all reads of it are seen. */
function inputFields(readings: readonly Reading[]): string[] | undefined {
  const fields = readings.flatMap(({ reads }) =>
    reads === "*"
      ? [undefined]
      : reads.filter(({ name }) => name === "input").map((each) => each.fields),
  );
  const seen = fields.filter((each) => each !== undefined);
  if (seen.length === 0 || seen.length < fields.length) return undefined;
  return [...new Set(seen.flat())].sort();
}

function ordered({ reads, visible }: Reading): string[] {
  if (reads === "*") return ["*"];
  const names = new Set(reads.map(({ name }) => name));
  return visible.filter((name) => names.has(name));
}
