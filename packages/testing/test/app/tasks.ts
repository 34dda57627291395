import {
  actionGeneric,
  anyApi,
  componentsGeneric,
  mutationGeneric,
  queryGeneric,
} from "convex/server";
import { v } from "convex/values";

const api = anyApi;
const components = componentsGeneric();

export const list = queryGeneric({
  args: {},
  handler: async (ctx) => (await ctx.db.query("tasks").collect()).map(({ text }) => text),
});

export const add = mutationGeneric({
  args: { text: v.string() },
  handler: async (ctx, { text }) => {
    await ctx.db.insert("tasks", { text });
    if (text === "refused") throw new Error("refused");
    return null;
  },
});

/** Adds all in nested transactions; the ones that fail are left out. */
export const addAll = mutationGeneric({
  args: { texts: v.array(v.string()) },
  handler: async (ctx, { texts }) => {
    for (const text of texts) {
      await ctx.runMutation(api["tasks"]!["add"]!, { text }).catch(() => null);
    }
    return null;
  },
});

export const addTwiceThenFail = mutationGeneric({
  args: {},
  handler: async (ctx) => {
    await ctx.runMutation(api["tasks"]!["addAll"]!, { texts: ["a", "b"] });
    throw new Error("after all");
  },
});

export const addMarked = mutationGeneric({
  args: { text: v.string() },
  handler: async (ctx, { text }) => {
    await ctx.db.insert("tasks", { text });
    await ctx.runMutation(components["tally"]!["tally"]!["mark"]!, { of: text });
    return null;
  },
});

/** Reads, adds, schedules another add, and goes on while that one runs. */
export const busy = actionGeneric({
  args: { text: v.string(), forMs: v.number() },
  handler: async (ctx, { text, forMs }) => {
    await ctx.runQuery(api["tasks"]!["list"]!, {});
    await ctx.scheduler.runAfter(10, api["tasks"]!["add"]!, { text: `${text} later` });
    await ctx.runMutation(api["tasks"]!["add"]!, { text });
    await new Promise((resolve) => setTimeout(resolve, forMs));
    return null;
  },
});

/** Schedules an add and goes on, in real time, until that has happened. */
export const awaitScheduled = actionGeneric({
  args: { text: v.string() },
  handler: async (ctx, { text }) => {
    await ctx.scheduler.runAfter(0, api["tasks"]!["add"]!, { text });
    let texts: string[] = [];
    while (!texts.includes(text)) {
      await new Promise((resolve) => setImmediate(resolve));
      texts = (await ctx.runQuery(api["tasks"]!["list"]!, {})) as string[];
    }
    return null;
  },
});

/** Stores a file: real work in a thread pool, raced against a timeout of the clock. */
export const store = actionGeneric({
  args: { bytes: v.number(), timeoutMs: v.number() },
  handler: async (ctx, { bytes, timeoutMs }) => {
    const timeout = new Promise<string>((resolve) => {
      setTimeout(() => resolve("timed out"), timeoutMs);
    });
    const stored = ctx.storage.store(new Blob(["x".repeat(bytes)])).then(() => "stored");
    return await Promise.race([stored, timeout]);
  },
});

export const scheduleAdd = mutationGeneric({
  args: { texts: v.array(v.string()), afterMs: v.number() },
  handler: async (ctx, { texts, afterMs }) => {
    for (const text of texts) {
      await ctx.scheduler.runAfter(afterMs, api["tasks"]!["add"]!, { text });
    }
    return null;
  },
});

/** Schedules itself without end. */
export const tick = mutationGeneric({
  args: {},
  handler: async (ctx) => {
    await ctx.scheduler.runAfter(1000, api["tasks"]!["tick"]!, {});
    return null;
  },
});

/** Calls itself `levels` times below the first. */
export const nest = mutationGeneric({
  args: { levels: v.number() },
  handler: async (ctx, { levels }): Promise<number> =>
    levels === 0 ? 0 : await ctx.runMutation(api["tasks"]!["nest"]!, { levels: levels - 1 }),
});

export const echo = actionGeneric({
  args: { value: v.any() },
  handler: async (_ctx, { value }) => value as unknown,
});

export const numbers = queryGeneric({
  args: { count: v.number() },
  handler: async (_ctx, { count }) => ({ found: { list: Array.from({ length: count }, () => 1) } }),
});

export const bytes = queryGeneric({
  args: { size: v.number() },
  handler: async (_ctx, { size }) => new ArrayBuffer(size),
});
