import type {
  BulkOptions,
  BulkStatus,
  Doing,
  ListedLimit,
  ListedRun,
  Page,
  RunState,
  Status,
  TagValue,
  TimelineEntry,
} from "@stepwise/workflow";
import type { ComponentApi } from "@stepwise/workflow/_generated/component.js";
import type { FunctionReturnType } from "convex/server";
import type { Value } from "convex/values";
import type { Shape } from "./input-shape.js";

/** Runs that are read for a page of a list: a filter without an index drops some of them. */
export const RUNS = 50;

/** Which runs to list. At most one of `node`, `parent`, `key`, `tag` and `doing`. */
export interface RunsArgs {
  readonly workflow?: string;
  readonly state?: RunState;
  /** Only runs that do this now, or have a child that does. */
  readonly doing?: Doing;
  /** Only runs that are at this node of `workflow`. */
  readonly node?: string;
  /** Only the children of this run, or of an entry of a timeline, by its `id`. */
  readonly parent?: string;
  /** Only runs of the top level with this tag. */
  readonly tag?: Readonly<Record<string, TagValue>>;
  /** Only runs of `workflow` whose key begins so. */
  readonly key?: string;
  /** Only runs created from then on, and only those before then, in ms since the epoch. */
  readonly since?: number;
  readonly until?: number;
  /** Only runs with this text in their key, id or error, in upper or lower case. */
  readonly text?: string;
  /** Only runs of `workflow` that started under an older plan. */
  readonly outdated?: boolean;
  /** From the page before; null for the first. */
  readonly cursor: string | null;
}

/** The runs of all pages of a list. */
export type RunsFilter = Omit<RunsArgs, "cursor">;

/** What to do to them. */
export type BulkArgs = Pick<BulkOptions<unknown>, "do" | "perSecond"> & {
  readonly where: RunsFilter;
};

/** A limit, or one of its keys. The pool itself is called `maxParallelism`. */
export interface LimitArgs {
  readonly name: string;
  readonly key?: string;
}

interface LimitSaidArgs extends LimitArgs {
  /** How long it holds, such as `1h` or `3 days`. Default: until somebody ends it. */
  readonly lasts?: string;
}

/** An event that some node of a workflow takes. */
export interface EventSummary {
  readonly name: string;
  /** The part of the workflow whose runs it is sent to, as they have it. Default: the run itself. */
  readonly within?: string;
  /** What to ask for, to send it. */
  readonly payload: Shape;
  /** Such a payload with empty values. */
  readonly example: Value;
}

/** A workflow that is deployed. */
export interface WorkflowSummary {
  readonly name: string;
  /** Its nodes on the top level, in order: a run can be restarted from each. */
  readonly nodes: readonly string[];
  /** The hash of its plan. */
  readonly plan: string;
  /** What to ask for, to start a run. */
  readonly input: Shape;
  /** Such an input with empty values. */
  readonly example: Value;
  /** Something of it is not shown, so no run can be started again with what is shown. */
  readonly isSensitive?: true;
  readonly events: readonly EventSummary[];
}

/** The output of a `sensitive` node is left out. */
export type ShownRun = Status<unknown> & {
  /** The app has its workflow no more, so what it did cannot be read, nor can it go on. */
  readonly isRemoved?: true;
};

/** What the pages show. Each can be read once, or watched. */
export interface Reads {
  workflows(args: Record<string, never>): WorkflowSummary[];
  /** Also how many runs were `searched` for this page: up to 50, with a `text` up to 500. */
  runs(args: RunsArgs): Page<ListedRun> & { searched: number };
  /** How many runs a filter has: up to 100 or `upTo`, or more. */
  count(args: RunsFilter & { readonly upTo?: number }): { count: number; isMore: boolean };
  /** What is done to many runs: the newest ten. */
  bulks(args: Record<string, never>): BulkStatus[];
  /** Where a run is, and what it does there. Null unless it goes on. */
  place(args: { readonly runId: string }): FunctionReturnType<ComponentApi["listing"]["place"]>;
  /** Null if there is no such run. */
  run(args: { readonly runId: string }): ShownRun | null;
  /** What a run was started with. */
  input(args: { readonly runId: string }): Value;
  /** The timeline of a run in pages, with its results unless these are left out. */
  steps(args: {
    readonly runId: string;
    readonly cursor: string | null;
    readonly withoutResults?: boolean;
  }): Page<TimelineEntry>;
  /** How busy the app's pool is. */
  pool(args: Record<string, never>): FunctionReturnType<ComponentApi["views"]["pool"]>;
  /** Which steps hold its slots, and of which workflows and keys those that wait are. */
  poolUse(args: Record<string, never>): FunctionReturnType<ComponentApi["listing"]["poolUse"]>;
  /** What there is of each limit and its keys, of the pool itself first. */
  limits(args: Record<string, never>): ListedLimit[];
}

/** What the pages do. All fail with the error that the `WorkflowManager` throws. */
export interface Writes {
  /** @param args.again the run whose input it is, edited or not: as for `restart` */
  start(args: { workflow: string; input: Value; key?: string; again?: string }): string;
  sendEvent(args: { runId: string; name: string; payload: Value }): "taken" | "kept";
  cancel(args: { runId: string }): boolean;
  pause(args: { runId: string }): boolean;
  resume(args: { runId: string }): boolean;
  /**
   * Whole or from a node, or an iteration of that, with the same input or another one. One that was
   * edited is refused if the schema, which parses it again, would change it again.
   */
  restart(args: {
    runId: string;
    from?: string;
    iteration?: number;
    input?: Value;
    isEdited?: boolean;
  }): null;
  cleanup(args: { runId: string }): null;
  /** Does it to all runs of a filter, in the background. */
  startBulk(args: BulkArgs): string;
  stopBulk(args: { bulkId: string }): boolean;
  /** Re-arms all whose scheduled function was lost, in every run. */
  repair(args: Record<string, never>): null;
  /** Puts other numbers than those of the code in force for a limit or a key. */
  overrideLimit(args: LimitSaidArgs & { total?: number; perKey?: number }): null;
  /** Goes back to the code's numbers. */
  resetLimit(args: LimitArgs): null;
  /** Lets nothing of a limit or a key start. What runs, runs on. */
  pauseLimit(args: LimitSaidArgs): null;
  resumeLimit(args: LimitArgs): null;
}

export type ReadName = keyof Reads;
export type WriteName = keyof Writes;
export type ReadArgs<Name extends ReadName> = Parameters<Reads[Name]>[0];
export type ReadResult<Name extends ReadName> = ReturnType<Reads[Name]>;
export type WriteArgs<Name extends WriteName> = Parameters<Writes[Name]>[0];
export type WriteResult<Name extends WriteName> = ReturnType<Writes[Name]>;

/** The states of runs, in the order in which a run comes to them. */
export const STATES = [
  "pending",
  "running",
  "compensating",
  "completed",
  "failed",
  "canceled",
  "timedOut",
] as const satisfies RunState[];

/** What runs do: first what an operator may have to look at, last what is as it should be. */
export const DOING = [
  "stalled",
  "queued",
  "retrying",
  "waitingForEvent",
  "sleeping",
  "collecting",
  "waitingForTurn",
  "running",
] as const satisfies Doing[];

/** What a bulk can do to runs. */
export const BULK_VERBS = [
  "cancel",
  "pause",
  "resume",
  "restart",
  "cleanup",
] as const satisfies BulkArgs["do"][];

/** The names, to check what comes from outside. */
export const READS = [
  "workflows",
  "runs",
  "count",
  "bulks",
  "place",
  "run",
  "input",
  "steps",
  "pool",
  "poolUse",
  "limits",
] as const satisfies ReadName[];
export const WRITES = [
  "start",
  "sendEvent",
  "cancel",
  "pause",
  "resume",
  "restart",
  "cleanup",
  "startBulk",
  "stopBulk",
  "repair",
  "overrideLimit",
  "resetLimit",
  "pauseLimit",
  "resumeLimit",
] as const satisfies WriteName[];

/** Where the studio gets its runs from: the embedded back end, or a deployment. */
export interface DataSource {
  read<Name extends ReadName>(name: Name, args: ReadArgs<Name>): Promise<ReadResult<Name>>;
  /**
   * Calls `onValue` with the result now and whenever it changes, and `onError` while it cannot be
   * read.
   * @returns a function that ends it
   */
  watch<Name extends ReadName>(
    name: Name,
    args: ReadArgs<Name>,
    onValue: (value: ReadResult<Name>) => void,
    onError: (error: Error) => void,
  ): () => void;
  write<Name extends WriteName>(name: Name, args: WriteArgs<Name>): Promise<WriteResult<Name>>;
}
