import { setConfig, vConfig } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { mutation } from "./_generated/server.js";
import { pool } from "./core/pool.js";

/**
 * Sets how many steps run at once, from 0 to 200, and how much is logged: each where it is given, at once, and until the manager's own
 * option changes. `maxParallelism: 0` pauses: no step starts, and those that run are taken in as they end.
 * @throws where `maxParallelism` is not a whole number from 0 to 200.
 */
export const update = mutation({
  args: vConfig,
  returns: v.null(),
  handler: async (ctx, config) => {
    await setConfig(ctx, pool, config);
    return null;
  },
});
