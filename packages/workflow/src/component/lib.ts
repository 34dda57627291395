import { v } from "convex/values";
import { mutation, query } from "./_generated/server.js";
import { cancelRun } from "./ending.js";
import { loadScope } from "./scope.js";
import { isActive, settle as settleStep } from "./settle.js";
import { startRun, vStart } from "./starting.js";
import { settleArgs, vRead, vToken } from "./validators.js";

/** Starts a run, or gives the one that was started with the same key. */
export const start = mutation({
  args: { ...vStart.fields, maxParallelism: v.optional(v.number()) },
  returns: v.string(),
  handler: async (ctx, { maxParallelism, ...start }) => await startRun(ctx, start, maxParallelism),
});

/** Records what became of a stage and starts what comes next. */
export const settle = mutation({
  args: settleArgs,
  returns: v.object({ stale: v.boolean() }),
  handler: async (ctx, settlement) => await settleStep(ctx, settlement),
});

/** The values that a stage reads, by name. */
export const load = query({
  args: { run: v.string(), reads: v.array(vRead) },
  returns: v.any(),
  handler: async (ctx, { run, reads }) => {
    const id = ctx.db.normalizeId("runs", run);
    if (id === null) throw new Error(`There is no run "${run}"`);
    const scope = await loadScope(ctx, id, reads);
    return scope as Record<string, unknown>;
  },
});

/** Whether what a token names has been called off: its run was canceled, or has gone another way. */
export const isCanceled = query({
  args: { token: vToken },
  returns: v.boolean(),
  handler: async (ctx, { token }) => {
    const id = ctx.db.normalizeId("steps", token.step);
    const step = id === null ? null : await ctx.db.get("steps", id);
    return step === null || !isActive(step, token);
  },
});

/** Cancels a run and everything under it. */
export const cancel = mutation({
  args: { runId: v.string() },
  returns: v.union(v.literal("canceled"), v.literal("ended"), v.literal("unknown")),
  handler: async (ctx, { runId }) => {
    const id = ctx.db.normalizeId("runs", runId);
    const run = id === null ? null : await ctx.db.get("runs", id);
    if (run === null) return "unknown";
    return (await cancelRun(ctx, run)) ? "canceled" : "ended";
  },
});
