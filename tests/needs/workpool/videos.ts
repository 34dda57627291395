import { Workpool } from "@convex-dev/workpool";
import { v } from "convex/values";
import { components, internal } from "./_generated/api.js";
import { internalAction, internalMutation, type MutationCtx } from "./_generated/server.js";
import { transcode } from "./server.js";

const pool = new Workpool(components.workpool, { maxParallelism: 20 });
const AT_ONCE = 2;

export const start = internalMutation({
  args: { tenant: v.string(), n: v.number() },
  handler: async (ctx, video) => {
    await ctx.db.insert("videos", { ...video, runs: false });
    await startNext(ctx, video.tenant);
  },
});

async function startNext(ctx: MutationCtx, tenant: string) {
  const of = (runs: boolean) =>
    ctx.db.query("videos").withIndex("by_tenant", (q) => q.eq("tenant", tenant).eq("runs", runs));
  if ((await of(true).take(AT_ONCE)).length === AT_ONCE) return;
  const next = await of(false).first();
  if (next === null) return;
  await ctx.db.patch("videos", next._id, { runs: true });
  await pool.enqueueAction(
    ctx,
    internal.videos.run,
    { tenant, n: next.n },
    { onComplete: internal.videos.ended, context: { id: next._id } },
  );
}

export const run = internalAction({
  args: { tenant: v.string(), n: v.number() },
  handler: async (_ctx, video) => await transcode(video),
});

export const ended = pool.defineOnComplete({
  context: v.object({ id: v.id("videos") }),
  handler: async (ctx: MutationCtx, { context: { id } }) => {
    const video = await ctx.db.get("videos", id);
    if (video === null) return;
    await ctx.db.delete("videos", id);
    await startNext(ctx, video.tenant);
  },
});
