import { v, type Infer } from "convex/values";
import type { Doc } from "../component/_generated/dataModel.js";
import { query, type QueryCtx } from "../component/_generated/server.js";
import { nameOf } from "../component/core/steps.js";
import { vPass, vRunState, vStepState } from "../component/validators.js";

/* Looks into the component's tables. They are mounted beside its own functions, in tests only. */

/** How many runs a page reads; and so many documents may still be read where a page of records goes on. */
const PAGE = 500;
/** A page ends where so little may still be read: the next record may hold an output of 1 MiB. */
const ROOM_BYTES = 2 * 1024 * 1024;

const vTimer = v.object({
  kind: v.union(
    v.literal("sleep"),
    v.literal("event"),
    v.literal("retry"),
    v.literal("start"),
    v.literal("timeout"),
  ),
  runId: v.string(),
  workflow: v.string(),
  node: v.optional(v.string()),
  at: v.number(),
});

/** What runs wait for that comes with time, in no order, and whether anything is under way that may come to wait. */
export const timers = query({
  args: {},
  returns: v.object({ timers: v.array(vTimer), isBusy: v.boolean() }),
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
          kind: KINDS[step.kind],
          at: step.entersAt ?? 0,
        })),
      ...deadlines.map(({ run, stage, called: node = stage, at }) => ({
        run,
        node,
        kind: "timeout" as const,
        at,
      })),
    ];
    const timers: Infer<typeof vTimer>[] = [];
    for (const { run, ...timer } of found) {
      const workflow = (await ctx.db.get("runs", run))?.workflow;
      if (workflow !== undefined) timers.push({ ...timer, runId: run, workflow });
    }
    return { timers, isBusy: slots.some(({ work }) => work !== undefined) };
  },
});

/** What it is that a record of a kind waits for. */
const KINDS = {
  input: "start",
  entry: "start",
  branch: "start",
  loop: "start",
  sleep: "sleep",
  event: "event",
  action: "retry",
  mutation: "retry",
  query: "retry",
  children: "retry",
} as const;

const vRun = v.object({
  runId: v.id("runs"),
  index: v.number(),
  key: v.optional(v.string()),
  workflow: v.string(),
  state: vRunState,
});
export type TimelineRun = Infer<typeof vRun>;

const vStep = v.object({
  stepId: v.id("steps"),
  stage: v.string(),
  pass: v.optional(vPass),
  state: vStepState,
  attempt: v.number(),
  /** It is the one child of a `.child`. */
  single: v.boolean(),
  hasChildren: v.boolean(),
});
export type TimelineStep = Infer<typeof vStep>;

/** The runs of a workflow, children too, in the order in which they were created. */
export const started = query({
  args: { workflow: v.string() },
  returns: v.array(v.id("runs")),
  handler: async (ctx, { workflow }) => {
    const found = await ctx.db
      .query("runs")
      .filter((q) => q.eq(q.field("workflow"), workflow))
      .collect();
    return found.map(({ _id }) => _id);
  },
});

/** One run. @throws where there is none. */
export const run = query({
  args: { runId: v.string() },
  returns: vRun,
  handler: async (ctx, { runId }) => {
    const id = ctx.db.normalizeId("runs", runId);
    const found = id === null ? null : await ctx.db.get("runs", id);
    if (found === null) throw new Error(`There is no run "${runId}"`);
    return runOf(found);
  },
});

/** The runs that began at a step, in their order, from an index on: a page of them. */
export const children = query({
  args: { stepId: v.id("steps"), from: v.number() },
  returns: v.array(vRun),
  handler: async (ctx, { stepId, from }) => {
    const page = await ctx.db
      .query("runs")
      .withIndex("by_parent", (q) => q.eq("parentStep", stepId).gte("index", from))
      .take(PAGE);
    return page.map(runOf);
  },
});

function runOf({ _id, index, childKey, workflow, state }: Doc<"runs">): TimelineRun {
  return { runId: _id, index, key: childKey, workflow, state };
}

const vPlace = v.object({
  /** The run in the list that is next … */
  run: v.number(),
  /** … and the creation time of the last of its records that was read. */
  after: v.number(),
});

/** The records of runs, one list for each of the list, in the order in which they began. @returns `next` where there are more. */
export const steps = query({
  args: { runs: v.array(v.id("runs")), from: vPlace },
  returns: v.object({ steps: v.array(v.array(vStep)), next: v.union(vPlace, v.null()) }),
  handler: async (ctx, { runs, from }) => {
    const lists: TimelineStep[][] = [];
    let { run, after } = from;
    for (const id of runs.slice(run)) {
      const list: TimelineStep[] = [];
      lists.push(list);
      const all = ctx.db
        .query("steps")
        .withIndex("by_run", (q) => q.eq("run", id).gt("_creationTime", after));
      for await (const step of all) {
        if (!(await hasRoom(ctx))) return { steps: lists, next: { run, after } };
        if (step.kind !== "input") list.push(stepOf(step));
        after = step._creationTime;
      }
      run++;
      after = 0;
    }
    return { steps: lists, next: null };
  },
});

function stepOf(step: Doc<"steps">): TimelineStep {
  const { _id, pass, state, attempt, single, kind } = step;
  return {
    stepId: _id,
    stage: nameOf(step),
    pass,
    state,
    attempt,
    single: single === true,
    hasChildren: kind === "children",
  };
}

async function hasRoom(ctx: QueryCtx): Promise<boolean> {
  const { bytesRead, documentsRead } = await ctx.meta.getTransactionMetrics();
  return bytesRead.remaining > ROOM_BYTES && documentsRead.remaining > PAGE;
}
