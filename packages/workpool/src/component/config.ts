import { v } from "convex/values";
import { setConfig, vConfig } from "../core/index.js";
import { mutation } from "./_generated/server.js";
import { host } from "./host.js";

/**
 * Sets what is given, at once, until the class's own options change. `maxParallelism: 0` pauses the
 * pool.
 * @throws if `maxParallelism` is not a whole number from 0 to 200.
 */
export const update = mutation({
  args: vConfig,
  returns: v.null(),
  handler: async (ctx, config): Promise<null> => {
    await setConfig(ctx, host, config);
    return null;
  },
});
