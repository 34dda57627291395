import { type Infer, v } from "convex/values";
import { isSetAside, isWaiting, oneOf, sweepNow } from "../core/index.js";
import { mutation, query, type QueryCtx } from "./_generated/server.js";
import { cancelEverything, cancelWork } from "./cancelAll.js";
import { publicMutation } from "./continuations.js";
import { countWithoutSlot } from "./reports.js";
import { enqueueAll } from "./enqueue.js";
import { enqueueFields } from "./schema.js";
import { host } from "./host.js";
import { repairDelayed } from "./recovery.js";
import { findWork } from "./work.js";

/** Enqueues a work. @returns its id. */
export const enqueue = mutation({
  args: { ...enqueueFields, args: v.any() },
  returns: v.string(),
  handler: async (ctx, { args, ...enqueued }): Promise<string> => {
    // There is one id for each.
    return (await enqueueAll(ctx, enqueued, [args]))[0]!;
  },
});

/** Enqueues a work for each of the arguments. @returns their ids, in the same order. */
export const enqueueBatch = mutation({
  args: { ...enqueueFields, argsList: v.array(v.any()) },
  returns: v.array(v.string()),
  handler: async (ctx, { argsList, ...enqueued }): Promise<string[]> =>
    await enqueueAll(ctx, enqueued, argsList),
});

/** Cancels a work; one that is finished or unknown is left alone. */
export const cancel = publicMutation({ id: v.string() }, async (ctx, { id }) => {
  const work = await findWork(ctx, id);
  if (work !== null && (await cancelWork(ctx, work))) await countWithoutSlot(ctx, "canceled");
});

/** Cancels all works that exist now, in pages. @throws if `limit` is not from 1 to 1,000. */
export const cancelAll = publicMutation(
  { limit: v.optional(v.number()) },
  async (ctx, { limit }) => await cancelEverything(ctx, limit),
);

/** Schedules again what was lost, as after a restore from a backup; delayed works in pages. */
export const repair = publicMutation({}, async (ctx) => {
  await sweepNow(ctx, host);
  await repairDelayed(ctx);
});

const vStatus = v.union(
  v.object({ state: oneOf("pending", "running"), previousAttempts: v.number() }),
  v.object({ state: v.literal("finished") }),
);
type Status = Infer<typeof vStatus>;

export const status = query({
  args: { id: v.string() },
  returns: vStatus,
  handler: async (ctx, { id }): Promise<Status> => await statusOf(ctx, id),
});

export const statusBatch = query({
  args: { ids: v.array(v.string()) },
  returns: v.array(vStatus),
  handler: async (ctx, { ids }): Promise<Status[]> =>
    await Promise.all(ids.map((id) => statusOf(ctx, id))),
});

/** An unknown work is finished: works that have ended leave nothing behind. */
async function statusOf(ctx: QueryCtx, id: string): Promise<Status> {
  const work = await findWork(ctx, id);
  if (work === null) return { state: "finished" };
  const pending =
    work.due !== undefined || (await isWaiting(ctx, work._id)) || (await isSetAside(ctx, work._id));
  return { state: pending ? "pending" : "running", previousAttempts: work.attempts };
}
