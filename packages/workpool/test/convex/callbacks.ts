import { v } from "convex/values";
import { vOnCompleteArgs, Workpool } from "../../src/client/index.js";
import { components, internal } from "./_generated/api.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";

const pool = new Workpool(components.workpool);

/** Writes down the result. */
export const ended = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx, { workId, context, result }): Promise<null> => {
    const data = { workId, context: context ?? null, result };
    await ctx.db.insert("events", { what: "ended", label: result.kind, at: Date.now(), data });
    return null;
  },
});

/** Writes, and then throws. */
export const throwing = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    await ctx.db.insert("events", { what: "callback", label: "throwing", at: Date.now() });
    throw new Error("the callback failed");
  },
});

/** Throws as much as no document holds. */
export const throwingMuch = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (): Promise<null> => {
    throw new Error("x".repeat(2_000_000));
  },
});

/** Uses up its transaction. */
export const insatiable = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    for (;;) await ctx.db.insert("events", { what: "callback", label: "insatiable", at: 0 });
  },
});

/** Uses up its transaction by reading a large document, of which the last time is too much. */
export const voracious = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    for (;;) await ctx.db.query("events").first();
  },
});

/** Writes down how many documents its transaction may write in all. */
export const measuring = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    const { used, remaining } = (await ctx.meta.getTransactionMetrics()).documentsWritten;
    const data = used + remaining;
    await ctx.db.insert("events", { what: "may write", label: "", at: Date.now(), data });
    return null;
  },
});

/** Enqueues another work in the place of the one that ended. */
export const again = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    await pool.enqueueMutation(ctx, internal.jobs.write, { label: "renewed" });
    return null;
  },
});

const budgeted = new Workpool(components.workpool, {
  limits: {
    exports: { total: 1 },
    api: { rate: { limit: 2, per: "1h" } },
    tokens: { rate: { limit: 1_000, per: "1d" }, unit: "tokens" },
  },
});

/** Enqueues a work that takes of the budget of the one that has ended. */
export const spends = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    const limits = { tokens: { estimate: 1 } };
    await budgeted.enqueueAction(ctx, internal.jobs.echo, { value: "more" }, { limits });
    return null;
  },
});

/** Enqueues two works of a minute together. */
export const twoLong = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    const works = ["one", "other"].map((label) => ({ label, ms: 60_000 }));
    await pool.enqueueActionBatch(ctx, internal.jobs.sleep, works);
    return null;
  },
});

/** Has the pool run one work at once. */
export const lowering = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    await ctx.runMutation(components.workpool.config.update, { maxParallelism: 1 });
    return null;
  },
});

/** Enqueues another work for a minute later. */
export const later = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    await pool.enqueueMutation(ctx, internal.jobs.write, { label: "later" }, { runAfter: 60_000 });
    return null;
  },
});

/** Writes 3,000 documents. */
export const writesMuch = internalMutation({
  args: vOnCompleteArgs(),
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    await ctx.db.insert("events", { what: "much", label: "wrote much", at: 0 });
    for (let i = 1; i < 3_000; i++)
      await ctx.db.insert("events", { what: "one of many", label: "", at: 0 });
    return null;
  },
});

/** Made by the class; writes down what the work's status is by then, and enqueues another. */
export const typed = pool.defineOnComplete({
  context: v.object({ next: v.string() }),
  returnValue: v.string(),
  handler: async (ctx: MutationCtx, { workId, context, result }) => {
    const value = result.kind === "success" ? result.returnValue.toUpperCase() : "";
    const status = await pool.status(ctx, workId);
    const data = { context, value, status };
    await ctx.db.insert("events", { what: "typed", label: result.kind, at: Date.now(), data });
    await pool.enqueueMutation(ctx, internal.jobs.write, { label: context.next });
  },
});

/** Enqueues another action with this callback, and so on: as many as the context says. */
export const chain = internalMutation({
  args: vOnCompleteArgs(v.number()),
  returns: v.null(),
  handler: async (ctx, { context: left }): Promise<null> => {
    const onComplete = internal.callbacks.chain;
    if (left > 0)
      await pool.enqueueAction(
        ctx,
        internal.jobs.echo,
        { value: left },
        { onComplete, context: left - 1 },
      );
    return null;
  },
});
