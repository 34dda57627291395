import type { Builder, Sequence } from "./builder.js";
import type { Duration } from "../rules.js";
import type { AnySchema, InferOutput } from "./schema.js";
import type { Entries, InLoop, ScopeOf } from "./scope.js";
import type { ValidAt } from "./values.js";

/** What a loop hands from pass to pass: what its `state` says, else what `initial` gives. `Schema` is `never` without a `state`. */
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
  /** The first pass's `loop.state`. */
  initial: (scope: ScopeOf<Scope>) => StateOf<Initial, Schema>;
  /** Adds the nodes of a pass. They see the scope and `loop`. */
  body: (
    b: Builder<Input, InLoop<Scope, StateOf<Initial, Schema>>, null>,
  ) => Sequence<StateOf<Initial, Schema>, Events, Names>;
  /** Whether the pass that has just ended was the last. */
  until: (scope: ScopeOf<InLoop<Scope, StateOf<Initial, Schema>>>) => boolean;
  /** After so many passes without an end the run fails. From 1 to 100,000. */
  maxIterations: number;
  /** Of the whole loop, over all passes. When it is over what runs inside is canceled, and the loop fails. Default: none. */
  timeout?: Duration;
  /** Says the state's type where `initial` cannot: an empty list, one member of a union. Nothing is parsed with it. */
  state?: Schema;
} & ValidAt<"initial", Initial> &
  ValidAt<"state", InferOutput<Schema>>;
