import { v } from "convex/values";
import {
  lookArgs,
  lookAtSlots,
  recoverArgs,
  recoverSlot,
  sweepArgs,
  sweepSlots,
  vLook,
} from "../core/index.js";
import { internalMutation, internalQuery } from "./_generated/server.js";
import { host } from "./host.js";

/** The watchdog's look. Scheduled while works run. */
export const sweep = internalMutation({
  args: sweepArgs,
  returns: v.null(),
  handler: async (ctx, args): Promise<null> => {
    await sweepSlots(ctx, host, args);
    return null;
  },
});

/** Reads what a look looks at, from a stale snapshot. */
export const look = internalQuery({ args: lookArgs, returns: vLook, handler: lookAtSlots });

/** Recovers the work of one slot, if it is lost. Nested, so that one which cannot be recovered harms no other. */
export const recover = internalMutation({
  args: recoverArgs,
  returns: v.boolean(),
  handler: async (ctx, suspect): Promise<boolean> => await recoverSlot(ctx, host, suspect),
});
