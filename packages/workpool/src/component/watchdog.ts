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
import { voidMutation } from "./continuations.js";
import { host } from "./host.js";

/** One pass of the watchdog. Scheduled while works run. */
export const sweep = voidMutation(sweepArgs, async (ctx, args) => {
  await sweepSlots(ctx, host, args);
});

/** What the watchdog reads from a stale snapshot. */
export const look = internalQuery({ args: lookArgs, returns: vLook, handler: lookAtSlots });

/** Recovers the work of one slot, if it is lost. Nested, so that an error harms no other slot. */
export const recover = internalMutation({
  args: recoverArgs,
  returns: v.boolean(),
  handler: async (ctx, suspect): Promise<boolean> => await recoverSlot(ctx, host, suspect),
});
