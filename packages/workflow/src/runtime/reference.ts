import type { Limits } from "@stepwise/workpool/core";
import { createFunctionHandle } from "convex/server";
import type { Value } from "convex/values";
import type { Beginning } from "../component/validators.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { Receives } from "../definition/event.js";
import type { InferInput } from "../definition/values.js";
import { durationMs } from "../rules.js";
import { itemPaths } from "./collect.js";
import type { Bound } from "./functions.js";
import { parseValue } from "./input.js";
import { hasOnEnd, kindOf, type Nodes, outputsIn } from "./nodes/kinds.js";
import { hasKeys, permitsAtStart, permitsOf } from "./limits.js";
import { actionFunction } from "./options.js";
import { hasUndoables, placeOf } from "./place.js";
import { presentKey } from "./storage-names.js";
import { marksOf, readsOf } from "./reads.js";
import { sensitivePaths } from "./sensitive.js";

/**
 * A compiled workflow, as `workflow.start` and a parent's children take it. A generated interface
 * adds `~events`, `~nodes` and `~definition`, through which outputs are found, and `~collects` if it
 * has a `collect`. They are not members of this type: comparing a reference with it would ask for
 * their types.
 */
export interface WorkflowReference<Input> {
  readonly "~input"?: (input: Input) => void;
  readonly name: string;
  /** The name that its runs are stored under: the first one that it had. */
  readonly storedAs: string;
  readonly definition: AnyDefinition;
  /** With its nodes under their storage names. */
  readonly stored: AnyDefinition;
  /** The hash of its plan. */
  readonly plan: string;
  /** Returns what a node of the top level reads, with all that is inside it. By storage names. */
  nodeReads(node: string): string[];
  /** @throws if the input does not fit the workflow's schema. */
  parse(input: unknown): Value;
  /** @param isKeyed the caller gives each run its {@link permits}. Default: false. */
  begin(isKeyed?: boolean): Promise<Beginning>;
  /**
   * Returns what the first action of a run with this input needs of limits; undefined if it begins
   * with none, or that has no keys. @throws if a key is not valid.
   */
  permits(input: unknown): Promise<string[] | undefined>;
  /** The app's limits, if the workflow or a child of it may name some. */
  readonly limits?: Limits | undefined;
}

/** What is sent with each event, by the schemas that its nodes have in the generated file. */
export type Payloads<Schemas extends () => Readonly<Record<string, readonly unknown[]>>> = {
  [Name in keyof ReturnType<Schemas>]: InferInput<ReturnType<Schemas>[Name][number]>;
};

/** What is sent with an event whose schema only the definition has; unknown if that hides it. */
export type Sent<Definition, Name> = Name extends Received<Definition>["event"]
  ? PayloadOf<Received<Definition>, Name>
  : unknown;

/** The same for all events of a definition. */
export type AllSent<Definition> = {
  [Name in Received<Definition>["event"]]: Sent<Definition, Name>;
};

type Received<Definition> = Definition extends { readonly "~events"?: () => infer Events }
  ? Extract<Events, Receives<string, unknown>>
  : never;

type PayloadOf<Event, Name> =
  Event extends Receives<infer Each, infer Payload> ? (Name extends Each ? Payload : never) : never;

export function referenceTo(own: Bound, given: AnyDefinition): WorkflowReference<unknown> {
  const { workflow: name, storedAs, definition, plan = "" } = own;
  const { input } = definition.options;
  const sensitive = sensitivePaths(definition.options);
  const ofItem = itemPaths({ definition }, sensitive);
  const ms = (option: "timeout" | "retention") => {
    const given = definition.options[option];
    const what = `The ${option} of workflow "${name}"`;
    return given === undefined ? undefined : durationMs(given, what);
  };
  return {
    name,
    storedAs,
    definition: given,
    stored: definition,
    plan,
    nodeReads: (node) => {
      const { nodes } = definition;
      // It runs again with whatever does.
      if (kindOf(nodes[node]).isAfterEnd) return Object.keys(nodes);
      const inside = [...own.reads].filter(([stage]) => stage.split(".")[0] === node);
      const names = new Set(inside.flatMap(([, reads]) => reads));
      const isRead = (key: string) => names.has("*") || names.has(presentKey(nodes, key));
      return ["input", ...outputsIn(nodes, node)].filter(isRead);
    },
    parse: (value) =>
      parseValue(
        { subject: `The input of workflow "${name}"`, root: "input", sensitive: ofItem },
        input,
        value,
      ),
    limits: own.limits,
    permits: async (input) => {
      const stage = firstAction(own, definition.nodes);
      const isKeyed = stage !== undefined && hasKeys(own, stage);
      return isKeyed ? await permitsAtStart(own, stage, input) : undefined;
    },
    begin: async (isKeyed) => ({
      ...(await runsOf(own)),
      first: await firstOf(own, definition.nodes, { isKeyed }),
      timeoutMs: ms("timeout"),
      retentionMs: ms("retention"),
      undoable: hasUndoables(definition) || undefined,
      onEnd: hasOnEnd(definition) || undefined,
      sensitive: sensitive.length > 0 ? [...sensitive] : undefined,
    }),
  };
}

/** What all runs of a workflow have, also those that go through a part of its definition. */
export const runsOf = async ({ workflow, storedAs, plan, functions }: Bound) => ({
  workflow: storedAs,
  workflowName: workflow === storedAs ? undefined : workflow,
  plan,
  entry: await createFunctionHandle(functions.entry),
});

const firstStage = ({ definition }: Bound, nodes: Nodes, prefix = ""): string => {
  const [name = ""] = Object.keys(nodes);
  return placeOf(definition, prefix + name).first;
};

/** The first stage of a sequence, if it is an action that is scheduled directly. */
function firstAction(own: Bound, nodes: Nodes, prefix = ""): string | undefined {
  const stage = firstStage(own, nodes, prefix);
  const { node, part } = placeOf(own.definition, stage);
  // The time of a parent is watched from when its workflow arrives at it.
  const isTimed = part !== "" && node?.timeout !== undefined;
  return isTimed || !own.actions.has(stage) ? undefined : stage;
}

interface FirstOptions {
  /** What the paths of its nodes begin with. Default: nothing. */
  readonly prefix?: string;
  /** The iterations of the loops around it. Default: there are none. */
  readonly iterations?: number[] | undefined;
  /** Whoever starts the run makes its keys. Default: it does so itself. */
  readonly isKeyed?: boolean | undefined;
}

/** The first stage of a sequence. An action is scheduled directly; others through `entry`. */
export async function firstOf(
  own: Bound,
  nodes: Nodes,
  { prefix, iterations, isKeyed = false }: FirstOptions,
): Promise<Beginning["first"]> {
  const stage = firstStage(own, nodes, prefix);
  const { part, policy } = placeOf(own.definition, stage);
  const marks = marksOf(own, stage);
  const at = { stage, called: marks.called, iterations, part: part || undefined };
  const hasOwnKeys = hasKeys(own, stage);
  if (firstAction(own, nodes, prefix) === undefined || (hasOwnKeys && !isKeyed))
    return { ...at, reads: [], alone: policy.isolate === true || undefined };
  const permits = hasOwnKeys ? undefined : await permitsOf(own, stage);
  return {
    ...at,
    action: await actionFunction(own, stage, permits),
    reads: readsOf(own, stage, iterations),
    ...marks,
  };
}
