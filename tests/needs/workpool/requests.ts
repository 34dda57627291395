import { MINUTE, RateLimiter } from "@convex-dev/rate-limiter";
import { Workpool } from "@convex-dev/workpool";
import { v } from "convex/values";
import { components, internal } from "./_generated/api.js";
import { internalAction, internalMutation, type MutationCtx } from "./_generated/server.js";
import { request } from "./server.js";

const pool = new Workpool(components.workpool, { maxParallelism: 20 });
const limiter = new RateLimiter(components.rateLimiter, {
  requests: { kind: "token bucket", rate: 100, period: MINUTE },
});

export const start = internalMutation({
  args: { n: v.number() },
  handler: async (ctx, { n }) => {
    const { retryAfter = 0 } = await limiter.limit(ctx, "requests", { reserve: true });
    await pool.enqueueAction(
      ctx,
      internal.requests.run,
      { n },
      { runAfter: retryAfter, onComplete: internal.requests.ended, context: { n } },
    );
  },
});

/** Returns after how many seconds it may be asked again; null if it was answered. */
export const run = internalAction({
  args: { n: v.number() },
  handler: async (_ctx, { n }) => {
    const response = await request(n);
    return response.status === 429 ? Number(response.headers.get("Retry-After")) : null;
  },
});

export const ended = pool.defineOnComplete({
  context: v.object({ n: v.number() }),
  handler: async (ctx: MutationCtx, { context: { n }, result }) => {
    if (result.kind !== "success" || result.returnValue === null) return;
    const afterMs = (result.returnValue as number) * 1_000;
    await ctx.scheduler.runAfter(afterMs, internal.requests.start, { n });
  },
});
