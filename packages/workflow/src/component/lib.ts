import { v } from "convex/values";
import { mutation, query } from "./_generated/server.js";
import { insertInput } from "./children.js";
import { applyManagerConfig } from "./config.js";
import { cancelRun } from "./ending.js";
import { beginRun } from "./entering.js";
import { loadScope } from "./scope.js";
import { settle as settleStep } from "./settle.js";
import { vFused, vNext, vOutcome, vRead, vStage, vToken } from "./validators.js";

/** Starts a run, or gives the one that was started with the same key. */
export const start = mutation({
  args: {
    workflow: v.string(),
    resume: v.string(),
    first: vStage,
    input: v.any(),
    key: v.optional(v.string()),
    maxParallelism: v.optional(v.number()),
  },
  returns: v.string(),
  handler: async (ctx, { workflow, resume, first, input, key, maxParallelism }) => {
    if (key !== undefined) {
      const same = await ctx.db
        .query("runs")
        .withIndex("by_key", (q) => q.eq("workflow", workflow).eq("startKey", key))
        .first();
      if (same !== null) return same._id;
    }
    await applyManagerConfig(ctx, maxParallelism);
    const fields = {
      workflow,
      resume,
      startKey: key,
      state: "running" as const,
      index: 0,
      startedAt: Date.now(),
    };
    const id = await ctx.db.insert("runs", fields);
    await insertInput(ctx, id, input);
    const run = { _id: id, _creationTime: fields.startedAt, ...fields };
    await beginRun(ctx, run, first, new Map([["input", input]]));
    return id;
  },
});

/** Records what became of a stage and starts what comes next. */
export const settle = mutation({
  args: {
    token: vToken,
    slot: v.optional(v.string()),
    outcome: vOutcome,
    fused: v.array(vFused),
    next: vNext,
  },
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
