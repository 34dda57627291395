import {
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { v } from "convex/values";

/*
 * What the steps and works of every scene do, in both apps: nothing but count on, so that whatever
 * is read or written is the engine's. They never wait, so whatever time passes is the engine's too.
 */
const counts = { args: { n: v.number() }, returns: v.number() };

export const act = internalActionGeneric({ ...counts, handler: async (_ctx, { n }) => n + 1 });
export const write = internalMutationGeneric({ ...counts, handler: async (_ctx, { n }) => n + 1 });
export const read = internalQueryGeneric({ ...counts, handler: async (_ctx, { n }) => n + 1 });

/** A mutation that leaves a row, by which it is counted. */
export const insert = internalMutationGeneric({
  ...counts,
  handler: async (ctx, { n }) => {
    await ctx.db.insert("done", { n });
    return n + 1;
  },
});

/** An action that is busy for `ms` of virtual time. */
export const actFor = internalActionGeneric({
  args: { n: v.number(), ms: v.number() },
  returns: v.number(),
  handler: async (_ctx, { n, ms }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return n + 1;
  },
});

/** One that returns the text that it gets. */
export const actLarge = internalActionGeneric({
  args: { ms: v.number(), text: v.string() },
  returns: v.string(),
  handler: async (_ctx, { ms, text }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return text;
  },
});

/** One that fails in the end. */
export const fail = internalActionGeneric({
  args: { n: v.number(), ms: v.number() },
  returns: v.number(),
  handler: async (_ctx, { ms }): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    throw new Error("failed");
  },
});

let attempts = 0;

/** An action that fails every other time: a work of it is retried once. */
export const actAtSecond = internalActionGeneric({
  ...counts,
  handler: async (_ctx, { n }) => {
    attempts += 1;
    if (attempts % 2 === 1) throw new Error("once");
    return n + 1;
  },
});
