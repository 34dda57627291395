import { createFunctionHandle, type FunctionHandle } from "convex/server";
import { poolFunctions } from "../core/index.js";
import { internal } from "./_generated/api.js";
import { findLostStarts } from "./delayed.js";
import { host } from "./host.js";
import { type ActionAttempt, performAttempt } from "./worker.js";

/* The pool's own functions. */
export const {
  lookAtLanes,
  freeSlots,
  drainQueue,
  sweep,
  inspect,
  recover,
  seeForOwner,
  lookFairly,
  lookAtLine,
  countWaiting,
  endOverrides,
  endWaits,
  releaseRate,
  wakeLines,
  carry,
  take,
  toTake,
} = poolFunctions(host, {
  inspect: findLostStarts,
  call: async (ctx, fn, args) => {
    const ofWorker = await createFunctionHandle(internal.worker.runAction);
    // A worker's call would take a place of its own.
    if (fn === ofWorker) await performAttempt(ctx, args as ActionAttempt);
    else await ctx.runAction(fn as FunctionHandle<"action">, args);
  },
});
