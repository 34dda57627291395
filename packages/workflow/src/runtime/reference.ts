import { createFunctionHandle } from "convex/server";
import type { Value } from "convex/values";
import type { Beginning } from "../component/validators.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { AnySchema } from "../definition/values.js";
import { durationMs } from "../rules.js";
import type { Bound } from "./functions.js";
import { parseValue } from "./input.js";
import { actionFunction } from "./options.js";
import { hasUndoables, placeOf } from "./place.js";
import { marksOf, readsOf } from "./reads.js";

/**
 * A compiled workflow, as `workflow.start` and a parent's children take it. Its type knows the
 * input only; a generated interface adds `~definition`, through which the rest is found.
 */
export interface WorkflowReference<Input> {
  readonly "~input"?: (input: Input) => void;
  readonly name: string;
  readonly definition: AnyDefinition;
  /** With its nodes under their storage names. */
  readonly stored: AnyDefinition;
  /** The hash of its plan. */
  readonly plan: string;
  /** What each node of its top level, by its storage name, reads; `*` for everything. */
  readonly nodes: Readonly<Record<string, readonly string[]>>;
  /** @throws if the input does not fit the workflow's schema. */
  parse(input: unknown): Value;
  begin(): Promise<Beginning>;
}

/** What generated code says of a workflow as a whole. */
export interface Facts extends Pick<WorkflowReference<never>, "plan" | "nodes"> {
  readonly input: AnySchema;
  /** Its first stage. An action is scheduled directly; others through `entry`. */
  readonly first: { action: string } | { stage: string };
}

export function referenceTo(
  own: Bound,
  given: AnyDefinition,
  { input, first, plan, nodes }: Facts,
): WorkflowReference<unknown> {
  const { workflow: name, definition } = own;
  const ms = (option: "timeout" | "retention") => {
    const given = definition.options[option];
    const what = `The ${option} of workflow "${name}"`;
    return given === undefined ? undefined : durationMs(given, what);
  };
  return {
    name,
    definition: given,
    stored: definition,
    plan,
    nodes,
    parse: (value) =>
      parseValue({ subject: `The input of workflow "${name}"`, root: "input" }, input, value),
    begin: async () => ({
      workflow: name,
      plan,
      entry: await createFunctionHandle(own.functions.entry),
      first: await firstOf(own, first),
      timeoutMs: ms("timeout"),
      retentionMs: ms("retention"),
      undoable: hasUndoables(definition) || undefined,
    }),
  };
}

async function firstOf(own: Bound, first: Facts["first"]): Promise<Beginning["first"]> {
  if (!("action" in first)) return { stage: first.stage, reads: [] };
  const { definition, reads } = own;
  const { action: stage } = first;
  const { node, part } = placeOf(definition, stage);
  // The time of a parent is watched from when its workflow arrives at it.
  if (part !== "" && node?.timeout !== undefined) return { stage, reads: [] };
  return {
    stage,
    action: await actionFunction(own, stage),
    reads: readsOf(definition, stage, reads.get(stage) ?? [], []),
    ...marksOf(definition, stage),
  };
}
