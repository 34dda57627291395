import type { Duration } from "../rules.js";
import type { StepError } from "./context.js";
import type { AnyDefinition, Definition } from "./definition.js";
import type { AnyReference, FinalizeNode, Inline, NoHandler, Policy, Recovering } from "./node.js";
import type { Simplify } from "./scope.js";
import type { Given, IsAny, Stored, Valid, ValidAt } from "./values.js";

declare const absent: unique symbol;
/** Stands for the type of what a parent was not given: its handler, or `reduce`. */
export interface Absent {
  readonly [absent]: true;
}

/* Not plain assignability: a handler may give `any` and `never`, which fit everything. */
export type IsAbsent<T> =
  IsAny<T> extends true
    ? false
    : [T] extends [Absent]
      ? [Absent] extends [T]
        ? true
        : false
      : false;

type HandlerOutput<Handled> =
  IsAbsent<Handled> extends true ? unknown : { output: Stored<Handled> };

/** What stands under `children` for `finalize`, and in the output without one. */
type Gathered<C, Tolerated, Reduced> =
  IsAbsent<Reduced> extends true ? ChildrenOutput<C, Tolerated> : Stored<Reduced>;

/** What a parent gives that has no `finalize`. */
export type ParentOutput<C, Handled, Tolerated, Reduced> = Simplify<
  HandlerOutput<Handled> & { children: Gathered<C, Tolerated, Reduced> }
>;

/** Reduces the children's outputs to one value, page by page, in the order of the children. */
interface Reduce<C, Tolerated, Reduced> {
  /** What `step` is given first. */
  initial: Reduced;
  /**
   * Returns the next value. It is called for each child's output or, with `tolerate`, its result.
   */
  step: (
    accumulated: Given<Reduced>,
    child: ChildOutput<C, Tolerated>,
    key: string | number,
  ) => Given<Reduced>;
}

/** A parent. The order matters to inference: handler, children, tolerate, reduce, finalize. */
export type ParentNode<
  Scope,
  C,
  Handled,
  Tolerated extends Tolerate | undefined,
  Reduced,
  Result,
  Final extends AnyReference,
  Recovered,
  Tags,
> = (NoHandler | Inline<Scope, Handled, Tags>) &
  Valid<Handled> &
  ValidAt<"reduce", Reduced> &
  ValidAt<"recover", Recovered> &
  Recovering<Scope, Recovered> &
  Omit<Policy, "timeout"> & {
    /** Limits the whole node. When it is over, the children are canceled. Default: none. */
    timeout?: Duration;
    /** Returns the children, from the scope and the handler's `output`. It is called once. */
    children: (scope: Simplify<Scope & HandlerOutput<Handled>>) => C;
    /**
     * How many children run at once at most; waiting ones count too. It may be more than
     * `maxParallelism`: then actions queue. A function is called once, with the scope of
     * `children`. Default: `maxParallelism`, or all if the workflow of any child has a sleep, an
     * event, or children.
     */
    concurrency?: number | ((scope: Simplify<Scope & HandlerOutput<Handled>>) => number);
    /**
     * How many children may fail, time out or be canceled before the parent fails;
     * `children` then holds `{ ok: true, output }` or `{ ok: false, error }` for each. One more
     * cancels the other children: at once, or within about two seconds if many end together.
     * Default: none.
     */
    tolerate?: Tolerated;
    /** Turns the `children` into one value, if their outputs are too many or too large. */
    reduce?: Reduce<C, Tolerated, Reduced>;
    /**
     * The arguments and results of its handler and `finalize` are neither shown, logged, nor passed
     * to a scheduled function. The nodes of its children say so themselves. Default: false.
     */
    sensitive?: boolean;
    /** Makes the node's output after the last child. Default: `{ output, children }`. */
    finalize?: FinalizeNode<
      Simplify<Scope & HandlerOutput<Handled> & { children: Gathered<C, Tolerated, Reduced> }>,
      Result,
      Final,
      Tags
    >;
  };

/**
 * A child to start, which only {@link child} and {@link childNamed} make: the compiler sees those.
 */
export interface Child<Output> {
  /** Exists in types only. */
  readonly "~output": () => Output;
  readonly workflow: AnyDefinition | string;
  readonly input: unknown;
}

/** A part of a definition's type: it says that a node starts such children. */
export interface Starts<Node extends string, C> {
  readonly node: Node;
  readonly children: C;
}

/** The children of a node; `any` of a definition whose nodes are not known. */
export type ChildrenOf<Events, Node extends string> = unknown extends Events
  ? any
  : Extract<Events, Starts<Node, unknown>>["children"];

/**
 * What `children` may give: a list or a record of `child(workflow, input)`. A field of the record
 * that is undefined is no child.
 */
export type Children =
  readonly Child<unknown>[] | Readonly<Record<string, Child<unknown> | undefined>>;

/** How many children may fail. A percentage, from 0 to 100, is rounded down. */
export type Tolerate = { failures: number } | { percentage: number } | "all";

/** The result of a child whose parent tolerates failures. */
export type Settled<Output> = { ok: true; output: Output } | { ok: false; error: StepError };

type OutputOf<C, Tolerated> =
  C extends Child<infer Output> ? (Tolerated extends Tolerate ? Settled<Output> : Output) : never;

/** The outputs of the children, or with `tolerate` their results, in order or by key. */
export type ChildrenOutput<C, Tolerated = undefined> =
  IsAny<C> extends true
    ? C
    : C extends readonly unknown[]
      ? OutputOf<C[number], Tolerated>[]
      : { [Key in keyof C]: OutputOf<C[Key], Tolerated> | Extract<C[Key], undefined> };

export type ChildOutput<C, Tolerated> = OutputOf<EachChild<C>, Tolerated>;

export type EachChild<C> = C extends readonly unknown[]
  ? C[number]
  : Exclude<C[keyof C], undefined>;

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
  return { workflow, input } as Child<Output>;
}

/**
 * One child, by the name of its workflow. Use it for a workflow that is its own descendant: its
 * type would be circular. The compiler checks that there is such a workflow. The generated code has
 * a type error if no workflow that the parent starts has this `Output`. If a parent names several,
 * check that each has the right one. The type of `input` is not checked.
 * @typeParam Output the workflow's output.
 * @param workflow the name under which the workflow is exported.
 *
 * @example
 * export const countFiles = defineWorkflow({ input: z.object({ folder: z.string() }) })
 *   .step("found", { action: internal.files.list, args: ({ input }) => input })
 *   .parent("below", {
 *     children: ({ found: { folders } }) =>
 *       folders.map((folder) => childNamed<number>("countFiles", { folder })),
 *   })
 *   .finalize({ mutation: (_ctx, { found, below }) => sum([found.files, ...below.children]) });
 */
export function childNamed<Output>(workflow: string, input: unknown): Child<Output> {
  return { workflow, input } as Child<Output>;
}
