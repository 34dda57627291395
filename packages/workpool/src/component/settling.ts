import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { applyConfig, watchReport } from "../core/index.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { mutation, type MutationCtx } from "./_generated/server.js";
import { expectedAttempt, endAttempt } from "./complete.js";
import { enqueueAll } from "./enqueue.js";
import { enqueueFields } from "./enqueueFields.js";
import { host } from "./host.js";

/**
 * Enqueues works that settle themselves: their function is scheduled as it is, with a token besides its arguments, and hands that to
 * `settle` when it has ended. @returns their ids, in the order of the arguments.
 */
export const enqueue = mutation({
  args: {
    ...enqueueFields,
    /** After how many ms it has settled. Default: none. */
    timeoutMs: v.optional(v.number()),
    argsList: v.array(v.any()),
  },
  returns: v.array(v.string()),
  handler: async (ctx, { argsList, timeoutMs, ...enqueued }): Promise<string[]> => {
    if (enqueued.kind === "query")
      throw new Error("A query cannot settle itself: enqueue it as one that the pool calls");
    if (timeoutMs !== undefined && !(timeoutMs > 0))
      throw new Error(`timeoutMs is ${timeoutMs}: it must be a number of ms above 0`);
    await applyConfig(ctx, host, enqueued);
    return await enqueueAll(ctx, enqueued, argsList, {
      settles: true,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  },
});

const settlingArgs = {
  token: v.object({ workId: v.string(), attempt: v.number() }),
  slot: v.string(),
};

/**
 * Ends an attempt of a work that settles itself: it is tried again where it failed and may be, or has ended. In the transaction of the
 * caller, who so records what came of it exactly once. @returns whether the token was that of the attempt that is expected.
 */
export const settle = mutation({
  args: {
    ...settlingArgs,
    outcome: v.union(
      v.object({ kind: v.literal("success"), returnValue: v.optional(v.any()) }),
      v.object({
        kind: v.literal("failed"),
        error: v.string(),
        retryable: v.optional(v.boolean()),
      }),
    ),
  },
  returns: v.boolean(),
  handler: async (ctx, { token, slot, outcome }): Promise<boolean> => {
    const held = await settlingWork(ctx, token, slot);
    if (held === null) return false;
    await endAttempt(
      ctx,
      held.work,
      held.slot,
      outcome.kind === "success"
        ? { kind: "success", returnValue: outcome.returnValue ?? null }
        : { retryable: true, ...outcome },
    );
    return true;
  },
});

/**
 * Schedules the mutation in which an attempt settles: it is repeated for as long as it loses to others. The slot's job is now that one, as the work's
 * own function ends without having settled.
 */
export const settleLater = mutation({
  args: { ...settlingArgs, fn: v.string(), args: v.any() },
  returns: v.null(),
  handler: async (ctx, { token, slot, fn, args }): Promise<null> => {
    const held = await settlingWork(ctx, token, slot);
    if (held === null) return null;
    const job = await ctx.scheduler.runAfter(0, fn as FunctionHandle<"mutation">, args);
    if (held.slot !== undefined)
      await watchReport(ctx, { work: held.work._id, slot: held.slot }, job);
    return null;
  },
});

/** The work of a token, where that is the attempt which is expected to settle, and its slot. */
async function settlingWork(
  ctx: MutationCtx,
  token: { workId: string; attempt: number },
  slot: string,
): Promise<{ work: Doc<"works">; slot: Id<"slots"> | undefined } | null> {
  const workId = ctx.db.normalizeId("works", token.workId);
  const work = workId === null ? null : await expectedAttempt(ctx, workId, token.attempt);
  if (work?.settles !== true) return null;
  return { work, slot: ctx.db.normalizeId("slots", slot) ?? undefined };
}
