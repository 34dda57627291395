import { type Infer, v } from "convex/values";
import { completeWork, retryDelayMs, type RunResult } from "../core/index.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { callBack } from "./callback.js";
import { delayWork } from "./enqueue.js";
import { host } from "./host.js";
import { removeWork } from "./work.js";

export const vAttempt = {
  workId: v.id("works"),
  attempt: v.number(),
  slot: v.id("slots"),
};

/** How an attempt ended. */
export const vOutcome = v.union(
  v.object({ kind: v.literal("success"), returnValue: v.any() }),
  v.object({ kind: v.literal("failed"), error: v.string(), retryable: v.boolean() }),
);
export type Outcome = Infer<typeof vOutcome>;

/** Takes in how the attempt of an action ended. A repeated or stale report changes nothing. */
export const complete = internalMutation({
  args: { ...vAttempt, outcome: vOutcome },
  returns: v.null(),
  handler: async (ctx, { workId, attempt, slot, outcome }): Promise<null> => {
    const work = await expectedAttempt(ctx, workId, attempt);
    if (work === null) return null;
    const retry = outcome.kind === "failed" && outcome.retryable ? work.retry : undefined;
    if (retry === undefined || attempt >= retry.maxAttempts) {
      await endWork(ctx, work, slot, resultOf(outcome));
    } else if (work.canceled === true) {
      await endWork(ctx, work, slot, { kind: "canceled" });
    } else {
      await delayWork(ctx, workId, Date.now() + retryDelayMs(retry, attempt), attempt);
      await completeWork(ctx, host, { work: workId, slot });
    }
    return null;
  },
});

/** The work, if it is this attempt whose completion counts; else null. */
export async function expectedAttempt(
  ctx: MutationCtx,
  workId: Id<"works">,
  attempt: number,
): Promise<Doc<"works"> | null> {
  const work = await ctx.db.get("works", workId);
  return work !== null && work.attempts + 1 === attempt ? work : null;
}

/**
 * Ends a work: its record goes, its slot goes on, its callback is called. In this order: what the callback enqueues finds the slot free,
 * or stands behind what waited before it, and a callback that uses up the transaction leaves the pool in order.
 * @param slot the slot it holds, if it holds one.
 */
export async function endWork(
  ctx: MutationCtx,
  work: Doc<"works">,
  slot: Id<"slots"> | undefined,
  result: RunResult,
): Promise<void> {
  const context = await removeWork(ctx, work);
  await completeWork(ctx, host, { work: work._id, slot });
  await callBack(ctx, work, context, result);
}

export function resultOf(outcome: Outcome): RunResult {
  if (outcome.kind === "success") return outcome;
  return { kind: "failed", error: outcome.error };
}
