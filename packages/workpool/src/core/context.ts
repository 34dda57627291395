import type {
  DataModelFromSchemaDefinition,
  FunctionReference,
  GenericMutationCtx,
  GenericQueryCtx,
  SchemaDefinition,
} from "convex/server";
import type { GenericId } from "convex/values";
import type { poolTables } from "./schema.js";

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

/** What a pool needs of the component that it lives in. */
export interface PoolHost {
  /** The host's registration of {@link lineHead} as an internal query: it is read from a stale snapshot. */
  readonly lineHead: FunctionReference<
    "query",
    "internal",
    { count: number },
    GenericId<"waiting">[]
  >;
  /** Ends a waiting work whose function no longer exists. It has left the line; its slot goes on to another. */
  readonly functionGone: (ctx: HostMutationCtx, work: string, message: string) => Promise<void>;
  /** The arguments of a work that was enqueued with `argsInRecord`, read as the work leaves the line. */
  readonly argsOf?: (ctx: HostMutationCtx, work: string) => Promise<Record<string, unknown>>;
  /**
   * The host's registration of {@link drainLine} as an internal mutation: it goes on where one transaction cannot start all that a
   * raised `maxParallelism` lets run. Without it, all of it must fit into one.
   */
  readonly drainLine?: FunctionReference<"mutation", "internal", Record<string, never>, null>;
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
}
