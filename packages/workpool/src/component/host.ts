import { createFunctionHandle } from "convex/server";
import { continueLater, logs, type PoolHost } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { MutationCtx } from "./_generated/server.js";
import { type Delayed, startLate } from "./delayed.js";
import { logStarted } from "./events.js";
import { reportAlong } from "./reports.js";
import { findWork, scheduledArgs } from "./work.js";

export const host: PoolHost = {
  functions: internal.watchdog,
  executes: {
    comeFromOutside: true,
    attemptOf: async (ctx: MutationCtx, { work: id, fn }) => {
      if (fn !== undefined) return null;
      const work = await findWork(ctx, id);
      if (work === null) return null;
      return await scheduledArgs(ctx, work, work.args);
    },
    schedule: async (ctx: MutationCtx, { works, ...executor }) => {
      const attempts = works.map(({ slot, args }) => ({ ...args, slot }));
      const args = { ...executor, works: attempts };
      return await ctx.scheduler.runAfter(0, internal.executor.execute, args);
    },
  },
  runner: async () => await createFunctionHandle(internal.worker.runAction),
  argsOf: async (ctx: MutationCtx, id) => {
    const work = await findWork(ctx, id);
    if (work === null) throw new Error(`The work "${id}" was in the queue, but its record is gone`);
    return await scheduledArgs(ctx, work);
  },
  started: async (ctx: MutationCtx, id) => {
    // The work is read for the log alone.
    const work = (await logs(ctx, "INFO")) ? await findWork(ctx, id) : null;
    if (work !== null) await logStarted(ctx, work);
  },
  lost: async (ctx: MutationCtx, id, slot, why) => {
    const work = await findWork(ctx, id);
    if (work === null) return;
    await ctx.runMutation(internal.recovery.loseAttempt, { id: work._id, slot, why });
  },
  alsoSweep: async (ctx: MutationCtx, idle, found) => {
    const at = await startLate(ctx, idle, (found ?? { lost: [], lastDue: null }) as Delayed);
    // Completions make the reports; this is for when nothing ends, and for the last one of all.
    await reportAlong(ctx, idle);
    return at;
  },
  waitedTooLong: async (ctx: MutationCtx, id, what) => {
    const work = await findWork(ctx, id);
    const ms = work?.waitAtMostMs ?? 0;
    const error = `Timed out waiting: it has waited ${ms} ms ${what}, its waitAtMost`;
    await continueLater(ctx, host, internal.complete.endGone, { id, error });
  },
  // Its callback may use up a transaction, which here is that of others.
  functionGone: async (ctx: MutationCtx, id, error) =>
    void (await continueLater(ctx, host, internal.complete.endGone, { id, error })),
};
