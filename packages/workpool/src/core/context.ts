import type {
  DataModelFromSchemaDefinition,
  FunctionReference,
  GenericMutationCtx,
  GenericQueryCtx,
  SchemaDefinition,
} from "convex/server";
import type { GenericId } from "convex/values";
import type { poolTables } from "./schema.js";
import type { DrainArgs } from "./drain.js";
import type { FreeSlots } from "./slots.js";
import type { Carriers } from "./carrier.js";
import type { Inspected, InspectArgs, Suspect, SweepArgs } from "./watch-validators.js";

export type PoolDataModel = DataModelFromSchemaDefinition<
  SchemaDefinition<typeof poolTables, true>
>;
export type PoolMutationCtx = GenericMutationCtx<PoolDataModel>;
export type PoolQueryCtx = GenericQueryCtx<PoolDataModel>;
/** The host's context: `any`, as TypeScript takes no larger data model for a smaller one. */
export type HostMutationCtx = GenericMutationCtx<any>;
export type HostQueryCtx = GenericQueryCtx<any>;
export type Doc<Table extends keyof PoolDataModel> = PoolDataModel[Table]["document"];
export type SlotId = GenericId<"slots">;
export type JobId = GenericId<"_scheduled_functions">;

/** What a pool needs of the component that it lives in. */
export interface PoolHost {
  /** {@link queueHead} as an internal query, read from a stale snapshot. */
  readonly queueHead: FunctionReference<
    "query",
    "internal",
    { count: number },
    GenericId<"waiting">[]
  >;
  /** {@link freeSlotsFrom} as an internal query, read from a stale snapshot. */
  readonly freeSlots: FunctionReference<
    "query",
    "internal",
    { from: number; count: number },
    FreeSlots | null
  >;
  /** {@link drainQueue} as an internal mutation, with the arguments `drainArgs`. */
  readonly drainQueue: FunctionReference<"mutation", "internal", DrainArgs, null>;
  /** Ends a work whose function no longer exists. It has left the queue, and has no slot. */
  readonly functionGone: (ctx: HostMutationCtx, work: string, message: string) => Promise<void>;
  /**
   * Whether a work that has left the queue may start; if not, the host ends it. Default: it may.
   */
  readonly mayStart?: (ctx: HostMutationCtx, work: Work) => Promise<boolean>;
  /** Told of a work that has left the queue for a slot. Default: nobody is. */
  readonly started?: (ctx: HostMutationCtx, work: string) => Promise<void>;
  /** The arguments of a work that was enqueued with `argsInRecord`. */
  readonly argsOf?: (ctx: HostMutationCtx, work: string) => Promise<Record<string, unknown>>;
  /**
   * Runs several actions in one scheduled function if the scheduler has few places. Default: never.
   */
  readonly carriers?: Carriers;
  /** Finds lost works. Without it, a work whose completion never comes keeps its slot for good. */
  readonly watch?: PoolWatch;
}

/** What the watchdog needs of the component that it lives in. */
export interface PoolWatch {
  /**
   * When the first sweep of a busy pool comes, in ms; each further one after three times as long,
   * at most 540 s. It decides how soon a lost work without a timeout is found. Default: 30,000.
   */
  readonly firstSweepMs?: number;
  /** {@link sweepSlots} as an internal mutation, with the arguments `sweepArgs`. */
  readonly sweep: FunctionReference<"mutation", "internal", SweepArgs, null>;
  /** {@link inspectSlots} as an internal query. The host may add what `alsoSweep` needs of it. */
  readonly inspect: FunctionReference<"query", "internal", InspectArgs, Inspected>;
  /** {@link recoverSlot} as an internal mutation, with the arguments `recoverArgs`. */
  readonly recover: FunctionReference<"mutation", "internal", Suspect, boolean>;
  /**
   * A work was lost: count that as a failed attempt. If the host keeps the slot, the core hands it
   * over. If it throws, the work is set aside. @param why what became of the function, for the
   * attempt's error.
   */
  readonly lost: (ctx: HostMutationCtx, work: string, slot: SlotId, why: string) => Promise<void>;
  /**
   * Called at the end of each sweep, for what the host has scheduled itself and announced with
   * `keepSweeping`. It reads from a stale snapshot what others write, and serializably only if the
   * pool is `idle`, to conclude that there is nothing. What it throws is logged.
   * @param added what the host's `inspect` has added to its last result.
   * @returns when the next sweep should come, in ms since the epoch (in 10 s to 540 s). While it
   * returns a time, the sweeps go on, even if no slot is held.
   */
  readonly alsoSweep?: (
    ctx: HostMutationCtx,
    idle: boolean,
    added: unknown,
  ) => Promise<number | null | void>;
}

/** Something that is to run in a slot. */
export interface Work {
  /** Names the work towards the pool: the id of the host's own record of it. */
  readonly work: string;
  /**
   * The handle of the function to schedule. It gets `args` with `slot` added, and calls
   * `completeWork`.
   */
  readonly fn: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Whether the host's record holds the arguments: see `PoolHost.argsOf`. Default: false. */
  readonly argsInRecord?: boolean;
  /** A function that has not reported some seconds after this many ms is lost. Default: none. */
  readonly timeoutMs?: number;
  /**
   * Whether its function takes seconds at most: the first sweep then comes earlier. Default: false.
   */
  readonly brief?: boolean;
}
