import type { FunctionHandle } from "convex/server";
import type { Doc, HostQueryCtx, PoolMutationCtx, SlotId, Work } from "./context.js";

/** How many slots an enqueue looks at, each by a point read, before it asks the index for a free one. */
const PROBES = 3;

/**
 * A free slot, or null if there is none. The first looks are point reads at places spread by the work's key, so works that are
 * enqueued at the same moment neither meet nor conflict; that there is none is concluded from the index alone.
 */
export async function findFreeSlot(
  ctx: PoolMutationCtx,
  maxParallelism: number,
  work: string,
): Promise<Doc<"slots"> | null> {
  const start = spread(work);
  for (let probe = 0; probe < Math.min(PROBES, maxParallelism); probe++) {
    const number = (start + probe) % maxParallelism;
    const slot = await ctx.db
      .query("slots")
      .withIndex("by_number", (q) => q.eq("number", number))
      .first();
    if (slot !== null && slot.work === undefined) return slot;
  }
  return await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.eq("work", undefined))
    .first();
}

/** Up to `count` free slots, read from the index: that there are no more of them may be relied on. */
export async function freeSlots(ctx: PoolMutationCtx, count: number): Promise<Doc<"slots">[]> {
  return await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.eq("work", undefined))
    .take(count);
}

/** The slot in which the work runs, or null. */
export async function slotOf(ctx: HostQueryCtx, work: string): Promise<Doc<"slots"> | null> {
  return await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.eq("work", work))
    .first();
}

/** A whole number that is the same for the same text, and spread for different ones (FNV-1a). */
function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}

/**
 * Schedules a work and writes it into its slot.
 * @param handOvers how often the slot has been handed on in a row with this time.
 * @throws where the function no longer exists; nothing is written then.
 */
export async function startInSlot(
  ctx: PoolMutationCtx,
  slot: SlotId,
  { work, fn, args }: Work,
  handOvers: { count: number; since: number },
): Promise<void> {
  const job = await ctx.scheduler.runAfter(0, fn as FunctionHandle<"action" | "mutation">, {
    ...args,
    slot,
  });
  await ctx.db.patch("slots", slot, {
    work,
    job,
    startedAt: Date.now(),
    handOvers: handOvers.count,
    heldSince: handOvers.since,
  });
}

export async function freeSlot(ctx: PoolMutationCtx, slot: SlotId): Promise<void> {
  await ctx.db.patch("slots", slot, { work: undefined, job: undefined });
}
