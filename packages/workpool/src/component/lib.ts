import { v } from "convex/values";
import { mutation, query } from "./_generated/server.js";
import { cancelWork } from "./cancel.js";
import { applyClassConfig } from "./config.js";
import { enqueueAll, enqueueFields } from "./enqueue.js";
import { type Status, statusOf, vStatus } from "./status.js";

/** Enqueues a work. @returns its id. */
export const enqueue = mutation({
  args: { ...enqueueFields, args: v.any() },
  returns: v.string(),
  handler: async (ctx, { args, ...enqueued }): Promise<string> => {
    if (enqueued.maxParallelism !== undefined) await applyClassConfig(ctx, enqueued.maxParallelism);
    const [id] = await enqueueAll(ctx, enqueued, [args]);
    if (id === undefined) throw new Error("A work that was enqueued has no id");
    return id;
  },
});

/** Enqueues a work for each of the arguments. @returns their ids, in the same order. */
export const enqueueBatch = mutation({
  args: { ...enqueueFields, argsList: v.array(v.any()) },
  returns: v.array(v.string()),
  handler: async (ctx, { argsList, ...enqueued }): Promise<string[]> => {
    if (enqueued.maxParallelism !== undefined) await applyClassConfig(ctx, enqueued.maxParallelism);
    return await enqueueAll(ctx, enqueued, argsList);
  },
});

/** Cancels a work; one that is finished or unknown is left alone. */
export const cancel = mutation({
  args: { id: v.string() },
  returns: v.null(),
  handler: async (ctx, { id }): Promise<null> => {
    const workId = ctx.db.normalizeId("works", id);
    const work = workId === null ? null : await ctx.db.get("works", workId);
    if (work !== null) await cancelWork(ctx, work);
    return null;
  },
});

/** The state of a work. */
export const status = query({
  args: { id: v.string() },
  returns: vStatus,
  handler: async (ctx, { id }): Promise<Status> => await statusOf(ctx, id),
});

/** The states of works, in the order of the ids. */
export const statusBatch = query({
  args: { ids: v.array(v.string()) },
  returns: v.array(vStatus),
  handler: async (ctx, { ids }): Promise<Status[]> =>
    await Promise.all(ids.map((id) => statusOf(ctx, id))),
});
