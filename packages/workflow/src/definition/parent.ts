import type { ChildOutput, ChildrenOutput, Tolerate } from "./children.js";
import type { Duration } from "../rules.js";
import type { AnyReference, FinalizeNode, Inline, NoHandler, Policy, Recovering } from "./node.js";
import type { Simplify } from "./scope.js";
import type { Given, IsAny, Stored, Valid, ValidAt } from "./values.js";

declare const absent: unique symbol;
/** In the place of a type of something that a parent was not given: its handler, or `reduce`. */
export interface Absent {
  readonly [absent]: true;
}

/* Not plain assignability: `any` and `never` fit everything, and are types that a handler may well give. */
type IsAbsent<T> =
  IsAny<T> extends true
    ? false
    : [T] extends [Absent]
      ? [Absent] extends [T]
        ? true
        : false
      : false;

type OutputOf<Handled> = IsAbsent<Handled> extends true ? unknown : { output: Stored<Handled> };

/** What stands under `children` for `finalize`, and in the output without one. */
type Gathered<C, Tolerated, Reduced> =
  IsAbsent<Reduced> extends true ? ChildrenOutput<C, Tolerated> : Stored<Reduced>;

/** What a parent gives that has no `finalize`. */
export type ParentOutput<C, Handled, Tolerated, Reduced> = Simplify<
  OutputOf<Handled> & { children: Gathered<C, Tolerated, Reduced> }
>;

/** How the children's outputs are folded into one value, page by page, in the order in which the children were given. */
interface Reduce<C, Tolerated, Reduced> {
  /** What `step` is given first. */
  initial: Reduced;
  /**
   * Called once for each child.
   * @param accumulated what the call before gave.
   * @param child the child's output; with `tolerate` what became of it.
   * @param key its index in the list, or its key in the record.
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
> = (NoHandler | Inline<Scope, Handled>) &
  Valid<Handled> &
  ValidAt<"reduce", Reduced> &
  ValidAt<"recover", Recovered> &
  Recovering<Scope, Recovered> &
  Omit<Policy, "timeout"> & {
    /** Of the whole node: its handler, its children and its finalize. When it is over the children are canceled. Default: none. */
    timeout?: Duration;
    /** The children, from what came before and, if there is a handler, its `output`. Called once. */
    children: (scope: Simplify<Scope & OutputOf<Handled>>) => C;
    /**
     * How many children run at once at most; those that sleep, or wait for an event or for children of their own, run too. It may be more than
     * the pool's `maxParallelism`: then actions wait in the pool's line. Default: `maxParallelism`; but all where the workflow of any of
     * them has a sleep, an event, or children.
     */
    concurrency?: number;
    /**
     * How many children may end badly (fail, time out, be canceled) before the parent does; `children` then holds `{ ok: true, output }` or
     * `{ ok: false, error }` for each. One more cancels the other children and fails the parent: at once, or where many end together within
     * some two seconds. Default: none; the first bad end does so.
     */
    tolerate?: Tolerated;
    /** Puts one value in the place of `children`: for outputs that are too many, or too large, to be held together. */
    reduce?: Reduce<C, Tolerated, Reduced>;
    /**
     * Neither what its handler and its `finalize` make and are given nor its output is shown, logged, or passed as arguments of a scheduled
     * function. A child is a run of its own, whose nodes say so themselves. Default: false.
     */
    sensitive?: boolean;
    /** Makes the node's output when the last child has ended. Default: the output is `{ output, children }`. */
    finalize?: FinalizeNode<
      Simplify<Scope & OutputOf<Handled> & { children: Gathered<C, Tolerated, Reduced> }>,
      Result,
      Final
    >;
  };
