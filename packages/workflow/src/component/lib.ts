import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { checkedOutput } from "../values.js";
import { mutation, query } from "./_generated/server.js";
import { isCalledOff as isChildCalledOff } from "./lookup.js";
import { loadScope } from "./scope.js";
import { isActive, settle as settleStep } from "./settle.js";
import { startFields, startRuns, vStarted } from "./starting.js";
import { settleArgs, vRead, vToken } from "./validators.js";

/** Starts runs of a workflow, or finds those of the same keys. @returns what became of each start, in their order. */
export const start = mutation({
  args: startFields,
  returns: v.array(vStarted),
  handler: async (ctx, start) => await startRuns(ctx, start),
});

/** Records what became of a stage and starts what comes next. */
export const settle = mutation({
  args: settleArgs,
  returns: v.object({ stale: v.boolean() }),
  handler: async (ctx, settlement) => await settleStep(ctx, settlement),
});

/** The values that a stage reads, by name. `most` is how many bytes may be read for them. Default: what is left of the transaction. */
export const load = query({
  args: { run: v.string(), reads: v.array(vRead), most: v.optional(v.number()) },
  returns: v.any(),
  handler: async (ctx, { run, reads, most }) => {
    const id = ctx.db.normalizeId("runs", run);
    if (id === null) throw new Error(`There is no run "${run}"`);
    return await loadScope(ctx, id, reads, most);
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

/** Whether the parent of a token's run has ended its children, though this one is still to be canceled. */
export const isCalledOff = query({
  args: { token: vToken },
  returns: v.boolean(),
  handler: async (ctx, { token }) => await isChildCalledOff(ctx, token),
});

/** Calls a mutation of the app for a stage. @throws where its result cannot be stored: so nothing of it stays. */
export const checked = mutation({
  args: { stage: v.string(), fn: v.string(), args: v.any() },
  returns: v.any(),
  handler: async (ctx, { stage, fn, args }) =>
    checkedOutput(stage, await ctx.runMutation(fn as FunctionHandle<"mutation">, args)),
});
