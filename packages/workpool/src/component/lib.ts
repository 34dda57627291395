import { v } from "convex/values";
import { applyConfig, lookNow } from "../core/index.js";
import { mutation, query } from "./_generated/server.js";
import { cancelWork } from "./cancel.js";
import { cancelEverything } from "./cancelAll.js";
import { enqueueAll } from "./enqueue.js";
import { enqueueFields } from "./enqueueFields.js";
import { host } from "./host.js";
import { repairDelayed } from "./recovery.js";
import { type Status, statusOf, vStatus } from "./status.js";
import { countWithoutSlot } from "./tallies.js";

/** Enqueues a work. @returns its id. */
export const enqueue = mutation({
  args: { ...enqueueFields, args: v.any() },
  returns: v.string(),
  handler: async (ctx, { args, ...enqueued }): Promise<string> => {
    await applyConfig(ctx, host, enqueued);
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
    await applyConfig(ctx, host, enqueued);
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
    if (work !== null && (await cancelWork(ctx, work))) await countWithoutSlot(ctx, "canceled");
    return null;
  },
});

/**
 * Cancels all works that are there now; those that are enqueued from now on are left. One page of them in this transaction, each further
 * one in its own.
 * @throws where `limit`, the size of a page, is no whole number from 1 to 1,000. Default: 100.
 */
export const cancelAll = mutation({
  args: { limit: v.optional(v.number()) },
  returns: v.null(),
  handler: async (ctx, { limit }): Promise<null> => {
    await cancelEverything(ctx, limit);
    return null;
  },
});

/**
 * Sees to it that everything goes on whose scheduled function was lost, and at once what the watchdog would see to in time: as after a restore
 * from a backup, which brings no scheduled functions back. Delayed works, and such as wait for their next attempt, in pages: one in this
 * transaction, each further one in its own.
 */
export const repair = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    await lookNow(ctx, host);
    await repairDelayed(ctx);
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
