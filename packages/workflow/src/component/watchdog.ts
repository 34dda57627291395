import * as core from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { type Infer, v } from "convex/values";
import { internalAction, internalMutation, internalQuery } from "./_generated/server.js";
import { voidMutation } from "./core/continuations.js";
import { pool } from "./core/pool.js";
import { vFound } from "./core/watched.js";
import { attemptFailed } from "./engine/entry.js";
import {
  findLate,
  watchContinuations,
  watchDeadlines,
  watchEntries,
  watchSetAside,
} from "./features/watch.js";
import { vErrorKind } from "./validators.js";

/* The pool's watchdog, registered in this component: it finds actions that will never report. */

export const sweep = voidMutation(core.sweepArgs, async (ctx, args) => {
  await core.sweepSlots(ctx, pool, args);
});

export const inspect = internalQuery({
  args: core.inspectArgs,
  returns: core.vInspected,
  handler: async (ctx, args) => {
    const seen = await core.inspectSlots(ctx, args);
    return seen.next === null ? { ...seen, added: await findLate(ctx) } : seen;
  },
});

export const recover = internalMutation({
  args: core.recoverArgs,
  returns: v.boolean(),
  handler: async (ctx, suspect) => await core.recoverSlot(ctx, pool, suspect),
});

/** What the pool's watchdog also checks. @returns when to check again; null if nothing is left. */
export const watchAll = internalMutation({
  args: { idle: v.boolean(), found: vFound },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { idle, found }): Promise<number | null> => {
    const times = [
      await watchDeadlines(ctx, found),
      await watchContinuations(ctx, idle, found),
      await watchSetAside(ctx),
      await watchEntries(ctx, idle, found),
    ];
    const wanted = times.filter((at) => at !== null);
    return wanted.length === 0 ? null : Math.min(...wanted);
  },
});

export const failAttempt = voidMutation(
  { step: v.string(), kind: vErrorKind, message: v.string() },
  async (ctx, { step, kind, message }) => await attemptFailed(ctx, step, kind, message),
);

export const queueHead = internalQuery({
  args: { count: v.number() },
  returns: v.array(v.id("waiting")),
  handler: core.queueHead,
});

export const freeSlots = internalQuery({
  args: core.freeSlotArgs,
  returns: v.union(core.vFreeSlots, v.null()),
  handler: core.freeSlotsFrom,
});

/** A round of the pool's drain: it gives free slots to works in the queue. */
export const drainQueue = voidMutation(core.drainArgs, async (ctx, args) => {
  await core.drainQueue(ctx, pool, args);
});

/** Runs several actions in one scheduled function, where the scheduler has few places. */
export const carry = internalAction({
  args: core.carryArgs,
  returns: v.null(),
  handler: async (ctx, first): Promise<null> => {
    await core.carryWorks(ctx, pool, first, async (fn, args) => {
      await ctx.runAction(fn as FunctionHandle<"action">, args);
    });
    return null;
  },
});

export const take = internalMutation({
  args: core.takeArgs,
  returns: v.array(core.vCarried),
  handler: async (ctx, args): Promise<Infer<typeof core.vCarried>[]> =>
    await core.takeWorks(ctx, pool, args),
});

/** Slots with works that a carrier may take, read from a stale snapshot. */
export const toTake = internalQuery({
  args: { count: v.number() },
  returns: v.array(v.id("slots")),
  handler: core.slotsToTake,
});
