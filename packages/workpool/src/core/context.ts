import type {
  DataModelFromSchemaDefinition,
  GenericMutationCtx,
  GenericQueryCtx,
  SchemaDefinition,
} from "convex/server";
import type { GenericId } from "convex/values";
import type { poolTables } from "./schema.js";
import type { Fair } from "./fair.js";
import type { Held } from "./limits/permits.js";
import type { PoolFunctions } from "./functions.js";

export type PoolDataModel = DataModelFromSchemaDefinition<
  SchemaDefinition<typeof poolTables, true>
>;
export type MutationCtx = GenericMutationCtx<PoolDataModel>;
export type QueryCtx = GenericQueryCtx<PoolDataModel>;
/** The host's context: `any`, as TypeScript takes no larger data model for a smaller one. */
export type HostCtx = GenericMutationCtx<any>;
export type HostQueryCtx = GenericQueryCtx<any>;
export type Doc<Table extends keyof PoolDataModel> = PoolDataModel[Table]["document"];
export type Gate = Doc<"gate">;
export type Slot = Doc<"slots">;
export type Drain = Doc<"drain">;
export type Watch = Doc<"watch">;
export type Executor = Doc<"executors">;
export type SlotId = GenericId<"slots">;
export type JobId = GenericId<"_scheduled_functions">;

/** What a pool needs of the component that it lives in. */
export interface Host {
  /** Where the host exports what {@link poolFunctions} gives. */
  readonly functions: PoolFunctions;
  /** Ends a work whose function no longer exists. It has left the queue, and has no slot. */
  readonly functionGone: (ctx: HostCtx, work: string, message: string) => Promise<void>;
  /** A work was lost: a failed attempt. If this throws, it is set aside. @param why for errors. */
  readonly lost: (ctx: HostCtx, work: string, slot: SlotId, why: string) => Promise<void>;
  /**
   * Ends a work that has waited for as long as it may. It has left the queue, and has no slot.
   * @param what it waited for, as "for a slot of the pool".
   */
  readonly waitedTooLong: (ctx: HostCtx, work: string, what: string) => Promise<void>;
  /**
   * Says whether a work that leaves the queue may start; if not, the host ends it. Default: it may.
   */
  readonly mayStart?: (ctx: HostCtx, work: Work) => Promise<boolean>;
  /** Told of a work that has left the queue for a slot. Default: nobody is. */
  readonly started?: (ctx: HostCtx, work: string) => Promise<void>;
  /** The handle of the function that runs works without one of their own. */
  readonly runner?: () => Promise<string>;
  /** The arguments of a work that was enqueued with `argsInRecord`. */
  readonly argsOf?: (ctx: HostCtx, work: string) => Promise<Record<string, unknown>>;
  /** Has works run in executors. Default: each has a function of its own. */
  readonly executes?: {
    /** What an executor gets of a work to run it; null if the work has a function of its own. */
    readonly attemptOf: (ctx: HostCtx, work: Work) => Promise<object | null>;
    /** Adds to what an executor gets with the answer to its report. Default: nothing. */
    readonly prepare?: (
      ctx: HostCtx,
      attempts: readonly AttemptToRun[],
    ) => Promise<readonly AttemptToRun[]>;
    /**
     * Says whether works come from outside. Else one soon follows another, as steps do. What comes
     * from outside may be a burst (`bursts.ts`), and a lone work of it needs an executor as well
     * (`drain-queue.ts`), but none of its own if others have room (`owners.ts`). Default: false.
     */
    readonly comeFromOutside?: boolean;
    readonly schedule: (
      ctx: HostCtx,
      executor: {
        readonly range: number;
        readonly asks: boolean;
        readonly works: readonly AttemptToRun[];
      },
    ) => Promise<JobId>;
  };
  /**
   * When the first sweep of a busy pool comes, in ms; each further one after three times as long,
   * at most 540 s. It decides how soon a lost work without a timeout is found. Default: 30,000.
   */
  readonly firstSweepMs?: number;
  /**
   * Called at the end of each sweep, for what the host has scheduled itself and announced with
   * `keepSweeping`. It reads what others write only if the pool is `idle`, to conclude that there
   * is nothing. What it throws is logged.
   * @param found by the host's `inspect`; undefined if the last work ended before a sweep.
   * @returns when to sweep next, in ms since the epoch (in 10 s to 540 s), even if no slot is held.
   */
  readonly alsoSweep?: (
    ctx: HostCtx,
    idle: boolean,
    found: unknown,
  ) => Promise<number | null | void>;
}

/** What an executor gets of a work. */
export interface AttemptToRun {
  readonly slot: SlotId;
  /** What the host has made of it. */
  readonly args: any;
}

export interface Work {
  /** Names the work towards the pool: the id of the host's own record of it. */
  readonly work: string;
  /**
   * The handle of its function, which gets `args` and `slot`, and calls `completeWork`. Default:
   * that of `Host.runner`.
   */
  readonly fn?: string | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  /** Says whether the host's record holds the arguments: see `Host.argsOf`. Default: false. */
  readonly argsInRecord?: boolean;
  /** A function that has not reported some seconds after this many ms is lost. Default: none. */
  readonly timeoutMs?: number;
  /**
   * Says whether its function takes seconds at most: the first sweep is earlier. Default: false.
   */
  readonly isMutation?: boolean;
  /** Works of one group can be found while they wait: `lastWaitingOf`. Default: none. */
  readonly group?: string;
  /** The names of the permits that it needs, from `permitsFor`. Default: none. */
  readonly permits?: readonly string[] | undefined;
  /** Whose it is, where slots are shared by keys. Default: nobody's. */
  readonly fair?: Fair | undefined;
  /** How long it waits at most for a slot and its permits: then it fails. Default: for ever. */
  readonly waitAtMostMs?: number | undefined;
  /** When that is over, of a work that has begun to wait. */
  readonly until?: number | undefined;
  /** Says whether it has had an attempt: a rate may count works alone. Default: false. */
  readonly isAgain?: boolean | undefined;
  /** The permits that it holds: it is about to start. */
  readonly held?: readonly Held[] | undefined;
  /** Its place in the order of the queue, if it had one. */
  readonly at?: Doc<"waiting">["at"];
}
