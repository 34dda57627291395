import { poolFunctions } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internalMutation } from "./_generated/server.js";
import { voidMutation } from "./core/continuations.js";
import { pool, vFound } from "./core/poolHost.js";
import { attemptFailed } from "./engine/entry.js";
import { findLate, watchDeadlines, watchEntries, watchSetAside } from "./features/watchLate.js";
import { vError } from "./validators.js";

/* The pool's watchdog, registered in this component: it finds actions that will never report. */

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
} = poolFunctions(pool, { inspect: findLate });

/** What the pool's watchdog also checks. @returns when to check again; null if there is nothing. */
export const watchAll = internalMutation({
  args: { idle: v.boolean(), found: vFound },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { idle, found }): Promise<number | null> => {
    const times = [
      await watchDeadlines(ctx, found),
      await watchSetAside(ctx),
      await watchEntries(ctx, idle, found),
    ];
    const wanted = times.filter((at) => at !== null);
    return wanted.length === 0 ? null : Math.min(...wanted);
  },
});

const { kind, reason, waitedFor, message } = vError.fields;

export const failAttempt = voidMutation(
  { step: v.string(), kind, reason, waitedFor, message },
  async (ctx, { step, ...problem }) => await attemptFailed(ctx, step, problem),
);
