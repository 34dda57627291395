import { createFunctionHandle } from "convex/server";
import type { Value } from "convex/values";
import type { Beginning } from "../component/validators.js";
import type { AnyDefinition } from "../definition/definition.js";
import { durationMs } from "../rules.js";
import type { AnySchema } from "../definition/schema.js";
import { actionFunction } from "./action-function.js";
import type { Bound } from "./bound.js";
import { parseInput } from "./input.js";
import { hasUndoables, placeOf } from "./place.js";
import { marksOf, readsOf } from "./reads.js";

/**
 * A compiled workflow, as `workflow.start` and a parent's children take it. Its type knows the input only; what else there is to know
 * is found by way of `~definition`, which a generated interface adds.
 */
export interface WorkflowReference<Input> {
  readonly "~input"?: (input: Input) => void;
  readonly name: string;
  readonly definition: AnyDefinition;
  /** With its nodes under their storage names. */
  readonly stored: AnyDefinition;
  /** The hash of its plan. */
  readonly plan: string;
  /** What each node of its top level, by its storage name, reads of `input` and of the others; `*` for everything. */
  readonly nodes: Readonly<Record<string, readonly string[]>>;
  /** @throws where the input does not fit the workflow's schema. */
  parse(input: unknown): Value;
  begin(): Promise<Beginning>;
}

/**
 * What generated code says of a workflow's beginning: its first stage. An action is scheduled directly, with what it reads; any other
 * stage is reached by way of `resume`, which knows itself what it reads.
 */
export type First = { action: string } | { stage: string };

/** What generated code says of a workflow as a whole. */
export interface Facts {
  readonly input: AnySchema;
  readonly first: First;
  readonly plan: string;
  readonly nodes: Readonly<Record<string, readonly string[]>>;
}

export function referenceTo(
  own: Bound,
  given: AnyDefinition,
  { input, first, plan, nodes }: Facts,
): WorkflowReference<unknown> {
  const { workflow: name, definition, functions } = own;
  const { timeout, retention } = definition.options;
  const of = (option: string) => `The ${option} of workflow "${name}"`;
  return {
    name,
    definition: given,
    stored: definition,
    plan,
    nodes,
    parse: (value) => parseInput(name, input, value),
    begin: async () => ({
      workflow: name,
      plan,
      entry: await createFunctionHandle(functions.resume),
      first: await beginningAt(own, first),
      ...(timeout === undefined ? {} : { timeoutMs: durationMs(timeout, of("timeout")) }),
      ...(retention === undefined ? {} : { retentionMs: durationMs(retention, of("retention")) }),
      ...(hasUndoables(definition) ? { undoable: true } : {}),
    }),
  };
}

async function beginningAt(
  { workflow, definition, functions, reads }: Bound,
  first: First,
): Promise<Beginning["first"]> {
  if (!("action" in first)) return { stage: first.stage, reads: [] };
  const { node, part } = placeOf(definition, first.action);
  // The time of a parent is watched from where its workflow arrives at it.
  if (part !== "" && node?.timeout !== undefined) return { stage: first.action, reads: [] };
  return {
    stage: first.action,
    action: await actionFunction(workflow, functions, definition, first.action),
    reads: readsOf(definition, first.action, reads.get(first.action) ?? [], []),
    ...marksOf(definition, first.action),
  };
}
