import { type Infer, v } from "convex/values";
import { setLogLevel, setMaxParallelism, vLogLevel } from "../core/index.js";
import { mutation, type MutationCtx } from "./_generated/server.js";
import { host } from "./host.js";
import { warn } from "./log.js";

/** From here on, a deployment of the smaller plans has less to run works with than they ask for. */
const MUCH_PARALLELISM = 100;

const vConfig = v.object({
  /** How many works run at once, 0 to 200. */
  maxParallelism: v.optional(v.number()),
  /** How much is logged. */
  logLevel: v.optional(vLogLevel),
});
type Config = Infer<typeof vConfig>;

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
export async function applyClassConfig(
  ctx: MutationCtx,
  { maxParallelism, logLevel }: Config,
): Promise<void> {
  if (maxParallelism === undefined && logLevel === undefined) return;
  const last = await ctx.db.query("classConfig").first();
  const changed: Config = {};
  if (maxParallelism !== undefined && maxParallelism !== last?.maxParallelism)
    changed.maxParallelism = maxParallelism;
  if (logLevel !== undefined && logLevel !== last?.logLevel) changed.logLevel = logLevel;
  if (Object.keys(changed).length === 0) return;
  await apply(ctx, changed);
  if (last === null) await ctx.db.insert("classConfig", changed);
  else await ctx.db.patch("classConfig", last._id, changed);
}

async function apply(ctx: MutationCtx, { maxParallelism, logLevel }: Config): Promise<void> {
  if (maxParallelism !== undefined) await setMaxParallelism(ctx, host, maxParallelism);
  if (logLevel !== undefined) await setLogLevel(ctx, logLevel);
  if (maxParallelism !== undefined && maxParallelism > MUCH_PARALLELISM)
    await warn(
      ctx,
      `maxParallelism is ${maxParallelism}: above ${MUCH_PARALLELISM} the deployment's own limits may bind first`,
    );
}
