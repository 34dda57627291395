import { v } from "convex/values";
import {
  drainArgs,
  drainQueue as drainPoolQueue,
  freeSlotArgs,
  freeSlotsFrom,
  vFreeSlots,
  queueHead as poolQueueHead,
  logs,
  type PoolHost,
} from "../core/index.js";
import { internal } from "./_generated/api.js";
import { internalQuery, type MutationCtx } from "./_generated/server.js";
import { reviveContinuations, voidMutation } from "./continuations.js";
import { countWithoutSlot } from "./counts.js";
import { startLate } from "./delayed.js";
import { logCompleted, logStarted } from "./events.js";
import { reportAlong } from "./reports.js";
import { argsOfWork, callBack, findWork, removeWork, scheduledArgs } from "./work.js";

/** What the pool's core needs of this component. */
export const host: PoolHost = {
  queueHead: internal.host.queueHead,
  freeSlots: internal.host.freeSlots,
  drainQueue: internal.host.drainQueue,
  carriers: {
    carry: internal.worker.carry,
    take: internal.worker.take,
    toTake: internal.worker.toTake,
  },
  argsOf: async (ctx: MutationCtx, id) => {
    const work = await findWork(ctx, id);
    if (work === null) throw new Error(`The work "${id}" was in the queue, but its record is gone`);
    return scheduledArgs(work, await argsOfWork(ctx, work));
  },
  started: async (ctx: MutationCtx, id) => {
    // The work is read for the log alone.
    const work = (await logs(ctx, "INFO")) ? await findWork(ctx, id) : null;
    if (work !== null) await logStarted(ctx, work);
  },
  watch: {
    sweep: internal.watchdog.sweep,
    inspect: internal.watchdog.inspect,
    recover: internal.watchdog.recover,
    lost: async (ctx: MutationCtx, id, slot, why) => {
      const work = await findWork(ctx, id);
      if (work === null) return;
      await ctx.runMutation(internal.recovery.loseAttempt, { id: work._id, slot, why });
    },
    alsoSweep: async (ctx: MutationCtx, idle) => {
      const { findLost } = internal.watchdog;
      const seen = await ctx.runQuery(findLost, {}, { useStaleSnapshot: true });
      const times = [await startLate(ctx, idle, seen.delayed)];
      // Completions make the reports; this is for when nothing ends, and for the last one of all.
      await reportAlong(ctx, idle);
      // Last, as the calls above may begin a continuation.
      times.push(await reviveContinuations(ctx, idle, seen.continued));
      const wanted = times.filter((time) => time !== null);
      return wanted.length === 0 ? null : Math.min(...wanted);
    },
  },
  functionGone: async (ctx: MutationCtx, id, message) => {
    const work = await findWork(ctx, id);
    if (work === null) return;
    const context = await removeWork(ctx, work);
    await countWithoutSlot(ctx, "failed");
    await logCompleted(ctx, work, "failed", work.attempts);
    await callBack(ctx, work, context, { kind: "failed", error: message });
  },
};

/** The oldest waiting works, for reading from a stale snapshot. */
export const queueHead = internalQuery({
  args: { count: v.number() },
  returns: v.array(v.id("waiting")),
  handler: poolQueueHead,
});

/** Free slots, for reading from a stale snapshot. */
export const freeSlots = internalQuery({
  args: freeSlotArgs,
  returns: v.union(vFreeSlots, v.null()),
  handler: freeSlotsFrom,
});

/** A round of the drain: gives free slots to works in the queue. */
export const drainQueue = voidMutation(drainArgs, async (ctx, args) => {
  await drainPoolQueue(ctx, host, args);
});
