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
import type { Look, LookArgs, Suspect, SweepArgs } from "./watch-validators.js";

export type PoolDataModel = DataModelFromSchemaDefinition<
  SchemaDefinition<typeof poolTables, true>
>;
export type PoolMutationCtx = GenericMutationCtx<PoolDataModel>;
export type PoolQueryCtx = GenericQueryCtx<PoolDataModel>;
/**
 * A context of whoever hosts the pool. Its data model holds the pool's tables among others, and TypeScript takes no context of a larger
 * data model for one of a smaller: so the pool's entry points ask for any, and use their own types from there on.
 */
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
  /** The host's registration of {@link freeSlotsFrom} as an internal query, with the arguments `freeSlotArgs` and the result `vFreeSlots` or null: it is read from a stale snapshot. */
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
  /** Has the pool notice works that were lost. Without it, a work whose completion never comes keeps its slot for good. */
  readonly watch?: PoolWatch;
}

/** What the watchdog needs of the component that it lives in. */
export interface PoolWatch {
  /**
   * How long after the pool has become busy the first look comes, in ms, but never within 30 s of the last one: each further one after three
   * times as long, and at most 540 s after the one before. It decides how soon a work is noticed that was lost and has no timeout, and what it costs to watch: 10 s makes 4 looks in
   * 9 minutes and 6 in 30, 30 s makes 3 and 5. Default: 30,000.
   */
  readonly firstLookMs?: number;
  /** The host's registration of {@link sweepSlots}, with the arguments `sweepArgs`. */
  readonly sweep: FunctionReference<"mutation", "internal", SweepArgs, null>;
  /** The host's registration of {@link lookAtSlots}, with the arguments `lookArgs` and the result `vLook`: it is read from a stale snapshot. */
  readonly look: FunctionReference<"query", "internal", LookArgs, Look>;
  /** The host's registration of {@link recoverSlot}, with the arguments `recoverArgs`: one lost work, in a transaction of its own. */
  readonly recover: FunctionReference<"mutation", "internal", Suspect, boolean>;
  /**
   * A work was lost: its scheduled function is not going to report. To be counted as a failed attempt. The host may pass the slot on with
   * `completeWork`; where it does not, the core does it afterwards. If it throws, its writes are rolled back and the work is set aside.
   * @param why what became of the function, for the error of the attempt.
   */
  readonly lost: (ctx: HostMutationCtx, work: string, slot: SlotId, why: string) => Promise<void>;
  /**
   * Called once at the end of each look, and where `restAfter` takes the last one along, for what else the host wants to have looked after:
   * things that it has scheduled itself, and of whose beginning it has told the pool with `keepLooking`. It reads from a stale snapshot what others
   * write, and serializably only to conclude that there is nothing, where the pool is `idle`: else the watch goes on in any case.
   *
   * What it throws is logged, and there is another look, as after a time far ahead.
   *
   * @returns when the host wants the next look, in ms since the epoch; nothing or null where it has nothing more to look after. While it
   * returns a time the watch does not end, though no slot be held, and the next look comes then, but no sooner than in 10 s and no later than
   * in 540 s. A thing that is due in days would keep the watch on for days: that is for the host to decide.
   */
  readonly alsoLook?: (ctx: HostMutationCtx, idle: boolean) => Promise<number | null | void>;
}

/** Something that is to run in a slot. */
export interface Work {
  /** Names the work towards the pool: the id of the host's own record of it. */
  readonly work: string;
  /** The handle of the function to schedule. It gets `args` with `slot` added, and gives the slot back through `completeWork`. */
  readonly fn: string;
  readonly args: Readonly<Record<string, unknown>>;
  /**
   * Whether the host's record of the work holds the arguments too: the line does not store them then, and asks `PoolHost.argsOf`.
   * Default: false.
   */
  readonly argsInRecord?: boolean;
  /**
   * After how many ms its function has reported, counted from its begin. One that then still runs is lost some seconds later; one that
   * was not begun yet is late, and not lost. Default: none, it may run as long as the platform lets it.
   */
  readonly timeoutMs?: number;
  /** Whether its function takes seconds at most, as a mutation does: the watchdog's first look then comes earlier. Default: false. */
  readonly brief?: boolean;
}
