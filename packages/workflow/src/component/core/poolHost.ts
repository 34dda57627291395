import type { PoolHost } from "@stepwise/workpool/core";
import { getConvexSize, type Infer, type Value, v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { MutationCtx, QueryCtx } from "../_generated/server.js";
import type { Token } from "../validators.js";
import { withCalls } from "./calls.js";
import { isCalledOff } from "./childRuns.js";

/** An action with larger arguments has a function of its own: executors hold those of many. */
const MOST_ARGS_BYTES = 8_000;

/** What the pool needs of this component: function references, so that everything may use it. */
export const pool: PoolHost = {
  functions: internal.watchdog,
  executes: {
    attemptOf: async (ctx: MutationCtx, { fn, args }) => {
      // One that may not start, and one with large arguments, is left to its own function.
      if (await isCalledOff(ctx, (args as { token: Token }).token)) return null;
      return getConvexSize(args as Value) > MOST_ARGS_BYTES ? null : { fn, args };
    },
    prepare: withCalls,
    schedule: async (ctx: MutationCtx, { works, ...executor }) => {
      // Only what the queue has had is stored with a scheduled function.
      const attempts = works.map(({ slot, args: { fn, args } }) => ({ slot, fn, args }));
      const args = { ...executor, works: attempts };
      return await ctx.scheduler.runAfter(0, internal.executor.execute, args);
    },
  },
  mayStart: async (ctx: MutationCtx, { args }) =>
    !(await isCalledOff(ctx, (args as { token: Token }).token)),
  functionGone: async (ctx: MutationCtx, step, message) => {
    const failed = { step, message: `Its function no longer exists: ${message}` };
    await ctx.runMutation(internal.watchdog.failAttempt, { ...failed, kind: "removedNode" });
  },
  waitedTooLong: async (ctx: MutationCtx, step, what) => {
    const message = `Its action has waited ${what} as long as its \`waitAtMost\` allows`;
    const why = { kind: "timedOut" as const, reason: "waiting" as const, waitedFor: what };
    await ctx.runMutation(internal.watchdog.failAttempt, { step, message, ...why });
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

/* What the watchdog finds in a stale snapshot of this component's tables: see `watchLate.ts`. */

const vLate = v.object({
  /** Rows whose function is probably lost, each with its key in the index. */
  rows: v.array(v.object({ id: v.string(), key: v.array(v.any()) })),
  seen: v.union(v.literal("more"), v.literal("all"), v.literal("none")),
  /** The key of the last row that was read, if there are more. */
  after: v.optional(v.array(v.any())),
});
export type Late = Infer<typeof vLate>;

export const vFound = v.object({
  deadlines: vLate,
  steps: vLate,
  /** When the next step is entered that has no check. */
  nextEntry: v.union(v.number(), v.null()),
});
export type Found = Infer<typeof vFound>;

/** When the next step is entered that has no check: if that is late, only the watchdog sees it. */
export async function nextEntryOf(ctx: QueryCtx): Promise<number | null> {
  const next = await ctx.db
    .query("steps")
    .withIndex("by_check_entry", (q) =>
      q.eq("paused", undefined).eq("check", undefined).gt("entersAt", undefined),
    )
    .first();
  return next?.entersAt ?? null;
}

/** Says whether there is nothing to watch. In an idle pool, the tables themselves are read. */
export async function isQuiet(ctx: QueryCtx, idle: boolean, found: Found): Promise<boolean> {
  const { deadlines, steps, nextEntry } = found;
  const isNone = [deadlines, steps].every(({ seen }) => seen === "none");
  if (!isNone || nextEntry !== null || (await ctx.db.query("setAside").first()) !== null)
    return false;
  return !idle || (await nextEntryOf(ctx)) === null;
}
