import { v } from "convex/values";
import { internal } from "./_generated/api";
import { internalAction, internalMutation, internalQuery } from "./_generated/server";

/* Functions that make the output of a workflow or a parent. */

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

export const noted = internalMutation({
  args: { values: v.array(v.number()) },
  returns: v.number(),
  handler: async (ctx, { values }) => {
    await ctx.db.insert("log", { text: `noted ${values.join(" ")}` });
    return sum(values);
  },
});

/** Fails the first time it is called with a key. */
export const slowly = internalAction({
  args: { values: v.array(v.number()), key: v.string() },
  returns: v.number(),
  handler: async (ctx, { values, key }): Promise<number> => {
    const log: string[] = await ctx.runQuery(internal.app.logged, {});
    await ctx.runMutation(internal.app.log, { text: key });
    if (!log.includes(key)) throw new Error("not yet");
    return sum(values);
  },
});

export const counted = internalQuery({
  args: { count: v.number() },
  returns: v.number(),
  handler: async (_ctx, { count }) => count,
});
