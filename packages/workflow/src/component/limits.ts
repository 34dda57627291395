import * as core from "@stepwise/workpool/core/limits";
import { v } from "convex/values";
import { query } from "./_generated/server.js";
import { publicMutation } from "./core/continuations.js";
import { pool } from "./core/poolHost.js";

/* What an operator says of limits while the app runs, and sees of them. */

/** Has other numbers hold for a limit, or one of its keys, until `reset`. */
export const override = publicMutation(core.overrideArgs, (ctx, given) =>
  core.overrideLimit(ctx, pool, given),
);

/** Lets nothing of a limit, or of one of its keys, start until `resume`. */
export const pause = publicMutation(core.pauseArgs, (ctx, given) =>
  core.pauseLimit(ctx, pool, given),
);

export const resume = publicMutation(core.whichArgs, (ctx, which) =>
  core.resumeLimit(ctx, pool, which),
);

export const reset = publicMutation(core.whichArgs, (ctx, which) =>
  core.resetLimit(ctx, pool, which),
);

export const get = query({
  args: core.whichArgs,
  returns: v.union(core.vSeenLimit, v.null()),
  handler: async (ctx, which): Promise<core.SeenLimit | null> => await core.seeLimit(ctx, which),
});

/** All limits, that of the pool itself first. */
export const list = query({
  args: {},
  returns: v.array(core.vListedLimit),
  handler: async (ctx): Promise<core.ListedLimit[]> => await core.listLimits(ctx),
});
