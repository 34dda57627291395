import { v } from "convex/values";
import type { Doc, Id } from "../component/_generated/dataModel.js";
import { query } from "../component/_generated/server.js";
import { childrenFrom } from "../component/core/children.js";
import { isEntry, isInput, isParent, isTimed } from "../component/core/kinds.js";
import { nameOf } from "../component/core/steps.js";

/* Queries of the component's tables. They are mounted beside its own functions, in tests only. */

/** How many runs a page holds; a page of records ends while so many documents can still be read. */
const PAGE = 500;
/** A page of records ends while so much can still be read: the next may hold an output of 1 MiB. */
const ROOM_BYTES = 2 * 1024 * 1024;

/** What runs wait for that comes with time, and whether anything runs that may begin to wait. */
export const timers = query({
  args: {},
  handler: async (ctx) => {
    const waiting = await ctx.db
      .query("steps")
      .withIndex("by_entry", (q) => q.gt("entersAt", Date.now()))
      .collect();
    const deadlines = await ctx.db.query("deadlines").collect();
    const slots = await ctx.db.query("slots").collect();
    const found = [
      ...waiting
        .filter(({ held }) => held !== true)
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
    const all = [];
    for (const { run, at = 0, ...timer } of found) {
      const workflow = (await ctx.db.get("runs", run))?.workflow;
      if (workflow !== undefined) all.push({ ...timer, at, runId: String(run), workflow });
    }
    return { timers: all, isBusy: slots.some(({ work }) => work !== undefined) };
  },
});

/** What the record of a stage waits for. */
function kindOf(step: Doc<"steps">) {
  if (isTimed(step)) return step.kind;
  return isEntry(step) ? "start" : "retry";
}

export const started = query({
  args: { workflow: v.string() },
  handler: async (ctx, { workflow }): Promise<string[]> => {
    const found = await ctx.db
      .query("runs")
      .filter((q) => q.eq(q.field("workflow"), workflow))
      .collect();
    return found.map(({ _id }) => _id);
  },
});

/** The runs that began at a step, in their order, from an index on: a page of them. */
export const children = query({
  args: { stepId: v.string(), from: v.number() },
  handler: async (ctx, { stepId, from }) => {
    const page = await childrenFrom(ctx, stepId as Id<"steps">, from).take(PAGE);
    return page.map(({ _id, index, childKey = String(index), workflow, state }) => {
      return { runId: String(_id), key: childKey, workflow, state };
    });
  },
});

/** The records of runs, a list for each, from a place on. @returns `next` if there are more. */
export const steps = query({
  args: { runs: v.array(v.string()), from: v.object({ run: v.number(), after: v.number() }) },
  handler: async (ctx, { runs, from }) => {
    const lists = [];
    let { run, after } = from;
    for (const runId of runs.slice(run)) {
      const id = ctx.db.normalizeId("runs", runId);
      if (id === null || (await ctx.db.get("runs", id)) === null)
        throw new Error(`There is no run "${runId}"`);
      const list: ReturnType<typeof stepOf>[] = [];
      lists.push(list);
      const all = ctx.db
        .query("steps")
        .withIndex("by_run", (q) => q.eq("run", id).gt("_creationTime", after));
      for await (const step of all) {
        const { bytesRead, documentsRead } = await ctx.meta.getTransactionMetrics();
        if (bytesRead.remaining <= ROOM_BYTES || documentsRead.remaining <= PAGE)
          return { steps: lists, next: { run, after } };
        if (!isInput(step)) list.push(stepOf(step));
        after = step._creationTime;
      }
      run++;
      after = 0;
    }
    return { steps: lists, next: null };
  },
});

function stepOf(step: Doc<"steps">) {
  const { _id, iterations, state, attempt, single } = step;
  const inLoops = iterations === undefined ? "" : ` #${iterations.join(".")}`;
  const attempts = attempt === 1 ? "" : `, ${attempt} attempts`;
  return {
    line: `${nameOf(step)}${inLoops} ${state}${attempts}`,
    /** The record, if runs began there. */
    parent: isParent(step) ? String(_id) : undefined,
    /** It is the one child of a `.child`. */
    single: single === true,
  };
}
