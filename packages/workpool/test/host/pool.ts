import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import {
  completeWork,
  enqueueWork,
  keepSweeping,
  poolFunctions,
  type PoolHost,
  setMaxParallelism,
  type Work,
} from "../../src/core/index.js";
import { internal } from "./_generated/api.js";
import { internalAction, internalMutation, type MutationCtx } from "./_generated/server.js";
import { recording } from "./recording.js";

/**
 * A small host with all that a host may have. Its works are jobs that take a while, one after the
 * other where they have successors.
 */
export const host: PoolHost = {
  functions: internal.pool,
  functionGone: async (ctx: MutationCtx, work, message) => {
    await ctx.db.insert("gone", { work, message });
  },
  lost: async (ctx: MutationCtx, work, _slot, why) => {
    // What schedules another sweep must not find this one's job: it looks pending, and would be
    // canceled.
    if ((await ctx.db.query("watch").first())?.job !== undefined)
      throw new Error("A sweep that is going on can be canceled");
    if (work.startsWith("poison")) throw new Error("it cannot be recovered");
    await ctx.db.insert("gone", { work, message: why });
  },
  waitedTooLong: async () => {},
  alsoSweep: async (ctx: MutationCtx) => {
    for (const chore of await ctx.db.query("chores").withIndex("by_at").collect()) {
      if (chore.at > Date.now()) return chore.at;
      if (chore.label === "throws") throw new Error("it cannot be seen to");
      await ctx.db.insert("events", { what: "chore", label: chore.label, at: Date.now() });
      await ctx.db.delete("chores", chore._id);
    }
    return null;
  },
};

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
} = poolFunctions(host);

const jobArgs = {
  label: v.string(),
  /** How long it takes; below 0, it never ends. */
  ms: v.number(),
  timeoutMs: v.optional(v.number()),
  /** How many more follow it. */
  more: v.optional(v.number()),
  /** How long the last of those takes. Default: as long as the others. */
  lastMs: v.optional(v.number()),
  /** Says whether it throws, and so never reports. */
  throws: v.optional(v.boolean()),
};
type Job = {
  label: string;
  ms: number;
  timeoutMs?: number;
  more?: number;
  lastMs?: number;
  throws?: boolean;
};

async function workOf(job: Job): Promise<Work> {
  const fn = await createFunctionHandle(internal.pool.run);
  const timeout = job.timeoutMs === undefined ? {} : { timeoutMs: job.timeoutMs };
  return { work: `${job.label}/${job.more ?? 0}`, fn, args: { ...job }, ...timeout };
}

export const enqueue = internalMutation({
  args: jobArgs,
  returns: v.null(),
  handler: async (ctx, job): Promise<null> => {
    await enqueueWork(recording(ctx, "enqueue"), await workOf(job), host);
    return null;
  },
});

/** Has the host something to see to besides its works. */
export const addChore = internalMutation({
  args: { label: v.string(), at: v.number() },
  returns: v.null(),
  handler: async (ctx, chore): Promise<null> => {
    await ctx.db.insert("chores", chore);
    await keepSweeping(recording(ctx, "keepSweeping"), host);
    return null;
  },
});

export const run = internalAction({
  args: { ...jobArgs, slot: v.id("slots") },
  returns: v.null(),
  handler: async (ctx, job): Promise<null> => {
    await ctx.runMutation(internal.pool.note, { what: "start", label: job.label });
    const ms = (job.more ?? 0) === 0 ? (job.lastMs ?? job.ms) : job.ms;
    await new Promise((resolve) => ms >= 0 && setTimeout(resolve, ms));
    if (job.throws === true) throw new Error("it throws");
    await ctx.runMutation(internal.pool.ended, job);
    return null;
  },
});

export const note = internalMutation({
  args: { what: v.string(), label: v.string() },
  returns: v.null(),
  handler: async (ctx, event): Promise<null> => {
    await ctx.db.insert("events", { ...event, at: Date.now() });
    return null;
  },
});

export const ended = internalMutation({
  args: { ...jobArgs, slot: v.id("slots") },
  returns: v.null(),
  handler: async (ctx, { slot, ...job }): Promise<null> => {
    await ctx.db.insert("events", { what: "end", label: job.label, at: Date.now() });
    const { more = 0 } = job;
    const successor = more > 0 ? await workOf({ ...job, more: more - 1 }) : undefined;
    const work = `${job.label}/${more}`;
    await completeWork(recording(ctx, "complete"), host, { work, slot }, successor);
    return null;
  },
});

export const setMax = internalMutation({
  args: { maxParallelism: v.number() },
  returns: v.null(),
  handler: async (ctx, { maxParallelism }): Promise<null> => {
    await setMaxParallelism(ctx, host, maxParallelism);
    return null;
  },
});
