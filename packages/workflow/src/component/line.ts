import { drainLine as drain, lineHead as headOfLine, type PoolHost } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import { internalMutation, internalQuery, type MutationCtx } from "./_generated/server.js";
import { enter } from "./entering.js";

/** The pool's look along its line; see `leaveLineFirst` there. */
export const lineHead = internalQuery({
  args: { count: v.number() },
  returns: v.array(v.id("waiting")),
  handler: headOfLine,
});

/** Starts waiting works in free slots, after `maxParallelism` was raised and one transaction could not start them all. */
export const drainLine = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await drain(ctx, pool);
    return null;
  },
});

/** What the pool needs of this component. */
export const pool: PoolHost = {
  lineHead: internal.line.lineHead,
  drainLine: internal.line.drainLine,
  /** A deploy took the function away while its step waited in line. */
  functionGone: async (ctx: MutationCtx, work, message) => {
    const id = ctx.db.normalizeId("steps", work);
    const step = id === null ? null : await ctx.db.get("steps", id);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    if (step === null || run === null) return;
    await enter(ctx, run, step, {
      kind: "failed",
      error: {
        message: `The function of "${step.stage}" no longer exists: ${message}`,
        kind: "removedNode",
        workflow: run.workflow,
        node: step.stage,
        attempt: step.attempt,
      },
    });
  },
};
