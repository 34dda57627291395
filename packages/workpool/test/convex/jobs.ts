import { ConvexError, v, type Value } from "convex/values";
import { NonRetryableError, RetryAfter } from "../../src/client/index.js";
import { internal } from "./_generated/api.js";
import { internalAction, internalMutation, internalQuery } from "./_generated/server.js";

/** Writes down that something happened. */
export const record = internalMutation({
  args: { what: v.string(), label: v.string() },
  returns: v.number(),
  handler: async (ctx, event): Promise<number> => {
    await ctx.db.insert("events", { ...event, at: Date.now() });
    const before = await ctx.db
      .query("events")
      .withIndex("by_label", (q) => q.eq("label", event.label))
      .collect();
    return before.filter((other) => other.what === event.what).length;
  },
});

/** Takes `ms`, and writes down when it starts and ends. */
export const sleep = internalAction({
  args: { label: v.string(), ms: v.number() },
  returns: v.string(),
  handler: async (ctx, { label, ms }): Promise<string> => {
    await ctx.runMutation(internal.jobs.record, { what: "start", label });
    await new Promise((resolve) => setTimeout(resolve, ms));
    await ctx.runMutation(internal.jobs.record, { what: "end", label });
    return label;
  },
});

/** Begins, and throws. */
export const startAndThrow = internalAction({
  args: { label: v.string() },
  returns: v.null(),
  handler: async (ctx, { label }): Promise<null> => {
    await ctx.runMutation(internal.jobs.record, { what: "start", label });
    throw new Error("it throws");
  },
});

/** Dies with its machine, after it was tried `times` times: it never ends. */
export const hang = internalAction({
  args: { label: v.string(), times: v.optional(v.number()) },
  returns: v.string(),
  handler: async (ctx, { label, times = Infinity }): Promise<string> => {
    const attempt = await ctx.runMutation(internal.jobs.record, { what: "start", label });
    if (attempt <= times) await new Promise(() => {});
    return label;
  },
});

/** Never ends. */
export const hangWith = internalAction({
  args: { text: v.string() },
  returns: v.null(),
  handler: async (): Promise<null> => await new Promise(() => {}),
});

/** Takes `ms`, and calls nothing. */
export const wait = internalAction({
  args: { ms: v.number() },
  returns: v.null(),
  handler: async (_ctx, { ms }): Promise<null> => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return null;
  },
});

/** Calls nothing itself. */
export const echo = internalAction({
  args: { value: v.any() },
  returns: v.any(),
  handler: async (_ctx, { value }): Promise<unknown> => value,
});

/** Fails with data. */
export const coded = internalAction({
  args: { data: v.any() },
  returns: v.null(),
  handler: async (_ctx, { data }): Promise<null> => {
    throw new ConvexError(data);
  },
});

/** The same of a mutation. */
export const codedMutation = internalMutation({
  args: { data: v.any() },
  returns: v.null(),
  handler: async (_ctx, { data }): Promise<null> => {
    throw new ConvexError(data);
  },
});

/** Fails with data that cannot be arguments of a test, in a way that can be. */
export const oddlyCoded = internalAction({
  args: { odd: v.string() },
  returns: v.null(),
  handler: async (_ctx, { odd }): Promise<null> => throwOdd(odd),
});

/** The same of a mutation. */
export const oddlyCodedMutation = internalMutation({
  args: { odd: v.string() },
  returns: v.null(),
  handler: async (_ctx, { odd }): Promise<null> => throwOdd(odd),
});

function throwOdd(odd: string): never {
  if (odd === "finally") throw new NonRetryableError("sold out", "x".repeat(2_000_000));
  if (odd === "later") throw new RetryAfter(1_000, "too many", "x".repeat(2_000_000));
  const deep = (levels: number): Value => (levels === 0 ? 1 : [deep(levels - 1)]);
  const all: Record<string, unknown> = {
    large: "x".repeat(2_000_000),
    huge: "x".repeat(20_000_000),
    long: Array.from({ length: 9_000 }, () => 1),
    deep: deep(70),
    half: { text: "\ud83d" },
  };
  const error = new ConvexError(all[odd] as Value);
  if (odd !== "large") error.message = "sold out";
  throw error;
}

/** Takes `ms`, and fails until it has been tried `succeedsAt` times. */
export const flaky = internalAction({
  args: {
    label: v.string(),
    succeedsAt: v.optional(v.number()),
    ms: v.optional(v.number()),
    nonRetryable: v.optional(v.boolean()),
  },
  returns: v.number(),
  handler: async (ctx, { label, succeedsAt, ms, nonRetryable }): Promise<number> => {
    const attempt = await ctx.runMutation(internal.jobs.record, { what: "attempt", label });
    if (ms !== undefined) await new Promise((resolve) => setTimeout(resolve, ms));
    if (succeedsAt !== undefined && attempt >= succeedsAt) return attempt;
    const message = `attempt ${attempt} failed`;
    throw nonRetryable === true ? new NonRetryableError(message) : new Error(message);
  },
});

export const size = internalAction({
  args: { text: v.string() },
  returns: v.number(),
  handler: async (_ctx, { text }): Promise<number> => text.length,
});

/** Returns a text of so many bytes. */
export const large = internalAction({
  args: { bytes: v.number() },
  returns: v.string(),
  handler: async (_ctx, { bytes }): Promise<string> => "x".repeat(bytes),
});

export const write = internalMutation({
  args: { label: v.string(), fails: v.optional(v.boolean()), text: v.optional(v.string()) },
  returns: v.number(),
  handler: async (ctx, { label, fails, text }): Promise<number> => {
    await ctx.db.insert("events", { what: "write", label, at: Date.now() });
    if (fails === true) throw new Error(`writing ${label} failed`);
    return text?.length ?? 0;
  },
});

/** Schedules as much as one transaction may, and succeeds where it may. */
export const scheduleMuch = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    for (let i = 0; i < 1_000; i++)
      await ctx.scheduler.runAfter(0, internal.jobs.record, { what: "much", label: "much" });
    return null;
  },
});

export const count = internalQuery({
  args: { label: v.string() },
  returns: v.number(),
  handler: async (ctx, { label }): Promise<number> => {
    const events = await ctx.db
      .query("events")
      .withIndex("by_label", (q) => q.eq("label", label))
      .collect();
    return events.length;
  },
});

/**
 * Is told, `times` times, to come again, as a service answers that is asked too often. Up to
 * attempt `upTo` it holds its limit.
 */
export const refused = internalAction({
  args: {
    label: v.string(),
    times: v.number(),
    afterMs: v.number(),
    holds: v.optional(v.string()),
    upTo: v.optional(v.number()),
  },
  returns: v.number(),
  handler: async (ctx, { label, times, afterMs, holds, upTo = times }): Promise<number> => {
    const attempt = await ctx.runMutation(internal.jobs.record, { what: "attempt", label });
    if (attempt > times) return attempt;
    throw new RetryAfter(afterMs, attempt > upTo ? {} : { holds });
  },
});
