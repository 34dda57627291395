import { v } from "convex/values";
import { internal } from "./_generated/api";
import { internalAction, internalMutation, internalQuery } from "./_generated/server";

export const double = internalAction({
  args: { n: v.number() },
  returns: v.number(),
  handler: async (_ctx, { n }) => n * 2,
});

export const log = internalMutation({
  args: { text: v.string() },
  returns: v.null(),
  handler: async (ctx, { text }) => {
    await ctx.db.insert("log", { text });
    return null;
  },
});

export const count = internalQuery({
  args: {},
  returns: v.number(),
  handler: async (ctx) => (await ctx.db.query("log").collect()).length,
});

export const logged = internalQuery({
  args: {},
  returns: v.array(v.string()),
  handler: async (ctx) => (await ctx.db.query("log").collect()).map(({ text }) => text),
});

/** Writes, and gives more than can be stored. */
export const logAndGiveMuch = internalMutation({
  args: { text: v.string() },
  handler: async (ctx, { text }) => {
    await ctx.db.insert("log", { text });
    return "x".repeat(1_200_000);
  },
});

/** What the types would have refused. */
function noValue(what: string): null {
  const values: Record<string, unknown> = {
    date: { at: [new Date(0)] },
    missing: { list: [undefined] },
    large: { n: 2n ** 70n },
    dollar: { $a: 1 },
  };
  return values[what] as null;
}

export const giveNoValue = internalMutation({
  args: { what: v.string() },
  handler: async (ctx, { what }) => {
    await ctx.db.insert("log", { text: what });
    return noValue(what);
  },
});

export const giveNoValueInQuery = internalQuery({
  args: { what: v.string() },
  handler: (ctx, { what }) =>
    what === "query" ? (ctx.db.query("log") as unknown as null) : noValue(what),
});

export const giveNoValueInAction = internalAction({
  args: { what: v.string() },
  handler: async (_ctx, { what }) => noValue(what),
});

/** Fails at all attempts but one, and logs the key that it was given. */
export const deliver = internalAction({
  args: { key: v.string(), attempt: v.number(), goodAttempt: v.number() },
  returns: v.string(),
  handler: async (ctx, { key, attempt, goodAttempt }): Promise<string> => {
    await ctx.runMutation(internal.app.log, { text: `${attempt}: ${key}` });
    if (attempt !== goodAttempt) throw new Error(`attempt ${attempt} failed`);
    return key;
  },
});
