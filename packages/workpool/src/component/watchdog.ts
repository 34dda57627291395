import { v } from "convex/values";
import * as core from "../core/index.js";
import { internalMutation, internalQuery } from "./_generated/server.js";
import { findLostContinuations, vContinued, voidMutation } from "./continuations.js";
import { findLostStarts, vDelayed } from "./delayed.js";
import { host } from "./host.js";

/** One sweep of the watchdog. Scheduled while works run. */
export const sweep = voidMutation(core.sweepArgs, async (ctx, args) => {
  await core.sweepSlots(ctx, host, args);
});

/** What the watchdog reads from a stale snapshot. */
export const inspect = internalQuery({
  args: core.inspectArgs,
  returns: core.vInspected,
  handler: core.inspectSlots,
});

/** What it needs to know of delayed works and continuations, for reading from a stale snapshot. */
export const findLost = internalQuery({
  args: {},
  returns: v.object({ delayed: vDelayed, continued: vContinued }),
  handler: async (ctx) => ({
    delayed: await findLostStarts(ctx),
    continued: await findLostContinuations(ctx),
  }),
});

/** Recovers the work of one slot, if it is lost. Nested, so that an error harms no other slot. */
export const recover = internalMutation({
  args: core.recoverArgs,
  returns: v.boolean(),
  handler: async (ctx, suspect): Promise<boolean> => await core.recoverSlot(ctx, host, suspect),
});
