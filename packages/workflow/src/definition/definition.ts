import type { AnySchema } from "./schema.js";
import type { Retry } from "./node.js";

/** What holds for a whole workflow. */
export interface WorkflowOptions<Schema extends AnySchema> {
  /** Parses what `workflow.start` is given: any Standard Schema, or Convex's `v.object`. */
  input: Schema;
  /** For every action of the workflow that says nothing itself. Default: one attempt. */
  retry?: Retry;
}

/**
 * A node as generated code and the run time see it. What it holds was checked when the definition was written, and which members it
 * has is known to the compiler, so generated code takes them without asking.
 */
export type CompiledNode = any;

/**
 * What `defineWorkflow()` returns. The members with `~` exist in types only.
 * @typeParam Input what `start` takes. @typeParam Scope `input` and every node's output, by name. @typeParam Output the workflow's.
 */
export interface Definition<Input, Scope, Output> {
  readonly "~input"?: (input: Input) => void;
  readonly "~scope"?: () => Scope;
  readonly "~output"?: () => Output;
  readonly options: WorkflowOptions<AnySchema>;
  /** The nodes by name; `finalize` under that name. */
  readonly nodes: { readonly [Name in Exclude<keyof Scope, "input"> | "finalize"]: CompiledNode };
}

/* Any definition, whatever its input: with `never` in the place of a parameter's type all of them fit. */
export type AnyDefinition = Definition<never, unknown, unknown>;

export type WorkflowInput<D> =
  D extends Definition<infer Input, infer _S, infer _O> ? Input : never;
export type WorkflowOutput<D> = D extends { readonly "~output"?: () => infer Output }
  ? Output
  : never;
/** `input` and the outputs of all nodes of a workflow, by name. */
export type WorkflowScope<D> = D extends { readonly "~scope"?: () => infer Scope } ? Scope : never;
