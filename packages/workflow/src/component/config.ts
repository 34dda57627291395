import { setConfig, vConfig } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { mutation } from "./_generated/server.js";
import { pool } from "./core/pool.js";

/**
 * Sets what is given, at once, until the manager's options change. `maxParallelism: 0` pauses.
 * @throws if `maxParallelism` is not a whole number from 0 to 200.
 */
export const update = mutation({
  args: vConfig,
  returns: v.null(),
  handler: async (ctx, config) => {
    await setConfig(ctx, pool, config);
    return null;
  },
});
