import type { Value } from "convex/values";
import { type Part, PARTS } from "../../component/validators.js";
import type { NodeKind } from "../../definition/definer.js";
import type { AnyDefinition, CompiledFunction } from "../../definition/definition.js";

/** A node's options and its `kind`. They were checked when the definition was written. */
export type AnyNode = any;

export type Nodes = Readonly<Record<string, AnyNode>>;

export interface StageOf {
  /** What follows the node's path in its name: `finalize` of `chapters.finalize`. */
  readonly part: Part | "";
  /** The options of the app's function that runs there; absent if none does. */
  readonly runs?: AnyNode;
  /** The names that its functions see, beside those that every node sees. */
  readonly sees?: readonly string[];
}

/** Nodes inside a node: a case or a branch, with its key among the others, or a body. */
interface Inside {
  readonly nodes: Nodes;
  readonly key?: string;
  readonly among?: Nodes;
  /** A run of its own runs them: that of a branch, or of an item, which is its input. */
  readonly apart?: "branch" | "item";
}

type Keyed = (members: Nodes) => Nodes;

/** An event that a node takes. `isOwn`: it has the name of the node. */
interface Taken {
  readonly name: string;
  readonly schema: AnyNode;
  readonly isOwn: boolean;
}

/** What the run time has to know of a kind of node, beside what a run does there. */
export interface Kind {
  /** In the order in which a run comes to them. Default: the node itself. */
  stages?(node: AnyNode): StageOf[];
  inside?(node: AnyNode): Inside[];
  /** The node with what is inside it under storage names. */
  stored?(node: AnyNode, nodes: Keyed, cases: Keyed): AnyNode;
  workflow?(node: AnyNode): AnyDefinition;
  /** Says whether no node can read what it makes. */
  readonly makesNothing?: true;
  /** Says whether the run ends there, with what it makes. */
  readonly endsRun?: true;
  /** Says whether it runs when the run has ended, and sees no node. */
  readonly isAfterEnd?: true;
  /** Says whether its `timeout` is that of all its stages, which the component watches. */
  readonly isTimedAsWhole?: boolean;
  /** Says whether a run can wait there without holding a slot. */
  readonly waits?: boolean;
  readonly startsRuns?: boolean;
  /** Says whether a run goes through what is inside it again and again. */
  readonly repeats?: true;
  /** Says whether only one of the runs that it starts counts. */
  readonly isRace?: true;
  events?(node: AnyNode, name: string): Taken[];
  /** Its output from an event, and where the payload is in that. Default: it is the payload. */
  received?(node: AnyNode, name: string, value: Value): { output: Value; within?: string[] };
  /** Its output when the time of a wait is over. Default: null. */
  readonly due?: Value;
}

const keyed = (among: AnyNode, apart?: "branch"): Inside[] =>
  Object.keys(among).map((key) => ({ key, among, nodes: among[key], ...(apart && { apart }) }));

const ofCases: Kind = {
  inside: ({ cases }) => keyed(cases),
  stored: (node, _nodes, cases) => ({ ...node, cases: cases(node.cases) }),
};

const asParent = { isTimedAsWhole: true, waits: true, startsRuns: true };

/** The name under which a workflow's `onEnd` stands among its nodes, in compiled code. */
const ON_END = "onEnd";

const kinds: Readonly<Record<NodeKind | typeof ON_END, Kind>> = {
  step: {
    stages: (node) => [
      { part: "", runs: node },
      ...part("compensate", node.compensate, "output", "error"),
    ],
  },
  finalize: { stages: (node) => [{ part: "", runs: node }] },
  parent: {
    stages: (node) => [
      ...part("output", hasHandler(node) ? { ...node, timeout: undefined } : undefined),
      { part: "", sees: ["output"] },
      ...part("finalize", node.finalize, "output", "children"),
    ],
    ...asParent,
  },
  sleep: { makesNothing: true, waits: true },
  event: {
    waits: true,
    events: ({ anyOf, schema }, name) =>
      anyOf === undefined
        ? [{ name, schema, isOwn: true }]
        : Object.keys(anyOf).map((each) => ({ name: each, schema: anyOf[each], isOwn: false })),
    received({ anyOf, timeout }, name, value) {
      const event = anyOf === undefined ? value : { name, value };
      const output = timeout === undefined ? event : { timedOut: false, event };
      const path = [timeout !== undefined && "event", anyOf !== undefined && "value"];
      const within = path.filter((field) => field !== false);
      return within.length === 0 ? { output } : { output, within };
    },
    // Also if a deploy has removed the timeout: a wait that has begun keeps its time.
    due: { timedOut: true },
  },
  branch: ofCases,
  match: ofCases,
  loop: {
    inside: ({ body }) => [{ nodes: body }],
    stored: (node, nodes) => ({ ...node, body: nodes(node.body) }),
    isTimedAsWhole: true,
    repeats: true,
  },
  parallel: {
    inside: ({ branches }) => keyed(branches, "branch"),
    stored: (node, _nodes, branches) => ({ ...node, branches: branches(node.branches) }),
    ...asParent,
  },
  race: {
    inside: ({ cases }) => keyed(cases, "branch"),
    stored: (node, _nodes, cases) => ({ ...node, cases: cases(node.cases) }),
    ...asParent,
    isRace: true,
  },
  each: {
    inside: ({ body }) => [{ nodes: body, apart: "item" }],
    stored: (node, nodes) => ({ ...node, body: nodes(node.body) }),
    ...asParent,
  },
  child: { workflow: (node) => node.workflow, startsRuns: true },
  end: { makesNothing: true, endsRun: true },
  [ON_END]: {
    stages: (node) => [{ part: "", runs: node, sees: ["run"] }],
    makesNothing: true,
    isAfterEnd: true,
  },
};

/** A definition with its `onEnd` as the last of its nodes: it has a stage as they have. */
export function withOnEnd(definition: AnyDefinition): AnyDefinition {
  const { onEnd } = definition.options;
  if (onEnd === undefined) return definition;
  // The compiled functions read of a node only what it has.
  const node = { ...onEnd, kind: ON_END } as unknown as AnyDefinition["nodes"][string];
  return { ...definition, nodes: { ...definition.nodes, [ON_END]: node } };
}

/** The `onEnd` of a workflow as generated code hands it on. */
export const onEndOf = ({ options }: AnyDefinition): CompiledFunction =>
  // Generated code asks only if there is one, and only for the function that it has.
  options.onEnd as unknown as CompiledFunction;

export const hasOnEnd = ({ nodes }: Pick<AnyDefinition, "nodes">): boolean =>
  kindOf(nodes[ON_END]).isAfterEnd === true;

/** The kind of a node. A node that is gone has none, and so the defaults. */
export const kindOf = (node: AnyNode): Kind => kinds[node?.kind as NodeKind] ?? {};

export const stagesOf = (node: AnyNode): StageOf[] => kindOf(node).stages?.(node) ?? [{ part: "" }];

export const insideOf = (node: AnyNode): Inside[] => kindOf(node).inside?.(node) ?? [];

/** The cases or the branches of a node, by their storage names. */
export const casesOf = (node: AnyNode): Nodes => insideOf(node)[0]?.among ?? {};

/** The nodes of a sequence whose outputs others can read. @param before only those before it. */
export function outputsIn(nodes: Nodes, before?: string): string[] {
  const keys = Object.keys(nodes);
  const end = before === undefined ? keys.length : Math.max(0, keys.indexOf(before));
  return keys.slice(0, end).filter((key) => kindOf(nodes[key]).makesNothing !== true);
}

/** A part by its name; empty if there is no such part. */
export const partNamed = (name: string): StageOf["part"] =>
  PARTS.find((part) => part === name) ?? "";

function part(name: StageOf["part"], runs: AnyNode, ...sees: string[]): StageOf[] {
  return runs === undefined ? [] : [{ part: name, runs, sees }];
}

function hasHandler({ action, mutation, query }: AnyNode): boolean {
  return [action, mutation, query].some((handler) => handler !== undefined);
}
