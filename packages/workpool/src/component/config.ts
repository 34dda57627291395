import { v } from "convex/values";
import { setConfig, vConfig } from "../core/index.js";
import { mutation } from "./_generated/server.js";
import { host } from "./host.js";

/** Sets what is given, until the class's own options change. @throws if it is out of range. */
export const update = mutation({
  args: vConfig,
  returns: v.null(),
  handler: async (ctx, config): Promise<null> => {
    await setConfig(ctx, host, config);
    return null;
  },
});
