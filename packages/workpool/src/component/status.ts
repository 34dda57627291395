import { type Infer, v } from "convex/values";
import { isSetAside, isWaiting } from "../core/index.js";
import type { QueryCtx } from "./_generated/server.js";

export const vStatus = v.union(
  v.object({
    state: v.union(v.literal("pending"), v.literal("running")),
    previousAttempts: v.number(),
  }),
  v.object({ state: v.literal("finished") }),
);
export type Status = Infer<typeof vStatus>;

/** The state of a work. One that is unknown is finished: works that have ended leave nothing behind. */
export async function statusOf(ctx: QueryCtx, id: string): Promise<Status> {
  const workId = ctx.db.normalizeId("works", id);
  const work = workId === null ? null : await ctx.db.get("works", workId);
  if (work === null) return { state: "finished" };
  const pending =
    work.due !== undefined || (await isWaiting(ctx, work._id)) || (await isSetAside(ctx, work._id));
  return { state: pending ? "pending" : "running", previousAttempts: work.attempts };
}
