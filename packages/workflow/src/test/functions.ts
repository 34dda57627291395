import { goOnNow, readGate, waitsForLimit } from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { Doc } from "../component/_generated/dataModel.js";
import { mutation, query } from "../component/_generated/server.js";
import { pool } from "../component/core/poolHost.js";
import { isCollecting, isEntry, isTimed } from "../component/core/kinds.js";
import { nameOf, stepWithId } from "../component/core/steps.js";

/* They are mounted beside the component's own functions, in tests only. */

/** What runs wait for that comes with time, and whether anything runs that may begin to wait. */
export const timers = query({
  args: {},
  handler: async (ctx) => {
    const waiting = await ctx.db
      .query("steps")
      .withIndex("by_entry", (q) => q.gt("entersAt", Date.now()))
      .collect();
    const deadlines = await ctx.db.query("deadlines").collect();
    const waits = await ctx.db.query("waits").collect();
    const slots = await ctx.db.query("slots").collect();
    const found = [
      ...waiting
        .filter(({ paused }) => paused !== true)
        .map((step) => ({
          run: step.run,
          node: nameOf(step),
          kind: kindOf(step),
          at: step.entersAt,
        })),
      ...deadlines.map(({ run, stage, called = stage, at }) => {
        return { run, node: called, kind: "timeout" as const, at };
      }),
    ];
    for (const { work, until: at } of waits) {
      const step = await stepWithId(ctx, work);
      if (step !== null)
        found.push({ run: step.run, node: nameOf(step), kind: "waitAtMost" as const, at });
    }
    let isLetOn = false;
    // A rate lets nothing start while the pool is paused.
    const isPaused = (await readGate(ctx))?.maxParallelism === 0;
    for (const { work } of isPaused ? [] : await ctx.db.query("limited").collect()) {
      const step = await stepWithId(ctx, work);
      const { place, nextAt, paused } = (await waitsForLimit(ctx, work)) ?? {};
      const at = paused === undefined ? nextAt : paused.until;
      const kind = paused === undefined ? ("rate" as const) : ("pause" as const);
      // Those behind it go on with it, or after it.
      if (step === null || place !== 1 || at === undefined) continue;
      // Its rate lets it start: that takes a moment.
      if (at <= Date.now()) isLetOn = true;
      else found.push({ run: step.run, node: nameOf(step), kind, at });
    }
    const all = [];
    for (const { run, at = 0, ...timer } of found) {
      const workflow = (await ctx.db.get("runs", run))?.workflow;
      if (workflow !== undefined) all.push({ ...timer, at, runId: String(run), workflow });
    }
    const isBusy = isLetOn || slots.some(({ work }) => work !== undefined);
    return { timers: all, isBusy };
  },
});

/** Returns what the record of a stage waits for. */
function kindOf(step: Doc<"steps">) {
  if (isTimed(step)) return step.kind;
  return isEntry(step) || isCollecting(step) ? "start" : "retry";
}

/** Has works go on that the pool has room for. @returns what there was to do: see `goOnNow`. */
export const goOn = mutation({
  args: {},
  handler: async (ctx) => await goOnNow(ctx, pool),
});

export const started = query({
  args: { workflow: v.string() },
  handler: async (ctx, { workflow }): Promise<string[]> => {
    const found = await ctx.db
      .query("runs")
      .filter((q) => q.eq(q.field("workflow"), workflow))
      .collect();
    // A branch or an item is a part of its run.
    return found.filter(({ within }) => within === undefined).map(({ _id }) => _id);
  },
});
