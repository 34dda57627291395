import { MINUTE, RateLimiter } from "@convex-dev/rate-limiter";
import { Workpool } from "@convex-dev/workpool";
import { v } from "convex/values";
import { components, internal } from "./_generated/api.js";
import { internalAction, internalMutation, type MutationCtx } from "./_generated/server.js";
import { answer } from "./server.js";

const pool = new Workpool(components.workpool, { maxParallelism: 20 });
const limiter = new RateLimiter(components.rateLimiter, {
  tokens: { kind: "token bucket", rate: 40_000, period: MINUTE },
});
const ESTIMATE = 500;

export const start = internalMutation({
  args: { n: v.number() },
  handler: async (ctx, { n }) => {
    const tokens = await limiter.limit(ctx, "tokens", { count: ESTIMATE, reserve: true });
    await pool.enqueueAction(
      ctx,
      internal.answers.run,
      { n },
      { runAfter: tokens.retryAfter ?? 0, onComplete: internal.answers.ended, context: null },
    );
  },
});

export const run = internalAction({
  args: { n: v.number() },
  handler: async (_ctx, { n }) => (await answer(n)).tokens,
});

/** Books what the estimate missed, which delays those that start from now on. */
export const ended = pool.defineOnComplete({
  context: v.null(),
  handler: async (ctx: MutationCtx, { result }) => {
    const more = result.kind === "success" ? (result.returnValue as number) - ESTIMATE : 0;
    if (more > 0) await limiter.limit(ctx, "tokens", { count: more, reserve: true });
  },
});
