import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { watchReport } from "../core/index.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { mutation, type MutationCtx } from "./_generated/server.js";
import { expectedAttempt, endAttempt } from "./complete.js";
import { publicMutation } from "./continuations.js";
import { enqueueAll } from "./enqueue.js";
import { enqueueFields } from "./schema.js";

/** Enqueues works whose function gets a token, which it hands to `settle`. */
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
    return await enqueueAll(ctx, enqueued, argsList, { settles: true, timeoutMs });
  },
});

const settlingArgs = {
  token: v.object({ workId: v.string(), attempt: v.number() }),
  slot: v.string(),
};

/** Ends an attempt in the caller's transaction. @returns whether the token is the expected one. */
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
    const whole =
      outcome.kind === "success"
        ? { ...outcome, returnValue: outcome.returnValue ?? null }
        : { ...outcome, retryable: outcome.retryable ?? true };
    await endAttempt(ctx, held.work, held.slot, whole);
    return true;
  },
});

/** Schedules the mutation in which an attempt settles, which is watched from then on. */
export const settleLater = publicMutation(
  { ...settlingArgs, fn: v.string(), args: v.any() },
  async (ctx, { token, slot, fn, args }) => {
    const held = await settlingWork(ctx, token, slot);
    if (held === null) return;
    const { work, slot: id } = held;
    const job = await ctx.scheduler.runAfter(0, fn as FunctionHandle<"mutation">, args);
    if (id !== undefined) await watchReport(ctx, { work: work._id, slot: id }, job);
  },
);

/** The work of a token and its slot, if that attempt is the one that is expected to settle. */
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
