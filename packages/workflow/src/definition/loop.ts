import type { Duration } from "../rules.js";
import type { Builder, Sequence } from "./builder.js";
import type { Entries, InLoop, ScopeOf } from "./scope.js";
import type { AnySchema, InferOutput, ValidAt } from "./values.js";

/** A loop's state: that of `state`, else of `initial`. */
export type StateOf<Initial, Schema extends AnySchema> = [Schema] extends [never]
  ? Initial
  : InferOutput<Schema>;

/** A loop. The order matters to inference: initial, body, until. */
export type LoopNode<
  Input,
  Scope extends Entries,
  Initial,
  Schema extends AnySchema,
  Events,
  Names,
> = {
  /** Gives the first iteration's `loop.state`. */
  initial: (scope: ScopeOf<Scope>) => StateOf<Initial, Schema>;
  /** Adds the nodes of an iteration. They see the scope and `loop`. */
  body: (
    b: Builder<Input, InLoop<Scope, StateOf<Initial, Schema>>, null>,
  ) => Sequence<StateOf<Initial, Schema>, Events, Names>;
  /** Whether the iteration that has just ended was the last. */
  until: (scope: ScopeOf<InLoop<Scope, StateOf<Initial, Schema>>>) => boolean;
  /** After so many iterations without an end the run fails. From 1 to 100,000. */
  maxIterations: number;
  /** Of the whole loop. When it is over, the loop fails. Default: none. */
  timeout?: Duration;
  /** Types the state if `initial` cannot, for example an empty list. It parses nothing. */
  state?: Schema;
} & ValidAt<"initial", Initial> &
  ValidAt<"state", InferOutput<Schema>>;
