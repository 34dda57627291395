import type { AnyDefinition, Definition } from "./definition.js";

/** A child run to be: a workflow and its input. Made by {@link child}. */
export interface Child<Output> {
  readonly "~output"?: () => Output;
  readonly workflow: AnyDefinition;
  readonly input: unknown;
}

/** What `children` may give: a list or a record of `child(workflow, input)`. */
export type Children = readonly Child<unknown>[] | Readonly<Record<string, Child<unknown>>>;

type OutputOf<C> = C extends Child<infer Output> ? Output : never;

/** The children's outputs, in the order or under the keys in which they were given. */
export type ChildrenOutput<C> = C extends readonly unknown[]
  ? OutputOf<C[number]>[]
  : { [Key in keyof C]: OutputOf<C[Key]> };

/**
 * One child of a parent, for its `children`.
 * @param workflow the definition that the child runs.
 * @param input its input. It is parsed with the workflow's schema when the child is started; if that fails, the child fails with
 *   `invalidInput`.
 */
export function child<Input, Output>(
  workflow: Definition<Input, unknown, Output>,
  input: NoInfer<Input>,
): Child<Output> {
  return { workflow, input };
}
