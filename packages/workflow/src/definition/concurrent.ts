import type { Duration } from "../rules.js";
import type { StepError } from "./context.js";
import type { Recovering } from "./node.js";
import type { IsAbsent, Settled, Tolerate } from "./parent.js";
import type { Given, IsAny, Stored, ValidAt } from "./values.js";

/** With `tolerate`, how each ended. */
type Ended<Output, Tolerated> = Tolerated extends Tolerate ? Settled<Output> : Output;

/** What `.parallel` gives, by branch. Conditional, so that editors show the members. */
export type BranchOutputs<Outputs, Tolerated> = [Outputs] extends [object]
  ? { -readonly [Key in keyof Outputs]: Ended<Outputs[Key], Tolerated> }
  : never;

/** What `.each` gives: a list for a list, and a record for a record. */
export type EachOutputs<C, Output, Tolerated> =
  IsAny<C> extends true
    ? C
    : C extends readonly unknown[]
      ? Ended<Output, Tolerated>[]
      : { -readonly [Key in keyof C]: Ended<Output, Tolerated> };

/** What `.each` goes through. */
export type Items = readonly unknown[] | Readonly<Record<string, unknown>>;

/**
 * What `.race` gives: the case that won. With `first: "any"` it may have failed. Conditional, so
 * that editors show the members.
 */
export type Winner<Outputs, First> = [First] extends ["any"]
  ? {
      [Key in keyof Outputs & (string | number)]:
        | { case: `${Key}`; ok: true; output: Outputs[Key] }
        | { case: `${Key}`; ok: false; error: StepError };
    }[keyof Outputs & (string | number)]
  : {
      [Key in keyof Outputs & (string | number)]: { case: `${Key}`; output: Outputs[Key] };
    }[keyof Outputs & (string | number)];

/** The options of a race beside its cases. */
export type Racing<Scope, First, Recovered> = {
  /**
   * With `"any"`, the first case that ends wins, even if it fails. Default: the first that
   * succeeds.
   */
  first?: First;
  /** With false, what the other cases have done is not undone. Default: true. */
  compensateLosers?: boolean;
  /**
   * Limits the time until a case has won. When it is over, all cases are canceled. Default: none.
   */
  timeout?: Duration;
} & Recovering<Scope, Recovered> &
  ValidAt<"recover", Recovered>;

/** What a node gives with or without `reduce`. `R` is not inferred from where the node stands. */
export type Reduced<Outputs, R> = IsAbsent<R> extends true ? Outputs : Stored<Given<R>>;

/** Reduces the outputs to one value, page by page, in their order. */
interface Reducing<Output, Key, R> {
  /** What `step` is given first. */
  initial: R;
  /** Returns the next value. It is called for each output or, with `tolerate`, for each result. */
  step: (accumulated: Given<R>, output: Output, key: Key) => Given<R>;
}

/** The options that `.parallel` and `.each` share with a parent. */
export type Gathering<Scope, Output, Key, Tolerated, R, Recovered> = {
  /** How many run at once, at most. A function is called once. Default: as for children. */
  concurrency?: number | ((scope: Scope) => number);
  /** How many may fail. Then each output is `{ ok: true, output }` or `{ ok: false, error }`. */
  tolerate?: Tolerated;
  /** Turns the outputs into one value, if they are too many or too large. */
  reduce?: Reducing<Ended<Output, Tolerated>, Key, R>;
  /**
   * Limits the whole node. When it is over, everything that runs in it is canceled. Default: none.
   */
  timeout?: Duration;
} & Recovering<Scope, Recovered> &
  ValidAt<"reduce", R> &
  ValidAt<"recover", Recovered>;
