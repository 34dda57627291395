import { v } from "convex/values";
import { applyConfig } from "../core/index.js";
import { mutation } from "./_generated/server.js";
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

/**
 * Ends an attempt of a work that settles itself: it is tried again where it failed and may be, or has ended. In the transaction of the
 * caller, who so records what came of it exactly once. @returns whether the token was that of the attempt that is expected.
 */
export const settle = mutation({
  args: {
    token: v.object({ workId: v.string(), attempt: v.number() }),
    slot: v.string(),
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
    const workId = ctx.db.normalizeId("works", token.workId);
    const work = workId === null ? null : await expectedAttempt(ctx, workId, token.attempt);
    if (work?.settles !== true) return false;
    const slotId = ctx.db.normalizeId("slots", slot) ?? undefined;
    await endAttempt(
      ctx,
      work,
      slotId,
      outcome.kind === "success"
        ? { kind: "success", returnValue: outcome.returnValue ?? null }
        : { retryable: true, ...outcome },
    );
    return true;
  },
});
