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
import type { Look, LookArgs, Suspect, SweepArgs } from "./watch-validators.js";

export type PoolDataModel = DataModelFromSchemaDefinition<
  SchemaDefinition<typeof poolTables, true>
>;
export type PoolMutationCtx = GenericMutationCtx<PoolDataModel>;
export type PoolQueryCtx = GenericQueryCtx<PoolDataModel>;
/** A context of the pool's host. It is `any`, as TypeScript takes no larger data model for a smaller one. */
export type HostMutationCtx = GenericMutationCtx<any>;
export type HostQueryCtx = GenericQueryCtx<any>;
export type Doc<Table extends keyof PoolDataModel> = PoolDataModel[Table]["document"];
export type SlotId = GenericId<"slots">;
export type JobId = GenericId<"_scheduled_functions">;

/** What a pool needs of the component that it lives in. */
export interface PoolHost {
  /** The host's registration of {@link lineHead} as an internal query: it is read from a stale snapshot. */
  readonly lineHead: FunctionReference<
    "query",
    "internal",
    { count: number },
    GenericId<"waiting">[]
  >;
  /** The host's registration of {@link freeSlotsFrom} as an internal query: it is read from a stale snapshot. */
  readonly freeSlots: FunctionReference<
    "query",
    "internal",
    { from: number; count: number },
    FreeSlots | null
  >;
  /** The host's registration of {@link drainLine} as an internal mutation, with the arguments `drainArgs`. */
  readonly drainLine: FunctionReference<"mutation", "internal", DrainArgs, null>;
  /** Ends a waiting work whose function no longer exists. It has left the line; its slot goes on to another. */
  readonly functionGone: (ctx: HostMutationCtx, work: string, message: string) => Promise<void>;
  /** Whether a work that has left the queue may start. One that may not is the host's to end. Default: it may. */
  readonly mayStart?: (ctx: HostMutationCtx, work: Work) => Promise<boolean>;
  /** Told of a work that has left the line for a slot. Default: nobody is. */
  readonly started?: (ctx: HostMutationCtx, work: string) => Promise<void>;
  /** The arguments of a work that was enqueued with `argsInRecord`, read as the work leaves the line. */
  readonly argsOf?: (ctx: HostMutationCtx, work: string) => Promise<Record<string, unknown>>;
  /** Runs several actions in one scheduled function if the scheduler has few places. Without it, each has a function of its own. */
  readonly carriers?: Carriers;
  /** Has the pool notice works that were lost. Without it, a work whose completion never comes keeps its slot for good. */
  readonly watch?: PoolWatch;
}

/** What the watchdog needs of the component that it lives in. */
export interface PoolWatch {
  /**
   * How long after the pool has become busy the first look comes, in ms; each further one after three times
   * as long, at most 540 s. It decides how soon a lost work without a timeout is noticed. Default: 30,000.
   */
  readonly firstLookMs?: number;
  /** The host's registration of {@link sweepSlots}, with the arguments `sweepArgs`. */
  readonly sweep: FunctionReference<"mutation", "internal", SweepArgs, null>;
  /**
   * The host's registration of {@link lookAtSlots}, with the arguments `lookArgs` and the result `vLook`: it is
   * read from a stale snapshot. The host may add what `alsoLook` needs of it.
   */
  readonly look: FunctionReference<"query", "internal", LookArgs, Look>;
  /** The host's registration of {@link recoverSlot}, with the arguments `recoverArgs`: one lost work, in a transaction of its own. */
  readonly recover: FunctionReference<"mutation", "internal", Suspect, boolean>;
  /**
   * A work was lost: count that as a failed attempt. If the host does not pass the slot on, the core does.
   * If it throws, the work is set aside. @param why what became of the function, for the attempt's error.
   */
  readonly lost: (ctx: HostMutationCtx, work: string, slot: SlotId, why: string) => Promise<void>;
  /**
   * Called at the end of each look, for things that the host has scheduled itself and announced with
   * `keepLooking`. It reads from a stale snapshot what others write, and serializably only if the pool is
   * `idle`, to conclude that there is nothing. What it throws is logged, and it is called again.
   * @param added what the host's `look` has added to its last result.
   * @returns when the next look should come, in ms since the epoch: in 10 s at the earliest and 540 s at the
   * latest. While it returns a time, the watch does not end, even if no slot is held.
   */
  readonly alsoLook?: (
    ctx: HostMutationCtx,
    idle: boolean,
    added: unknown,
  ) => Promise<number | null | void>;
}

/** Something that is to run in a slot. */
export interface Work {
  /** Names the work towards the pool: the id of the host's own record of it. */
  readonly work: string;
  /** The handle of the function to schedule. It gets `args` with `slot` added, and gives the slot back through `completeWork`. */
  readonly fn: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Whether the host's record holds the arguments, so that the queue asks `PoolHost.argsOf`. Default: false. */
  readonly argsInRecord?: boolean;
  /** A function that has not reported some seconds after this many ms, from its begin, is lost. Default: none. */
  readonly timeoutMs?: number;
  /** Whether its function takes seconds at most, as a mutation does: the watchdog's first look then comes earlier. Default: false. */
  readonly brief?: boolean;
}
