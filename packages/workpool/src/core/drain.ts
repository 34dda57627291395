import { type ObjectType, v } from "convex/values";
import type { Drain, Host, MutationCtx } from "./context.js";
import { cancelPending } from "./jobs.js";
import { reviveWatch } from "./watch.js";

/* Enqueues read no slot while the gate is closed: one drain at a time gives them the free ones. */

/** How long a drain that found nothing waits, in ms, unless a work joins the queue. */
export const PAUSE_MS = 20;
export const drainArgs = {
  generation: v.number(),
  /** How many rounds in a row have found nothing to do. Default: 0. */
  quiet: v.optional(v.number()),
};
export type DrainArgs = ObjectType<typeof drainArgs>;

/** The drain as the last one has left it; null in a pool that never had one. */
export async function readDrain(ctx: MutationCtx): Promise<Drain | null> {
  return await ctx.db.query("drain").first();
}

/** Begins a drain, in the place of any other. @param ms after how many ms. */
export async function ringDrain(ctx: MutationCtx, host: Host, drain: Drain | null, ms = 0) {
  const generation = (drain?.generation ?? 0) + 1;
  const job = await ctx.scheduler.runAfter(ms, host.functions.drainQueue, { generation });
  if (drain === null) await ctx.db.insert("drain", { on: true, generation, job });
  else await ctx.db.patch("drain", drain._id, { on: true, generation, job });
}

export async function stopDrain(ctx: MutationCtx, host: Host, drain: Drain): Promise<void> {
  if (drain.job !== undefined) await cancelPending(ctx, drain.job);
  await endDrain(ctx, host, drain);
}

export async function endDrain(ctx: MutationCtx, host: Host, drain: Drain): Promise<void> {
  await reviveWatch(ctx, host);
  await ctx.db.patch("drain", drain._id, { on: false, job: undefined });
}
