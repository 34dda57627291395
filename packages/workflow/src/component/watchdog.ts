import {
  lookArgs,
  lookAtSlots,
  recoverArgs,
  recoverSlot,
  sweepArgs,
  sweepSlots,
  vLook,
} from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internalMutation, internalQuery } from "./_generated/server.js";
import { pool } from "./line.js";

/* The pool's watchdog, registered in this component: it finds actions that will never report. */

export const sweep = internalMutation({
  args: sweepArgs,
  returns: v.null(),
  handler: async (ctx, args) => {
    await sweepSlots(ctx, pool, args);
    return null;
  },
});

export const look = internalQuery({ args: lookArgs, returns: vLook, handler: lookAtSlots });

export const recover = internalMutation({
  args: recoverArgs,
  returns: v.boolean(),
  handler: async (ctx, suspect) => await recoverSlot(ctx, pool, suspect),
});
