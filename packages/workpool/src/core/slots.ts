import type { FunctionHandle } from "convex/server";
import type {
  Doc,
  HostMutationCtx,
  HostQueryCtx,
  JobId,
  PoolMutationCtx,
  SlotId,
  Work,
} from "./context.js";
import { takeCounts } from "./tally.js";

/**
 * A free slot, or null if there is none. It looks among the free ones only, from a number on that is spread by the work's key: so works
 * that are enqueued at the same moment rarely meet, and what goes on in held slots does not concern them. That there is none is concluded
 * from the index, and conflicts with whoever frees one.
 */
export async function findFreeSlot(
  ctx: PoolMutationCtx,
  maxParallelism: number,
  work: string,
): Promise<Doc<"slots"> | null> {
  const start = spread(work) % Math.max(1, maxParallelism);
  const free = () => ctx.db.query("slots");
  return (
    (await free()
      .withIndex("by_work", (q) => q.eq("work", undefined).gte("number", start))
      .first()) ??
    (await free()
      .withIndex("by_work", (q) => q.eq("work", undefined).lt("number", start))
      .first())
  );
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

/** Whether no slot is held: from the index, so that it may be relied on. */
export async function isIdle(ctx: HostQueryCtx): Promise<boolean> {
  const held = await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.gt("work", undefined))
    .first();
  return held === null;
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
  { work, fn, args, timeoutMs }: Work,
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
    timeoutMs,
    reporting: undefined,
    handOvers: handOvers.count,
    heldSince: handOvers.since,
    ...takeCounts(ctx, slot),
  });
}

/** Has a slot that the work holds watch a job that will report its end: the work's own function ends without having done so. */
export async function watchReport(
  ctx: HostMutationCtx,
  { work, slot }: { work: string; slot: SlotId },
  job: JobId,
): Promise<void> {
  const held: Doc<"slots"> | null = await ctx.db.get("slots", slot);
  if (held?.work === work) await ctx.db.patch("slots", slot, { job, reporting: true });
}

export async function freeSlot(ctx: PoolMutationCtx, slot: SlotId): Promise<void> {
  await ctx.db.patch("slots", slot, { work: undefined, job: undefined, ...takeCounts(ctx, slot) });
}
