import { v } from "convex/values";
import { setMaxParallelism } from "../core/index.js";
import { mutation, type MutationCtx } from "./_generated/server.js";
import { host } from "./host.js";

/** From here on, a deployment of the smaller plans has less to run works with than they ask for. */
const MUCH_PARALLELISM = 100;

/** Sets what is given, at once. `maxParallelism: 0` pauses the pool. */
export const update = mutation({
  args: { maxParallelism: v.optional(v.number()) },
  returns: v.null(),
  handler: async (ctx, { maxParallelism }): Promise<null> => {
    if (maxParallelism !== undefined) await applyMaxParallelism(ctx, maxParallelism);
    return null;
  },
});

/** Applies the `maxParallelism` of the class that enqueues, where it is another than the class gave last. */
export async function applyClassConfig(ctx: MutationCtx, maxParallelism: number): Promise<void> {
  const last = await ctx.db.query("classConfig").first();
  if (last?.maxParallelism === maxParallelism) return;
  await applyMaxParallelism(ctx, maxParallelism);
  if (last === null) await ctx.db.insert("classConfig", { maxParallelism });
  else await ctx.db.patch("classConfig", last._id, { maxParallelism });
}

async function applyMaxParallelism(ctx: MutationCtx, maxParallelism: number): Promise<void> {
  await setMaxParallelism(ctx, host, maxParallelism);
  if (maxParallelism > MUCH_PARALLELISM)
    console.warn(
      `maxParallelism is ${maxParallelism}: above ${MUCH_PARALLELISM} the deployment's own limits may bind first`,
    );
}
