import { v } from "convex/values";
import { changedConfig, type Config, setConfig, vConfig } from "../core/index.js";
import { mutation, type MutationCtx } from "./_generated/server.js";
import { host } from "./host.js";
import { warn } from "./log.js";

/** From here on, a deployment of the smaller plans has less to run works with than they ask for. */
const MUCH_PARALLELISM = 100;

/**
 * Sets what is given, at once, until the class's own options change. `maxParallelism: 0` pauses the pool.
 * @throws where `maxParallelism` is no whole number from 0 to 200.
 */
export const update = mutation({
  args: vConfig,
  returns: v.null(),
  handler: async (ctx, config): Promise<null> => {
    await apply(ctx, config);
    return null;
  },
});

/** Applies the options of the class that enqueues, where they are others than the class gave last. */
export async function applyClassConfig(ctx: MutationCtx, config: Config): Promise<void> {
  if (config.maxParallelism === undefined && config.logLevel === undefined) return;
  const last = await ctx.db.query("classConfig").first();
  const changed = changedConfig(config, last);
  if (changed === null) return;
  await apply(ctx, changed);
  if (last === null) await ctx.db.insert("classConfig", changed);
  else await ctx.db.patch("classConfig", last._id, changed);
}

async function apply(ctx: MutationCtx, config: Config): Promise<void> {
  await setConfig(ctx, host, config);
  const { maxParallelism } = config;
  if (maxParallelism !== undefined && maxParallelism > MUCH_PARALLELISM)
    await warn(
      ctx,
      `maxParallelism is ${maxParallelism}: above ${MUCH_PARALLELISM} the deployment's own limits may bind first`,
    );
}
