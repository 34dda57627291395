import { createFunctionHandle } from "convex/server";
import type { Value } from "convex/values";
import type { Stage } from "../component/validators.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { AnySchema } from "../definition/schema.js";
import { actionFunction } from "./action-function.js";
import type { Functions } from "./functions.js";
import { parseInput } from "./input.js";
import { readsOf } from "./reads.js";

/** How a run of a workflow begins: what the component must know. */
export interface Beginning {
  readonly workflow: string;
  readonly resume: string;
  readonly first: Stage;
}

/**
 * A compiled workflow, as `workflow.start` and a parent's children take it. Its type knows the input only; what else there is to know
 * is found by way of `~definition`, which a generated interface adds.
 */
export interface WorkflowReference<Input> {
  readonly "~input"?: (input: Input) => void;
  readonly name: string;
  readonly definition: AnyDefinition;
  /** @throws where the input does not fit the workflow's schema. */
  parse(input: unknown): Value;
  begin(): Promise<Beginning>;
}

/**
 * What generated code says of a workflow's beginning: its first stage. An action is scheduled directly, with what it reads; any other
 * stage is reached by way of `resume`, which knows itself what it reads.
 */
export type First = { action: string; reads: readonly string[] } | { stage: string };

export function referenceTo(
  name: string,
  definition: AnyDefinition,
  functions: Functions,
  { input, first }: { input: AnySchema; first: First },
): WorkflowReference<unknown> {
  return {
    name,
    definition,
    parse: (value) => parseInput(name, input, value),
    begin: async () => ({
      workflow: name,
      resume: await createFunctionHandle(functions.resume),
      first:
        "action" in first
          ? {
              stage: first.action,
              action: await actionFunction(functions, definition, first.action),
              reads: readsOf(definition, first.action, first.reads),
            }
          : { stage: first.stage, reads: [] },
    }),
  };
}
