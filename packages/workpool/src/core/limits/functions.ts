import { queryGeneric } from "convex/server";
import { v } from "convex/values";
import type { Host, HostCtx, HostQueryCtx } from "../context.js";
import { mutationsOf } from "../continuations.js";
import type { ListedLimit, SeenLimit } from "./client.js";
import { listLimits, seeLimit, vListedLimit, vSeenLimit } from "./seen.js";
import { vWhich } from "./overrides.js";
import {
  endArgs,
  overrideArgs,
  overrideLimit,
  pauseArgs,
  pauseLimit,
  resetLimit,
  resumeLimit,
} from "./steer.js";

/**
 * Returns the functions by which an operator sets and sees limits while the app runs: a host
 * exports all of them from `limits`.
 */
export function limitFunctions(host: Host) {
  const { publicMutation } = mutationsOf<HostCtx>();
  return {
    /** Puts other numbers in force for a limit, or one of its keys, until `reset`. */
    override: publicMutation(overrideArgs, (ctx, given) => overrideLimit(ctx, host, given)),
    /** Lets nothing of a limit, or of one of its keys, start until `resume`. */
    pause: publicMutation(pauseArgs, (ctx, given) => pauseLimit(ctx, host, given)),
    resume: publicMutation(endArgs, (ctx, asked) => resumeLimit(ctx, host, asked)),
    reset: publicMutation(endArgs, (ctx, asked) => resetLimit(ctx, host, asked)),
    get: queryGeneric({
      args: vWhich,
      returns: v.union(vSeenLimit, v.null()),
      handler: async (ctx: HostQueryCtx, which): Promise<SeenLimit | null> =>
        await seeLimit(ctx, which),
    }),
    /** All limits, that of the pool itself first. */
    list: queryGeneric({
      args: {},
      returns: v.array(vListedLimit),
      handler: async (ctx: HostQueryCtx): Promise<ListedLimit[]> => await listLimits(ctx),
    }),
  };
}
