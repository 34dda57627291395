import { createFunctionHandle } from "convex/server";
import { type ObjectType, v } from "convex/values";
import {
  completeWork,
  enqueueWork,
  poolFunctions,
  type PoolHost,
  setConfig,
  setMaxParallelism,
  type Work,
} from "../../src/core/index.js";
import { internal } from "./_generated/api.js";
import { internalAction, internalMutation, type MutationCtx } from "./_generated/server.js";

const host: PoolHost = {
  functions: internal.chains,
  functionGone: async (ctx, work, message) => {
    await ctx.db.insert("gone", { work, message });
  },
  lost: async () => {},
  waitedTooLong: async () => {},
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

const chainArgs = {
  chain: v.string(),
  link: v.number(),
  length: v.number(),
  ms: v.number(),
  /** Of each work but the first. */
  permits: v.optional(v.array(v.string())),
};

async function workOf(args: ObjectType<typeof chainArgs>) {
  const fn = await createFunctionHandle(internal.chains.link);
  const permits = args.link === 0 ? undefined : args.permits;
  return { work: `${args.chain}/${args.link}`, fn, args, permits } satisfies Work;
}

/** Starts a chain. */
export const start = internalMutation({
  args: chainArgs,
  returns: v.null(),
  handler: async (ctx, args): Promise<null> => {
    await enqueueWork(ctx, await workOf(args), host);
    return null;
  },
});

/** One work of a chain: takes `ms`. */
export const link = internalAction({
  args: { ...chainArgs, slot: v.id("slots") },
  returns: v.null(),
  handler: async (ctx, args): Promise<null> => {
    await ctx.runMutation(internal.chains.began, args);
    await new Promise((resolve) => setTimeout(resolve, args.ms));
    await ctx.runMutation(internal.chains.ended, args);
    return null;
  },
});

export const began = internalMutation({
  args: { ...chainArgs, slot: v.id("slots") },
  returns: v.null(),
  handler: async (ctx, { chain, link, slot }): Promise<null> => {
    await ctx.db.insert("runs", { chain, link, slot, at: Date.now() });
    return null;
  },
});

/** Ends a work, and starts the next of its chain. */
export const ended = internalMutation({
  args: { ...chainArgs, slot: v.id("slots") },
  returns: v.null(),
  handler: async (ctx, { slot, ...args }): Promise<null> => {
    const next = args.link + 1;
    const successor = next < args.length ? await workOf({ ...args, link: next }) : undefined;
    const work = `${args.chain}/${args.link}`;
    await completeWork(refusingGone(ctx), host, { work, slot }, successor);
    return null;
  },
});

/**
 * A deployment refuses to schedule a function that does not exist; convex-test finds out when it
 * runs it.
 */
function refusingGone(ctx: MutationCtx): MutationCtx {
  const runAfter: MutationCtx["scheduler"]["runAfter"] = async (ms, fn, ...args) => {
    if (fn === (GONE as unknown)) throw new Error(`Could not find ${GONE}`);
    return await ctx.scheduler.runAfter(ms, fn, ...args);
  };
  return { ...ctx, scheduler: { ...ctx.scheduler, runAfter } };
}
const GONE = "function://;chains:gone";

/**
 * Enqueues something whose handle is no function's: what a deploy leaves behind that removed one.
 */
export const startGone = internalMutation({
  args: { work: v.string(), permits: v.optional(v.array(v.string())) },
  returns: v.null(),
  handler: async (ctx, { work, permits }): Promise<null> => {
    await enqueueWork(ctx, { work, fn: GONE, args: {}, permits }, host);
    return null;
  },
});

export const setTotals = internalMutation({
  args: { limits: v.record(v.string(), v.object({ total: v.number() })) },
  returns: v.null(),
  handler: async (ctx, config): Promise<null> => {
    await setConfig(ctx, host, config);
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
