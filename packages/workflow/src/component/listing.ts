import { paginator } from "convex-helpers/server/pagination";
import { mergedStream, type QueryStream, stream } from "convex-helpers/server/stream";
import {
  type IndexRangeBuilder,
  type PaginationOptions,
  paginationOptsValidator,
} from "convex/server";
import { v, type Infer, type ObjectType } from "convex/values";
import { query, type QueryCtx } from "./_generated/server.js";
import { keyShown } from "./core/children.js";
import type { Run, Step } from "./core/documents.js";
import { isInput, isParent } from "./core/kinds.js";
import { findRun } from "./core/runs.js";
import schema from "./schema.js";
import { vError, vRunState } from "./validators.js";
import { factsOf, LIMITS, nodeFactsOf, nodeFields, pageFields, runFacts } from "./views.js";

export const vListed = v.object({
  ...runFacts,
  /** Of a child: its place among its siblings, and its key where they were given as a record. */
  index: v.optional(v.number()),
  childKey: v.optional(v.string()),
});

const vListedPage = v.object({
  ...pageFields,
  page: v.array(vListed),
  /** How many runs were read for it: a filter without an index drops some. */
  read: v.number(),
});

const filters = {
  workflow: v.optional(v.string()),
  state: v.optional(vRunState),
  /** Those that did not start under the plan of this hash. */
  notOfPlan: v.optional(v.string()),
  /** Those that were created from then on, and those before then; ms since the epoch. */
  since: v.optional(v.number()),
  until: v.optional(v.number()),
  children: v.optional(v.boolean()),
};
type Filter = ObjectType<typeof filters>;

function fits(run: Run, { workflow, state, notOfPlan, children, ...time }: Filter): boolean {
  const { since = 0, until = Infinity } = time;
  return (
    run._creationTime >= since &&
    run._creationTime < until &&
    (workflow === undefined || run.workflow === workflow) &&
    (state === undefined || run.state === state) &&
    (notOfPlan === undefined || run.plan !== notOfPlan) &&
    (children === true || run.root === undefined)
  );
}

/** The rest of an index: every one ends with the time of creation. */
type FromCreation = Pick<IndexRangeBuilder<Run, ["_creationTime"]>, "gte">;
const within =
  ({ since = 0, until = Infinity }: Filter) =>
  (q: FromCreation) =>
    q.gte("_creationTime", since).lt("_creationTime", until);

/** Runs, the newest first, in pages; those of a key in the order of their keys. */
export const runs = query({
  args: { ...filters, key: v.optional(v.string()), page: paginationOptsValidator },
  returns: vListedPage,
  handler: async (ctx, { page, key, ...filter }) => {
    const { workflow, state, children } = filter;
    const inTime = within(filter);
    const all = paginator(ctx.db, schema).query("runs");
    const indexed = () => {
      if (key !== undefined)
        return all.withIndex("by_key", (q) =>
          q.eq("workflow", workflow!).gte("startKey", key).lt("startKey", `${key}\u{10ffff}`),
        );
      if (children === true) return all.withIndex("by_creation_time", inTime);
      if (workflow === undefined && state === undefined)
        return all.withIndex("by_root", (q) => inTime(q.eq("root", undefined)));
      if (workflow === undefined)
        return all.withIndex("by_root_state", (q) =>
          inTime(q.eq("root", undefined).eq("state", state!)),
        );
      if (state === undefined)
        return all.withIndex("by_root_workflow", (q) =>
          inTime(q.eq("root", undefined).eq("workflow", workflow)),
        );
      return all.withIndex("by_root_workflow_state", (q) =>
        inTime(q.eq("root", undefined).eq("workflow", workflow).eq("state", state)),
      );
    };
    return await listed(indexed().order(key === undefined ? "desc" : "asc"), filter, page);
  },
});

/** @param parent the id of a run, or of one of its records of children */
export const children = query({
  args: { ...filters, parent: v.string(), page: paginationOptsValidator },
  returns: vListedPage,
  handler: async (ctx, { parent, page, ...filter }) => {
    const step = ctx.db.normalizeId("steps", parent);
    const run = ctx.db.normalizeId("runs", parent);
    if ((run ?? step) === null) return { page: [], isDone: true, continueCursor: "", read: 0 };
    const all = paginator(ctx.db, schema).query("runs");
    const indexed = () => {
      if (step === null)
        return all.withIndex("by_parent_run", (q) => within(filter)(q.eq("parentRun", run!)));
      const { state } = filter;
      return state === undefined
        ? all.withIndex("by_parent", (q) => q.eq("parentStep", step))
        : all.withIndex("by_parent_state", (q) => q.eq("parentStep", step).eq("state", state));
    };
    return await listed(indexed(), { ...filter, children: true }, page);
  },
});

export const atStages = query({
  args: { ...filters, stages: v.array(v.string()), page: paginationOptsValidator },
  returns: vListedPage,
  handler: async (ctx, { stages, page, ...filter }) => {
    const atStage = stages.map((stage) =>
      stream(ctx.db, schema)
        .query("steps")
        .withIndex("by_stage", (q) => q.eq("stage", stage).eq("endedAt", undefined))
        .order("desc"),
    );
    const open = mergedStream(atStage, ["createdAt", "_creationTime"]);
    const runOf = async ({ run }: Step) => await ctx.db.get("runs", run);
    return await listed(open.map(runOf), filter, page);
  },
});

async function listed(runs: QueryStream<Run>, filter: Filter, options: PaginationOptions) {
  let read = 0;
  const isListed = async (run: Run) => {
    read++;
    return fits(run, filter);
  };
  const found = await runs.filterWith(isListed).paginate({ ...LIMITS, ...options });
  const page = found.page.map((run) => {
    const ofChild =
      run.parentRun === undefined ? {} : { index: run.index, childKey: keyShown(run) };
    return { ...factsOf(run), ...ofChild };
  });
  return { page, isDone: found.isDone, continueCursor: found.continueCursor, read };
}

const vRecord = v.object({
  ...nodeFields,
  /** Of children: to list them by. */
  id: v.optional(v.string()),
  /** It is a `.child`. */
  single: v.optional(v.boolean()),
  stage: v.string(),
  generation: v.number(),
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
  /** Absent if there is none, and if it is not to be shown. */
  output: v.optional(v.any()),
  sensitive: v.boolean(),
  undone: v.boolean(),
  paused: v.boolean(),
});

/** A run's step records in the order in which they began, in pages; null for an unknown run. */
export const steps = query({
  args: { runId: v.string(), workflow: v.optional(v.string()), page: paginationOptsValidator },
  returns: v.union(
    v.object({
      state: vRunState,
      error: v.optional(vError),
      generation: v.number(),
      within: v.optional(v.string()),
      ...pageFields,
      records: v.array(vRecord),
    }),
    v.null(),
  ),
  handler: async (ctx, { runId, workflow, page }) => {
    const run = await findRun(ctx, { runId }, workflow);
    if (run === null) return null;
    const { generation = 1, state, error, within } = run;
    const found = await paginator(ctx.db, schema)
      .query("steps")
      .withIndex("by_run", (q) => q.eq("run", run._id))
      .paginate({ ...LIMITS, ...page });
    const records: Infer<typeof vRecord>[] = [];
    for (const step of found.page) if (!isInput(step)) records.push(await recordOf(ctx, step));
    const { isDone, continueCursor } = found;
    return { state, error, generation, within, records, isDone, continueCursor };
  },
});

async function recordOf(ctx: QueryCtx, step: Step): Promise<Infer<typeof vRecord>> {
  const sensitive = step.sensitive === true;
  const hasEnded = step.endedAt !== undefined;
  return {
    ...(await nodeFactsOf(ctx, step)),
    id: isParent(step) ? step._id : undefined,
    single: step.single,
    stage: step.stage,
    generation: step.generation ?? 1,
    startedAt: step.startedAt,
    endedAt: step.endedAt,
    // The state of a loop that goes on, or has failed, is no result.
    output: step.state === "completed" && !sensitive ? step.output : undefined,
    sensitive,
    undone: step.undone === true,
    paused: step.paused === true && !hasEnded,
  };
}
