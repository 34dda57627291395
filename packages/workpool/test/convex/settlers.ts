import { v } from "convex/values";
import { reportSettled, settle, settlingArgs } from "../../src/client/index.js";
import { components, internal } from "./_generated/api.js";
import { internalAction, internalMutation } from "./_generated/server.js";

/** Takes `ms`, and settles itself; in the way that `how` says. */
export const act = internalAction({
  args: {
    ...settlingArgs,
    label: v.string(),
    ms: v.optional(v.number()),
    how: v.optional(v.string()),
  },
  returns: v.null(),
  handler: async (ctx, { token, slot, label, ms = 0, how = "success" }): Promise<null> => {
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    if (how === "forgets") return null;
    if (how === "again" && token.attempt === 1) {
      await ctx.runMutation(internal.settlers.settled, { token, slot, label, fails: true });
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
    if (how === "throws") throw new Error("it threw before it settled");
    const fails = how === "fails" || (how === "fails once" && token.attempt === 1);
    await reportSettled(components.workpool, ctx, internal.settlers.settled, {
      token,
      slot,
      label,
      fails,
    });
    if (how === "twice") await ctx.runMutation(internal.settlers.settled, { token, slot, label });
    return null;
  },
});

export const settled = internalMutation({
  args: { ...settlingArgs, label: v.string(), fails: v.optional(v.boolean()) },
  returns: v.null(),
  handler: async (ctx, { token, slot, label, fails }): Promise<null> => {
    const counts = await settle(
      components.workpool,
      ctx,
      { token, slot },
      fails === true
        ? { kind: "failed", error: `attempt ${token.attempt} failed` }
        : { kind: "success", returnValue: label },
    );
    const what = counts ? "settled" : "stale";
    await ctx.db.insert("events", { what, label, at: Date.now(), data: token.attempt });
    return null;
  },
});

/** A mutation that settles itself. */
export const write = internalMutation({
  args: { ...settlingArgs, label: v.string() },
  returns: v.null(),
  handler: async (ctx, { token, slot, label }): Promise<null> => {
    await ctx.db.insert("events", { what: "write", label, at: Date.now() });
    await settle(components.workpool, ctx, { token, slot }, { kind: "success" });
    return null;
  },
});
