import type { Duration, LocalTime } from "../rules.js";
import type {
  BranchOutputs,
  EachOutputs,
  Gathering,
  Items,
  Racing,
  Reduced,
  Winner,
} from "./concurrent.js";
import { Definer } from "./definer.js";
import type {
  Definition,
  Finalized,
  InputEntry,
  InputFrom,
  Keep,
  TaggedBy,
  Tags,
  WorkflowOptions,
} from "./definition.js";
import type {
  CaseKey,
  EndingOfCase,
  EventsOfCase,
  InPath,
  NamesOfCase,
  OutputOfCase,
  Reached,
  Sequence,
  Whole,
} from "./cases.js";
import type { Ended, Ends, EndsIn, Kept, Literal } from "./ending.js";
import type { CasesOf, MatchNode, Rest } from "./matching.js";
import type { Awaited, EventNode, EventOutput, Named, Schemas } from "./event.js";
import type {
  AnyReference,
  AnyUndo,
  FinalizeNode,
  FinalOutput,
  InlineStep,
  Recovering,
  ReferenceStep,
  Returned,
} from "./node.js";
import type { Absent, Children, ParentNode, ParentOutput, Starts, Tolerate } from "./parent.js";
import type { Entries, Free, InEach, InLoop, Inside, NamesOf, ScopeOf, TagsIn } from "./scope.js";
import type {
  AnySchema,
  Given,
  InferInput,
  InferOutput,
  Misfit,
  Stored,
  ValidAt,
} from "./values.js";

/** The builder after one more node. */
type With<Input, Scope extends Entries, Name extends string, Output, Events, Hint> = Builder<
  Input,
  [...Scope, [Name, Output]],
  Output,
  Events,
  Hint
>;

/** The builder after a node that holds others. @typeParam Paths theirs, from that node on. */
type Around<
  Input,
  Scope extends Entries,
  Name extends string,
  Output,
  Events,
  Hint,
  Paths extends string,
> = Builder<Input, [...Scope, [never, `${Name}.${Paths}`], [Name, Output]], Output, Events, Hint>;

/** The paths of the nodes in cases, each from its case on. */
type PathsIn<Scope extends Entries, Cases> = {
  [Key in keyof Cases & CaseKey]: `${InPath<Key>}.${Inside<Scope, NamesOfCase<Cases[Key]>>}`;
}[keyof Cases & CaseKey];

/** What `initial` must give: what `state` says, if there is one. */
type Start<Schema extends AnySchema> = [Schema] extends [never] ? unknown : InferOutput<Schema>;

/** A loop's state: that of `state`, else of `initial`. */
type StateOf<Initial, Schema extends AnySchema> = [Schema] extends [never]
  ? Initial extends (scope: never) => infer State
    ? State
    : never
  : InferOutput<Schema>;

/** A loop. The order matters to inference: state, initial, body, until. */
type LoopNode<
  Input,
  Scope extends Entries,
  Initial,
  Schema extends AnySchema,
  State,
  Events,
  Names,
> = {
  /** Types the state: what `initial` and the last node of the body give. It parses nothing. */
  state?: Schema;
  /** Gives the first iteration's `loop.state`. */
  initial: Initial;
  /** Adds the nodes of an iteration. They see the scope and `loop`. */
  body: (
    b: Builder<Input, InLoop<Scope, State>, null, never, [Schema] extends [never] ? never : State>,
  ) => Sequence<State, Events, Names>;
  /** Says whether the iteration that has just ended was the last. */
  until: (scope: ScopeOf<InLoop<Scope, State>>) => boolean;
  /**
   * How many iterations the loop has at most, from 1 to 100,000. If it has not ended by then, the
   * run fails.
   */
  maxIterations: number;
  /** Limits the whole loop. When it is over, the loop fails. Default: none. */
  timeout?: Duration;
} & ValidAt<"initial", StateOf<Initial, never>> &
  ValidAt<"state", InferOutput<Schema>>;

/**
 * A definition that can still grow. @typeParam Events what its nodes wait for, and start.
 * @typeParam Hint what its last node should give, by the `state` of the loop whose body it is.
 */
export interface Builder<
  Input,
  Scope extends Entries,
  Output,
  Events = never,
  Hint = never,
> extends Definition<Input, ScopeOf<Scope>, Output | EndsIn<Events>, NamesOf<Scope>, Events> {
  readonly "~last"?: () => Output;

  /** One Convex function: an inline handler `(ctx, scope, info)`, or a reference with `args`. */
  step<const Name extends string, Result, Recovered = never, Undo extends AnyUndo = AnyUndo>(
    name: Free<Scope, Name>,
    node: InlineStep<ScopeOf<Scope>, Result, Recovered, Undo, TagsIn<Scope>, Hint>,
  ): With<Input, Scope, Name, Stored<Result> | Stored<Given<Recovered>>, Events, Hint>;
  step<const Name extends string, Reference, Recovered = never, Undo extends AnyUndo = AnyUndo>(
    name: Free<Scope, Name>,
    node: ReferenceStep<Reference, ScopeOf<Scope>, Recovered, Undo, TagsIn<Scope>>,
  ): With<Input, Scope, Name, Returned<Reference> | Stored<Given<Recovered>>, Events, Hint>;

  /** Runs `children` in parallel, after its handler if it has one, and gathers their outputs. */
  parent<
    const Name extends string,
    C extends Children,
    Handled = Absent,
    const Tolerated extends Tolerate | undefined = undefined,
    Reduced = Absent,
    Result = ParentOutput<C, Handled, Tolerated, Reduced>,
    Final extends AnyReference = AnyReference,
    Recovered = never,
  >(
    name: Free<Scope, Name>,
    node: ParentNode<
      ScopeOf<Scope>,
      C,
      Handled,
      Tolerated,
      Reduced,
      Result,
      Final,
      Recovered,
      TagsIn<Scope>
    >,
  ): With<
    Input,
    Scope,
    Name,
    FinalOutput<Result, Final> | Stored<Given<Recovered>>,
    Events | Starts<Name, C>,
    Hint
  >;

  /**
   * Waits, without holding a slot, for a time, until a date, or until a time of day in a zone. It
   * has no output.
   * @param duration at most a year. Zero, a negative number or a past date does not wait. `{ at:
   * "02:30", zone: "Europe/Berlin" }` waits until the clocks there show it next.
   */
  sleep<const Name extends string>(
    name: Free<Scope, Name>,
    duration: Duration | LocalTime | ((scope: ScopeOf<Scope>) => Duration | Date | LocalTime),
  ): Builder<Input, [...Scope, [never, Name]], Output, Events, Hint>;

  /**
   * Waits, without holding a slot, for `workflow.sendEvent`; an event that came early is taken at
   * once. The output is the payload, with `anyOf` `{ name, value }`; with a `timeout` it is `{
   * timedOut: false, event }` or `{ timedOut: true }`.
   */
  event<
    const Name extends string,
    Schema extends AnySchema = never,
    S extends Schemas = never,
    Timeout extends Duration | Date | undefined = undefined,
  >(
    name: Free<Scope, Name>,
    node: EventNode<Schema, S, Timeout, ScopeOf<Scope>>,
  ): With<
    Input,
    Scope,
    Name,
    EventOutput<InferOutput<Schema> | Named<S>, Timeout>,
    Events | Awaited<Name, Schema, S>,
    Hint
  >;

  /**
   * Runs exactly one of its cases. Each adds nodes to a builder; later nodes do not see them. The
   * output is that of the case's last node, or null if it has none. A case that has an `.end` adds
   * nothing to it.
   */
  branch<
    const Name extends string,
    Key extends CaseKey,
    Cases extends Readonly<
      Record<CaseKey, (b: Builder<Input, Scope, null, never, Hint>) => Sequence<unknown>>
    >,
  >(
    name: Free<Scope, Name>,
    node: {
      /** Returns the key of a case. Each case must be one that it can return. */
      on: (scope: ScopeOf<Scope>) => Key & keyof Cases;
      cases: Cases;
    } & Reached<Given<Key>, Given<keyof Cases>>,
  ): Around<
    Input,
    Scope,
    Name,
    OutputOfCase<Cases[keyof Cases]>,
    Events | EventsOfCase<Cases[keyof Cases]>,
    Hint,
    PathsIn<Scope, Cases>
  >;

  /**
   * Runs exactly one of its cases: that of the value of a field. In each case the scope has the
   * member of the union with that value. Otherwise it is a `.branch`.
   */
  match<
    const Name extends string,
    Cases extends CasesOf<Input, Scope, Of, By, Hint>,
    const Of extends string = never,
    const By extends string = never,
    Default extends Sequence<unknown> = never,
  >(
    name: Free<Scope, Name>,
    node: MatchNode<Input, Scope, Cases, Of, By, Default, Hint>,
  ): Around<
    Input,
    Scope,
    Name,
    // Apart: of a union, declarations would name the type and all cases, not what they give.
    OutputOfCase<Cases[keyof Cases]> | OutputOfCase<Rest<Default>>,
    Events | EventsOfCase<Cases[keyof Cases]> | EventsOfCase<Rest<Default>>,
    Hint,
    PathsIn<Scope, Cases> | `default.${Inside<Scope, NamesOfCase<Rest<Default>>>}`
  >;

  /**
   * Runs all its branches at once, each as a child. Each adds nodes to a builder; later nodes do
   * not see them. The output has that of each branch's last node, or null, under its name.
   */
  parallel<
    const Name extends string,
    Branches extends Readonly<
      Record<string, (b: Builder<Input, Scope, null>) => Sequence<unknown>>
    >,
    const Tolerated extends Tolerate | undefined = undefined,
    R = Absent,
    Recovered = never,
  >(
    name: Free<Scope, Name>,
    node: { branches: Branches } & Gathering<
      ScopeOf<Scope>,
      EndingOfCase<Branches[keyof Branches]>,
      keyof Branches & string,
      Tolerated,
      R,
      Recovered
    >,
  ): Around<
    Input,
    Scope,
    Name,
    | Reduced<BranchOutputs<{ [Key in keyof Branches]: EndingOfCase<Branches[Key]> }, Tolerated>, R>
    | Stored<Given<Recovered>>,
    Events | Exclude<EventsOfCase<Branches[keyof Branches]>, Ends<unknown>>,
    Hint,
    {
      [
        Key in keyof Branches & string
      ]: `${InPath<Key>}.${Inside<Scope, NamesOfCase<Branches[Key]>>}`;
    }[keyof Branches & string]
  >;

  /**
   * Runs all its cases at once, each as a child. The first that ends well wins: the others are
   * canceled, and what they have done is undone. The output is `{ case, output }`, with `first:
   * "any"` `{ case, ok: true, output }` or `{ case, ok: false, error }`.
   */
  race<
    const Name extends string,
    Cases extends Readonly<Record<string, (b: Builder<Input, Scope, null>) => Sequence<unknown>>>,
    const First extends "any" | undefined = undefined,
    Recovered = never,
  >(
    name: Free<Scope, Name>,
    node: { cases: Cases } & Racing<ScopeOf<Scope>, First, Recovered>,
  ): Around<
    Input,
    Scope,
    Name,
    Winner<{ [Key in keyof Cases]: EndingOfCase<Cases[Key]> }, First> | Stored<Given<Recovered>>,
    Events | Exclude<EventsOfCase<Cases[keyof Cases]>, Ends<unknown>>,
    Hint,
    PathsIn<Scope, Cases>
  >;

  /**
   * Runs its body for each item of a list or a record, all at once, each as a child. The nodes of
   * the body see the scope and `each`; the output is a list or a record of the outputs of its last
   * node. Write `of` first, for inference.
   */
  each<
    const Name extends string,
    C extends Items,
    Output,
    Awaits = never,
    Names = unknown,
    const Tolerated extends Tolerate | undefined = undefined,
    R = Absent,
    Recovered = never,
  >(
    name: Free<Scope, Name>,
    node: {
      /** Gives the items. Called once. */
      of: (scope: ScopeOf<Scope>) => C;
      /** Adds the nodes for an item. They see the scope and `each`. */
      body: (b: Builder<Input, InEach<Scope, C>, null>) => Whole<Output, Awaits, Names>;
    } & ValidAt<"of", C> &
      Gathering<
        ScopeOf<Scope>,
        Output,
        C extends readonly unknown[] ? number : keyof C & string,
        Tolerated,
        R,
        Recovered
      >,
  ): Around<
    Input,
    Scope,
    Name,
    Reduced<EachOutputs<C, Output, Tolerated>, R> | Stored<Given<Recovered>>,
    Events | Exclude<Awaits, Ends<unknown>>,
    Hint,
    Inside<Scope, Names>
  >;

  /**
   * Runs its body once or more: the output of its last node is the next iteration's `loop.state`,
   * and at the end the loop's output. Nodes after the loop do not see those inside. Write the
   * options in this order, for inference: state, initial, body, until.
   */
  loop<
    const Name extends string,
    Initial extends (scope: ScopeOf<Scope>) => Start<Schema>,
    Schema extends AnySchema = never,
    Awaits = never,
    Names = unknown,
  >(
    name: Free<Scope, Name>,
    node: LoopNode<Input, Scope, Initial, Schema, StateOf<Initial, Schema>, Awaits, Names>,
  ): Around<
    Input,
    Scope,
    Name,
    StateOf<Initial, Schema>,
    Events | Awaits,
    Hint,
    Inside<Scope, Names>
  >;

  /**
   * One child run. Its output is the node's.
   * @param workflow the definition that the child runs; see `childNamed` for one that is its own
   *   descendant.
   * @param args gives the child's input.
   */
  child<const Name extends string, ChildInput, ChildOutput, Recovered = never>(
    name: Free<Scope, Name>,
    workflow: Definition<ChildInput, unknown, ChildOutput>,
    args: (scope: ScopeOf<Scope>) => NoInfer<ChildInput>,
    options?: Recovering<ScopeOf<Scope>, Recovered> & ValidAt<"recover", Recovered>,
  ): With<Input, Scope, Name, ChildOutput | Stored<Given<Recovered>>, Events, Hint>;

  /**
   * Ends the run here, as completed, with this output: nothing that follows runs, nor does a
   * `.finalize`. Inside `.parallel`, `.each` and `.race` it ends that branch, item or case. It is
   * synchronous.
   */
  end<Field extends Literal, Result extends Kept<Field>>(
    output: ((scope: ScopeOf<Scope>) => Result) & Misfit<Result, unknown>,
  ): Ended<
    Input,
    ScopeOf<Scope>,
    EndsIn<Events> | Stored<Result>,
    NamesOf<Scope> | "end",
    Events | Ends<Stored<Result>>
  >;

  /** The last node: its result is the workflow's output. */
  finalize<Result, Final extends AnyReference = AnyReference>(
    node: FinalizeNode<ScopeOf<Scope>, Result, Final, TagsIn<Scope>>,
  ): Finalized<
    Input,
    ScopeOf<Scope>,
    FinalOutput<Result, Final> | EndsIn<Events>,
    NamesOf<Scope>,
    Events
  >;
}

/**
 * Begins a workflow; chain its nodes to it, and export it. `npx workflow-codegen` compiles it.
 *
 * @example
 * export const greet = defineWorkflow({ input: z.object({ name: z.string() }) })
 *   .step("greeting", { action: async (ctx, { input }) => `Hello ${input.name}` });
 */
export function defineWorkflow<
  Schema extends AnySchema,
  OnEnd extends AnyUndo = AnyUndo,
  Kept extends Keep = "last",
  Given extends Tags = never,
>(
  options: WorkflowOptions<Schema, OnEnd, Kept, Given>,
): Builder<
  InferInput<Schema>,
  [InputEntry<InputFrom<Schema, Kept>, Given>],
  null,
  TaggedBy<Given>
> {
  // The builder's type grows with every call; its value is one and the same object. The type of
  // the options' paths depends on the schema, which the value does not.
  return new Definer(options as never) as never;
}
