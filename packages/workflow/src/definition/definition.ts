import type { Limits, LogLevel } from "@stepwise/workpool/core";
import type { Duration } from "../rules.js";
import type { InPath } from "./cases.js";
import type { AnyTags, StepError, TagValue } from "./context.js";
import type { NodeKind } from "./definer.js";
import type { LimitsOption } from "./limits.js";
import type { AnyReference, AnyUndo, Compensation, Retry } from "./node.js";
import type { ChildrenOf } from "./parent.js";
import type { AnySchema, InferOutput, SensitivePath } from "./values.js";

/** Tags by their names. An undefined one sets no tag: it only declares its name. */
export type Tags = { readonly [Name in string]: TagValue | undefined };

/** The names of tags, of all members of a union. */
type NamesOfTags<Given> = Given extends unknown ? keyof Given & string : never;

/** The values that `tags` gives a tag, in all members of a union. */
type ValuesOfTag<Given, Name> = Given extends unknown
  ? Name extends keyof Given
    ? Exclude<Given[Name], undefined>
    : never
  : never;

/** A tag that is only declared may say anything, and one that is `true` may become `false`. */
type Declared<Value> = [Value] extends [never] ? TagValue : Value extends boolean ? boolean : Value;

/** What each tag may be, by its name. */
type DeclaredBy<Given> = {
  readonly [Name in NamesOfTags<Given>]: Declared<ValuesOfTag<Given, Name>>;
};

/** The tags that a workflow declares, as the types of its scope and of its nodes carry them. */
export interface Tagged<Declared> {
  readonly tags: Declared;
}

/** The entry of `input`, with those tags: optional, so that a body fits whose own type has none. */
export type InputEntry<Input, Given> = [Given] extends [never]
  ? ["input", Input]
  : ["input", Input] & Partial<Tagged<DeclaredBy<Given>>>;

/** The same for what `tags` gives: nothing without it. */
export type TaggedBy<Given> = [Given] extends [never] ? never : Tagged<DeclaredBy<Given>>;

/** How a run has ended, as the `onEnd` of its workflow sees it. */
export type EndedRun =
  | { state: "completed"; output: unknown; error?: undefined }
  | { state: "failed" | "canceled" | "timedOut"; error: StepError; output?: undefined };

/** How runs of a workflow with one key follow each other. */
export interface One<Scope> {
  /**
   * Returns the key of a run, or undefined for none. It is called once: when the run is started or,
   * for a child, when its parent comes to it.
   */
  key: (scope: Scope) => string | undefined;
  /**
   * What happens to a start while another run has the key. `wait`: the run begins when those that
   * were started before it have ended. `skip`: no run is started, and the caller gets the one that
   * has the key. `cancelOld`: that one is canceled, and the new one begins when it has ended.
   * `newestWaits`: the new one waits, and the one that waited before it is canceled.
   */
  otherwise: "wait" | "skip" | "cancelOld" | "newestWaits";
}

/** The starts whose input a run gets, among those that it collects. */
export type Keep = "last" | "first" | "all";

/** The input of a run that has collected starts. */
export type Collected<Input, Kept> = Kept extends "all" ? { items: Input[] } : Input;

/** The key by which a run shares the slots of the pool. */
export interface Fairness<Scope> {
  /** Returns the key, or undefined for none. It is called once, when the run is started. */
  key: (scope: Scope) => string | undefined;
  /**
   * How many slots the key gets for each slot of a key of weight 1, from 0.001 to 1,000. A function
   * is called once, with that of the key. Default: 1.
   */
  weight?: number | ((scope: Scope) => number);
}

/** How starts of a workflow with one key become one run. */
export interface Collect<Scope, Kept extends Keep = Keep> {
  /**
   * Returns the key of a start, from its own input. If it is undefined, the start begins a run at
   * once.
   */
  key: (scope: Scope) => string | undefined;
  /** The run begins when nothing has been started for this long. */
  quiet: Duration;
  /** The run begins at the latest this long after the first start. Default: 10 times `quiet`. */
  atMost?: Duration;
  /**
   * The run begins as soon as it has this many starts, from 1 to 1,000. With `all`, it gets no
   * more: the rest of those that came at the same moment go into the next run. Default: 1,000 for
   * `all`, otherwise no limit.
   */
  size?: number;
  /**
   * What the run's `input` is: that of the `last` or the `first` start, or `{ items }` with those
   * of `all`, in order. The items take at most 1 MB together: the rest go into the next run.
   */
  keep: Kept;
}

/** What handlers see as `input`. */
export type InputFrom<Schema extends AnySchema, Kept> = Collected<InferOutput<Schema>, Kept>;

/** The options of a whole workflow. */
export interface WorkflowOptions<
  Schema extends AnySchema,
  OnEnd extends AnyUndo = AnyUndo,
  Kept extends Keep = "last",
  Given extends Tags = Tags,
> {
  /** Parses the input of `workflow.start`: any Standard Schema, or Convex's `v.object`. */
  input: Schema;
  /** Applies to every action of the workflow without a `retry`. Default: one attempt. */
  retry?: Retry;
  /**
   * The limits of the app's config that every action of the workflow counts towards. A step may
   * name others, and give other keys for the same ones. Default: none.
   */
  limits?: LimitsOption<{ input: InputFrom<Schema, Kept> }>;
  /**
   * Lets at most one run of the workflow per key, children too, proceed at a time. A run below one
   * with the same key shares its turn. Keys are shown, so they cannot read `sensitive` values.
   * Default: all may run at once.
   */
  one?: One<{ input: InputFrom<Schema, Kept> }>;
  /**
   * Shares the slots of the pool: while actions wait, each slot goes to the key that holds the
   * fewest for its weight. Actions without a key share one. Children have the key of their parent,
   * unless their workflow sets one. Keys are shown, so they cannot read `sensitive` values.
   * Default: slots go to the oldest.
   */
  fairness?: Fairness<{ input: InputFrom<Schema, Kept> }>;
  /**
   * Treats the actions of a run as if the run had reached them this much earlier. That counts among
   * actions that wait for the same limits or for a slot. A function is called once, when the run is
   * started. Children have the priority of their parent, unless their workflow sets one. Default:
   * none.
   */
  priority?: Duration | ((scope: { input: InputFrom<Schema, Kept> }) => Duration | undefined);
  /**
   * Collects starts with one key into one run: a debounce, a batch, or both. Each start returns the
   * id of the run that collects, which is `pending`. Children are not collected. Keys are shown, so
   * they cannot read `sensitive` values. Default: each start begins a run.
   */
  collect?: Collect<{ input: InferOutput<Schema> }, Kept>;
  /** Limits a whole run: it then ends as `timedOut`, and is rolled back. Default: none. */
  timeout?: Duration;
  /** How long a run is kept after its end, before it is removed. Default: forever. */
  retention?: Duration;
  /**
   * Runs once when a run has ended, in any way, for children too. Like `finally`, it releases what
   * the run has taken. A mutation runs in the transaction that ends the run, after compensations;
   * an action after that, with its own `retry`. If it fails, the run's result stays, and `status`
   * has an `onEndError`.
   */
  onEnd?: Compensation<{ input: InputFrom<Schema, Kept>; run: EndedRun }, OnEnd, AnyTags>;
  /**
   * Returns the tags by which `list` and the studio find a run: at most 10, by name, such as `{
   * org: input.org }`. It is called at the start of a run, and at a restart with another input.
   * Children have no tags. Tags are shown, so they cannot read `sensitive` values. Default: none.
   */
  tags?: (scope: { input: InputFrom<Schema, Kept> }) => Given;
  /**
   * Values of the input that are neither shown, logged, nor passed to a scheduled function, by
   * their paths, such as `["input.card"]`. A path goes through lists. `true`: the whole input, and
   * every node is `sensitive`. Default: none.
   */
  sensitive?: boolean | readonly SensitivePath<InputFrom<Schema, Kept>>[];
  /**
   * Renamed nodes, `{ old: "new" }`: they keep their results, and runs in flight go on. A node
   * inside another is named by its path, such as `"agent.think"` or `"route.big.x"`. An entry may
   * be deleted once it is in the plan.
   */
  renamed?: Readonly<Record<string, string>>;
  /**
   * What the workflow was called before: its runs go on under the new name. It may be deleted once
   * it is in the plan.
   */
  renamedFrom?: string;
}

/* The options of a node were checked where it was written: generated code only hands them on. */
type OfScope = (scope: any, info?: unknown) => any;
type Handler = (ctx: any, scope: any, info: any) => unknown;

/** The function of a node, with those members that the compiler has seen. */
export interface CompiledFunction {
  readonly action: Handler & AnyReference<"action">;
  readonly mutation: Handler & AnyReference<"mutation">;
  readonly query: Handler & AnyReference<"query">;
  /** Never, and not any: what it gives fits any function, and no linter takes it for unsafe. */
  readonly args: (scope: any, info?: unknown) => never;
}

/**
 * A node as generated code sees it, which reads only the options that the compiler has seen.
 * @typeParam Name the paths of all nodes of the definition. @typeParam Path its own.
 * @typeParam Events what the nodes of the definition wait for, and start.
 */
export interface CompiledNode<
  Name extends string,
  Path extends string,
  Events = unknown,
> extends CompiledFunction {
  readonly kind: NodeKind;
  readonly compensate: CompiledFunction;
  readonly finalize: CompiledFunction;
  readonly children: (scope: any) => ChildrenOf<Events, LastOf<Path>>;
  readonly duration: Duration | OfScope;
  readonly on: OfScope;
  readonly of: OfScope;
  readonly output: OfScope;
  readonly initial: OfScope;
  readonly until: OfScope;
  readonly body: Nodes<NamesIn<Name, Path>, Name, `${Path}.`, Events>;
  readonly cases: Cases<Name, Path, Events>;
  readonly branches: Cases<Name, Path, Events>;
}

type Cases<Name extends string, Path extends string, Events> = Unhidden<
  CasesIn<Name, Path>,
  {
    readonly [Key in CasesIn<Name, Path>]: Nodes<
      NamesIn<Name, `${Path}.${InPath<Key>}`>,
      Name,
      `${Path}.${InPath<Key>}.`,
      Events
    >;
  }
>;

type LastOf<Path extends string> = Path extends `${string}.${infer Rest}` ? LastOf<Rest> : Path;

/** The nodes of a workflow, a case or a body. @typeParam Prefix what their paths begin with. */
type Nodes<Keys extends string, Name extends string, Prefix extends string, Events> = Unhidden<
  Keys,
  { readonly [Key in Keys]: CompiledNode<Name, `${Prefix}${Key}`, Events> }
>;

/** Any, if a type such as `Sequence` hides the names: the compiler has seen what it reads. */
type Unhidden<Names extends string, Known> = string extends Names ? any : Known;

type NamesIn<Name, Path extends string> = Name extends `${Path}.${infer Rest}`
  ? OnTop<Rest>
  : never;
type CasesIn<Name, Path extends string> = Name extends `${Path}.${infer Rest}`
  ? KeyIn<Rest>
  : never;
type KeyIn<Rest> = Rest extends `"${infer Key}".${string}`
  ? Key
  : Rest extends `${infer Key}.${string}`
    ? Key
    : never;

/**
 * What `defineWorkflow()` returns. The members with `~` exist in types only.
 * @typeParam Input what `start` takes. @typeParam Scope `input` and every node's output, by name.
 * @typeParam Name the names of all nodes, and the paths of those inside others.
 * @typeParam Events what its nodes wait for, as `Receives`, start, as `Starts`, and end a run with,
 *   as `Ends`.
 */
export interface Definition<Input, Scope, Output, Name extends string = string, Events = unknown> {
  readonly "~input"?: (input: Input) => void;
  readonly "~scope"?: () => Scope;
  readonly "~output"?: () => Output;
  readonly "~events"?: () => Events;
  readonly "~names"?: () => Name;
  readonly options: WorkflowOptions<AnySchema, AnyUndo, Keep>;
  /**
   * The nodes by name, each with its `kind`, `finalize` under that name. A sleep is `{ duration }`,
   * a child `{ workflow, args }`. The `body` of a loop or an each has nodes by name again, as each
   * of the `cases` of a branch or a race and each of the `branches` of a parallel has.
   */
  readonly nodes: Nodes<OnTop<Name>, Name, "", Events>;
}

/** The names of the nodes on the top level. */
export type OnTop<Name extends string> = Name extends `${string}.${string}` ? never : Name;

/** A definition that has its `.finalize`: it cannot grow, nor be a body or a case. */
export interface Finalized<Input, Scope, Output, Name extends string, Events> extends Definition<
  Input,
  Scope,
  Output,
  Name,
  Events
> {
  readonly "~finalized"?: true;
  readonly nodes: Nodes<OnTop<Name> | "finalize", Name, "", Events>;
}

/* Any definition: `never` in the place of a parameter's type fits all. */
export interface AnyDefinition extends Omit<Definition<never, unknown, unknown>, "nodes"> {
  readonly nodes: Readonly<Record<string, CompiledNode<string, string>>>;
}

export type WorkflowInput<D> = D extends { readonly "~input"?: (input: infer Input) => void }
  ? Input
  : never;
export type WorkflowOutput<D> = D extends { readonly "~output"?: () => infer Output }
  ? Output
  : never;
/** `input` and the outputs of all nodes of a workflow, by name. */
export type WorkflowScope<D> = D extends { readonly "~scope"?: () => infer Scope } ? Scope : never;

/** The tags that it declares, by name; any, if it declares none. */
export type DeclaredTags<D> = D extends { readonly "~events"?: () => infer Events }
  ? [Extract<Events, Tagged<unknown>>] extends [never]
    ? AnyTags
    : Extract<Events, Tagged<unknown>>["tags"]
  : AnyTags;

/** The settings of all workflows of an app. */
export interface Config {
  /** The name under which `convex.config.ts` mounts the component. Default: `"workflow"`. */
  component?: string;
  /** How many actions run at once, from 0 (paused) to 200. Default: what is stored; 10 at first. */
  maxParallelism?: number;
  /** `"DEBUG"` to `"ERROR"`. Default: what is stored; `"REPORT"` at first. */
  logLevel?: LogLevel;
  /**
   * How many actions that name a limit run at once: `{ perKey: 3 }` of each key, `{ total: 5 }` in
   * all, or both. `{ rate: { limit: 500, per: "1m" } }` limits how many start per minute. With
   * `maxWaiting`, a start throws a `LimitError` if that many already wait. Default: what is stored;
   * none at first.
   */
  limits?: Limits;
  /** How long a run of a workflow without a `retention` is kept after its end. Default: forever. */
  retention?: Duration;
  /** Applies to each action without a `retry` in a workflow without one. Default: one attempt. */
  retry?: Retry;
  /**
   * The folder of the generated code, under the functions folder, such as `"generated/workflows"`:
   * names of letters, digits and `_`. It cannot change while generated code is in another folder.
   * Default: `"_workflows"`.
   */
  output?: string;
}

/**
 * The default export of `stepwise.config.ts`, in the functions folder. The compiler reads its text,
 * so all values are literals.
 *
 * @example
 * export default defineConfig({ maxParallelism: 50, retention: "30 days", retry: true });
 */
export function defineConfig(config: Config): Config {
  return config;
}
