import type { GenericId } from "convex/values";
import type { Doc, Gate, HostQueryCtx, MutationCtx, SlotId } from "./context.js";
import type { SlotCounts } from "./counts.js";

/**
 * What the pool has read and done in one transaction, for what comes later in it. A nested
 * transaction has one of its own, which is rolled back with it.
 */
class PoolTx {
  /** The gate as it was read last; null in a pool without one; undefined if it was not read. */
  gate: Gate | null | undefined;
  /** The work that is about to end. Its host enqueues what follows before it ends the work. */
  ending: string | undefined;
  /** So many slots were given to works that were enqueued, which a stale snapshot does not show. */
  taken = 0;
  /**
   * The host's record whose children are being started, if this transaction goes on with it itself,
   * and the scheduled function that this is.
   */
  starting: { parent: string; job?: GenericId<"_scheduled_functions"> | undefined } | undefined;
  /** The work that ends here, if its start alone has turned the watchdog on. */
  startedTheWatch: string | undefined;
  /** Counts for the next write of a slot: a write of their own would cost too much. */
  readonly counts = new Map<SlotId, SlotCounts>();
  /** The permits that were given back: the numbers by name. Nobody else has them. */
  readonly givenBack = new Map<string, readonly number[]>();
  /** What is kept of buckets for works that are about to start, by work and by name. */
  readonly kept = new Map<string, ReadonlyMap<string, number>>();
  /** All that is kept of each bucket, by name. */
  readonly keptOf = new Map<string, number>();
  /**
   * The buckets of which this is the releaser, as it has left them; undefined if one is to be read.
   */
  readonly releasing = new Map<string, Doc<"buckets"> | undefined>();
  /** What those releasers have still to write: call {@link writeBuckets} before any callback. */
  readonly unwritten = new Map<GenericId<"buckets">, Partial<Doc<"buckets">>>();
  /** The watchdog is on for works of this timeout, or a longer one. Undefined: nobody has looked. */
  watchedFor: number | undefined;
  /** How many works of a line were let into the queue here. */
  readonly joining = new Map<string, number>();
  /** The row of each work that was put in the queue. */
  readonly joined = new Map<string, GenericId<"waiting">>();
  /** How many works that began to wait do so until a time. */
  readonly timers = new Map<number, number>();
}

/** By the database of the transaction, as contexts are copied on the way. */
const transactions = new WeakMap<object, PoolTx>();

export function poolTx(ctx: Pick<HostQueryCtx, "db">): PoolTx {
  const known = transactions.get(ctx.db);
  if (known !== undefined) return known;
  const tx = new PoolTx();
  transactions.set(ctx.db, tx);
  return tx;
}

/** Writes what releasers have put together. */
export async function writeBuckets(ctx: MutationCtx): Promise<void> {
  const { unwritten } = poolTx(ctx);
  for (const [id, changed] of unwritten) await ctx.db.patch("buckets", id, changed);
  unwritten.clear();
}

/** Call it where callbacks may have changed what is known here: they have their own transactions. */
export function forgetRead(ctx: Pick<HostQueryCtx, "db">): void {
  const tx = poolTx(ctx);
  tx.gate = undefined;
  for (const name of tx.releasing.keys()) tx.releasing.set(name, undefined);
}
