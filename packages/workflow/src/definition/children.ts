import type { AnyDefinition, Definition } from "./definition.js";
import type { StepError } from "./step-error.js";

/** A child to start. See {@link child} and {@link childNamed}. */
export interface Child<Output> {
  readonly "~output"?: () => Output;
  readonly workflow: AnyDefinition | string;
  readonly input: unknown;
}

/** What `children` may give: a list or a record of `child(workflow, input)`. */
export type Children = readonly Child<unknown>[] | Readonly<Record<string, Child<unknown>>>;

/** How many children may end badly. A percentage, from 0 to 100, is rounded down. */
export type Tolerate = { failures: number } | { percentage: number } | "all";

/** The result of a child whose parent tolerates bad ends. */
export type Settled<Output> = { ok: true; output: Output } | { ok: false; error: StepError };

type OutputOf<C, Tolerated> =
  C extends Child<infer Output> ? (Tolerated extends Tolerate ? Settled<Output> : Output) : never;

/** The children's outputs, with `tolerate` their results, in order or by key. */
export type ChildrenOutput<C, Tolerated = undefined> = C extends readonly unknown[]
  ? OutputOf<C[number], Tolerated>[]
  : { [Key in keyof C]: OutputOf<C[Key], Tolerated> };

export type ChildOutput<C, Tolerated> = OutputOf<
  C extends readonly unknown[] ? C[number] : C[keyof C],
  Tolerated
>;

/**
 * One child of a parent, for its `children`.
 * @param workflow the definition that the child runs.
 * @param input parsed with the workflow's schema; if that fails, the child fails with
 *   `invalidInput`.
 */
export function child<Input, Output>(
  workflow: Definition<Input, unknown, Output>,
  input: NoInfer<Input>,
): Child<Output> {
  return { workflow, input };
}

/**
 * The same for a workflow that is its own descendant, whose type would be circular: by its name.
 * The compiler checks that there is such a workflow, but not the types of its input and output.
 * @typeParam Output the workflow's output.
 * @param workflow the name under which the workflow is exported.
 *
 * @example
 * export const countFiles = defineWorkflow({ input: z.object({ folder: z.string() }) })
 *   .step("found", { action: internal.files.list, args: ({ input }) => input })
 *   .parent("below", {
 *     children: ({ found }) => found.folders.map((folder) => childNamed<number>("countFiles", { folder })),
 *   })
 *   .finalize({ mutation: (_ctx, { found, below }) => sum([found.files, ...below.children]) });
 */
export function childNamed<Output>(workflow: string, input: unknown): Child<Output> {
  return { workflow, input };
}
