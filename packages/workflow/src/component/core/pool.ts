import { isCalledOff } from "./children.js";
import type { PoolHost } from "@stepwise/workpool/core";
import { internal } from "../_generated/api.js";
import type { MutationCtx } from "../_generated/server.js";
import type { Token } from "../validators.js";
import { isQuiet, type Found } from "./watched.js";

/** What the pool needs of this component: function references, so that everything may use it. */
export const pool: PoolHost = {
  functions: internal.watchdog,
  mayStart: async (ctx: MutationCtx, { args }) =>
    !(await isCalledOff(ctx, (args as { token: Token }).token)),
  functionGone: async (ctx: MutationCtx, step, message) => {
    const failed = { step, message: `Its function no longer exists: ${message}` };
    await ctx.runMutation(internal.watchdog.failAttempt, { ...failed, kind: "removedNode" });
  },
  /** An action that settles itself takes 2 executions: with 4 sweeps, one of 9 minutes takes 6. */
  firstSweepMs: 10_000,
  alsoSweep: async (ctx: MutationCtx, idle, inspected) => {
    // What `findLate` has found.
    const found = inspected as Found;
    if (await isQuiet(ctx, idle, found)) return null;
    return await ctx.runMutation(internal.watchdog.watchAll, { idle, found });
  },
  lost: async (ctx: MutationCtx, step, _slot, why) => {
    const message = `Its action was lost: ${why}`;
    await ctx.runMutation(internal.watchdog.failAttempt, { step, kind: "lost", message });
  },
};
