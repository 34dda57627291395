import { setMaxParallelism } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { mutation, type MutationCtx } from "./_generated/server.js";
import { pool } from "./line.js";

/**
 * Sets how many steps run at once, from 0 to 200, until the manager's own option changes. 0 pauses: no step starts, and those that run are
 * taken in as they end.
 * @throws where it is not a whole number from 0 to 200.
 */
export const update = mutation({
  args: { maxParallelism: v.number() },
  returns: v.null(),
  handler: async (ctx, { maxParallelism }) => {
    await setMaxParallelism(ctx, pool, maxParallelism);
    return null;
  },
});

/** Applies what the app's manager asks for, where it is something else than it asked for last. */
export async function applyManagerConfig(
  ctx: MutationCtx,
  maxParallelism: number | undefined,
): Promise<void> {
  if (maxParallelism === undefined) return;
  const last = await ctx.db.query("managerConfig").first();
  if (last?.maxParallelism === maxParallelism) return;
  await setMaxParallelism(ctx, pool, maxParallelism);
  if (last === null) await ctx.db.insert("managerConfig", { maxParallelism });
  else await ctx.db.patch("managerConfig", last._id, { maxParallelism });
}
