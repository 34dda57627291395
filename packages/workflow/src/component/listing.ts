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
import type { Doc, Run, RunId, Step } from "./core/documents.js";
import { isInput, isParent } from "./core/kinds.js";
import { Paths, placeIn } from "./core/paths.js";
import { findRun, runWithId } from "./core/runs.js";
import { hasNotEnded, stepWithId } from "./core/steps.js";
import { tagsOf } from "./core/tags.js";
import {
  type At,
  atStep,
  type Doing,
  placeOfRun,
  stalledSteps,
  vAt,
  vDoing,
} from "./features/doing.js";
import schema from "./schema.js";
import { vError, vRunState, vTags, vTagValue } from "./validators.js";
import { factsOf, LIMITS, nodeFactsOf, nodeFields, pageFields, runFacts } from "./views.js";

export const vListed = v.object({
  ...runFacts,
  /** Of a child: its place among its siblings, and its key where they were given as a record. */
  index: v.optional(v.number()),
  childKey: v.optional(v.string()),
  /** Runs of the top level may have them. */
  tags: v.optional(vTags),
  /** Runs that go on are somewhere; told if that was asked for. */
  at: v.optional(vAt),
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
  /** Says whether to tell of each where it is. */
  places: v.optional(v.boolean()),
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
    return await listed(ctx, indexed().order(key === undefined ? "desc" : "asc"), filter, page);
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
    return await listed(ctx, indexed(), { ...filter, children: true }, page);
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
    return await listed(ctx, open.map(runOf), filter, page);
  },
});

/** Runs of the top level with a tag, the newest first. */
export const tagged = query({
  args: { ...filters, name: v.string(), value: vTagValue, page: paginationOptsValidator },
  returns: vListedPage,
  handler: async (ctx, { name, value, page, ...filter }) => {
    const rows = stream(ctx.db, schema)
      .query("tags")
      .withIndex("by_tag", (q) => q.eq("name", name).eq("value", value))
      .order("desc");
    const runOf = async ({ run }: Doc<"tags">) => await ctx.db.get("runs", run);
    return await listed(ctx, rows.map(runOf), filter, page);
  },
});

/** Where a run is; null unless it goes on. */
export const place = query({
  args: { runId: v.string() },
  returns: v.union(vAt, v.null()),
  handler: async (ctx, { runId }) => {
    const run = await runWithId(ctx, runId);
    return run === null ? null : ((await placeOfRun(ctx, run)) ?? null);
  },
});

const doingArgs = { ...filters, doing: vDoing, page: paginationOptsValidator };

/** Runs that do it, or have a child that does, those that came to it last first. */
export const doing = query({
  args: doingArgs,
  returns: vListedPage,
  handler: async (ctx, { doing, page, ...filter }) =>
    await listedDoing(ctx, doing, filter, page, placeBelow),
});

/** How many runs are counted at most. */
const COUNTED = 100;

/** How many runs of the top level are in a state, or do something; at least so many if `isMore`. */
export const count = query({
  args: { state: v.optional(vRunState), doing: v.optional(vDoing) },
  returns: v.object({ count: v.number(), isMore: v.boolean() }),
  handler: async (ctx, { state, doing }) => {
    const page = { numItems: COUNTED, cursor: null, maximumRowsRead: COUNTED };
    if (doing !== undefined) {
      const found = await listedDoing(ctx, doing, { state }, page, async () => undefined);
      return { count: found.page.length, isMore: !found.isDone };
    }
    const found = await ctx.db
      .query("runs")
      .withIndex("by_root_state", (q) =>
        state === undefined ? q.eq("root", undefined) : q.eq("root", undefined).eq("state", state),
      )
      .take(COUNTED + 1);
    return { count: Math.min(found.length, COUNTED), isMore: found.length > COUNTED };
  },
});

/** Where a step of a run or of one below it is, seen from there. */
type Place = (ctx: QueryCtx, run: Run, step: Step, doing: Doing) => Promise<At | undefined>;
const placeBelow: Place = async (ctx, run, step, doing) => {
  const own = await ctx.db.get("runs", step.run);
  const above = own === null ? undefined : await new Paths(ctx, run, true).of(own);
  if (own === null || above === undefined) return undefined;
  return atStep(above + placeIn(step, own), doing, step);
};

async function listedDoing(
  ctx: QueryCtx,
  doing: Doing,
  filter: Filter,
  page: PaginationOptions,
  place: Place,
) {
  /** A run that does it twice is in a page once. */
  const steps = new Map<RunId, Step>();
  const runOf = async (step: Step) => {
    const own = await ctx.db.get("runs", step.run);
    const isListed = own?.root === undefined || filter.children === true;
    const run = isListed ? own : await ctx.db.get("runs", own.root!);
    if (run === null || steps.has(run._id)) return null;
    steps.set(run._id, step);
    return run;
  };
  const at = async (run: Run) => await place(ctx, run, steps.get(run._id)!, doing);
  if (doing !== "stalled")
    return await listed(ctx, stepsDoing(ctx, doing).map(runOf), filter, page, at);
  const rows: Infer<typeof vListed>[] = [];
  for (const step of await stalledSteps(ctx)) {
    const run = await runOf(step);
    if (run !== null && fits(run, filter)) rows.push(await rowOf(ctx, run, at));
  }
  return { page: rows, isDone: true, continueCursor: "", read: steps.size };
}

/** The steps that do it. A work of the pool that is none of them is passed over. */
function stepsDoing(ctx: QueryCtx, doing: Exclude<Doing, "stalled">): QueryStream<Step> {
  const all = stream(ctx.db, schema);
  const ofWork = async ({ work = "" }: { work?: string }) => {
    const step = await stepWithId(ctx, work);
    return step !== null && hasNotEnded(step) ? step : null;
  };
  if (doing === "queued") return all.query("waiting").order("desc").map(ofWork);
  if (doing === "running")
    return all
      .query("slots")
      .withIndex("by_work", (q) => q.gt("work", ""))
      .map(ofWork);
  const kind = ({ retrying: "action", waitingForEvent: "event", sleeping: "sleep" } as const)[
    doing
  ];
  return all
    .query("steps")
    .withIndex("by_kind_state", (q) => q.eq("kind", kind).eq("state", "waiting"))
    .order("desc");
}

/** @param at tells where a run is. Default: looks for it, if that is asked for */
async function listed(
  ctx: QueryCtx,
  runs: QueryStream<Run>,
  filter: Filter,
  options: PaginationOptions,
  at = async (run: Run) => (filter.places === true ? await placeOfRun(ctx, run) : undefined),
) {
  let read = 0;
  const isListed = async (run: Run) => {
    read++;
    return fits(run, filter);
  };
  const found = await runs.filterWith(isListed).paginate({ ...LIMITS, ...options });
  const page: Infer<typeof vListed>[] = [];
  for (const run of found.page) page.push(await rowOf(ctx, run, at));
  return { page, isDone: found.isDone, continueCursor: found.continueCursor, read };
}

async function rowOf(ctx: QueryCtx, run: Run, at: (run: Run) => Promise<At | undefined>) {
  const ofChild = run.parentRun === undefined ? {} : { index: run.index, childKey: keyShown(run) };
  return { ...factsOf(run), ...ofChild, tags: await tagsOf(ctx, run), at: await at(run) };
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
