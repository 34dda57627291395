import { type Infer, v } from "convex/values";
import { enqueueWork, PAGE, takeBack } from "../core/index.js";
import { mutation, query } from "./_generated/server.js";
import { host } from "./host.js";
import { argsOfWork, findWork, workOf } from "./work.js";

const vSetAside = v.object({
  workId: v.string(),
  /** Absent if the work has none, or its record is gone. */
  name: v.optional(v.string()),
  /** Why it could not be processed. */
  error: v.string(),
  /** When that was, in ms since the epoch. */
  at: v.number(),
});
type SetAside = Infer<typeof vSetAside>;

/** The works that were set aside as they could not be processed, the newest first, up to 100. */
export const list = query({
  args: { limit: v.optional(v.number()) },
  returns: v.array(vSetAside),
  handler: async (ctx, { limit = PAGE }): Promise<SetAside[]> => {
    const rows = await ctx.db
      .query("setAside")
      .order("desc")
      .take(Math.min(Math.max(0, Math.floor(limit)), PAGE));
    return await Promise.all(
      rows.map(async ({ work, error, at }) => {
        const name = (await findWork(ctx, work))?.name;
        return { workId: work, error, at, name };
      }),
    );
  },
});

/**
 * Enqueues a work again that was set aside, or even canceled. @returns whether it was.
 * @throws if it still cannot be processed; then nothing changes, and `lib.cancel` ends it.
 */
export const retry = mutation({
  args: { id: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { id }): Promise<boolean> => {
    if (!(await takeBack(ctx, id))) return false;
    const work = await findWork(ctx, id);
    if (work === null) return true;
    if (work.canceled === true) await ctx.db.patch("works", work._id, { canceled: undefined });
    await enqueueWork(ctx, await workOf(ctx, work, await argsOfWork(ctx, work)), host);
    return true;
  },
});
