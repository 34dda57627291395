import { paginator } from "convex-helpers/server/pagination";
import { mergedStream, stream } from "convex-helpers/server/stream";
import type { IndexRange, PaginationResult } from "convex/server";
import { v, type Infer, type ObjectType } from "convex/values";
import { query, type QueryCtx } from "./_generated/server.js";
import type { Run, RunId } from "./core/documents.js";
import schema from "./schema.js";
import { vPage } from "./timeline.js";
import { vRunState } from "./validators.js";
import { factsOf, runFacts } from "./views.js";

const LIMITS = { maximumRowsRead: 1_000, maximumBytesRead: 4 << 20 };

export const vListed = v.object({
  ...runFacts,
  /** Of a child: its place among its siblings, and its key where they were given as a record. */
  index: v.optional(v.number()),
  childKey: v.optional(v.string()),
});

const vListedPage = v.object({
  page: v.array(vListed),
  isDone: v.boolean(),
  continueCursor: v.string(),
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
interface FromCreation {
  gte(
    field: "_creationTime",
    value: number,
  ): { lt(field: "_creationTime", value: number): IndexRange };
}

/** Runs, the newest first, in pages; those of a key in the order of their keys. */
export const runs = query({
  args: { ...filters, key: v.optional(v.string()), page: vPage },
  returns: vListedPage,
  handler: async (ctx, { page, key, ...filter }) => {
    const { workflow, state, children, since = 0, until = Infinity } = filter;
    const inTime = (q: FromCreation) => q.gte("_creationTime", since).lt("_creationTime", until);
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
    const found = await indexed()
      .order(key === undefined ? "desc" : "asc")
      .filterWith(async (run) => fits(run, filter))
      .paginate({ ...page, ...LIMITS });
    return listed(found);
  },
});

export const children = query({
  args: { ...filters, parent: v.string(), page: vPage },
  returns: vListedPage,
  handler: async (ctx, { parent, page, ...filter }) => {
    const id = ctx.db.normalizeId("runs", parent);
    if (id === null) return { page: [], isDone: true, continueCursor: "" };
    const found = await paginator(ctx.db, schema)
      .query("runs")
      .withIndex("by_parent_run", (q) => q.eq("parentRun", id))
      .filterWith(async (run) => fits(run, { ...filter, children: true }))
      .paginate({ ...page, ...LIMITS });
    return listed(found);
  },
});

export const atStages = query({
  args: { ...filters, stages: v.array(v.string()), page: vPage },
  returns: vListedPage,
  handler: async (ctx, { stages, page, ...filter }) => {
    const atStage = stages.map((stage) =>
      stream(ctx.db, schema)
        .query("steps")
        .withIndex("by_stage", (q) => q.eq("stage", stage).eq("endedAt", undefined))
        .order("desc"),
    );
    const found = await mergedStream(atStage, ["createdAt", "_creationTime"])
      .filterWith(async (step) => (await runAt(ctx, step, filter)) !== null)
      .paginate({ ...page, ...LIMITS });
    const rows: Run[] = [];
    for (const step of found.page) {
      const run = await runAt(ctx, step, filter);
      if (run !== null) rows.push(run);
    }
    return listed({ ...found, page: rows });
  },
});

async function runAt(ctx: QueryCtx, { run: id }: { run: RunId }, filter: Filter) {
  const run = await ctx.db.get("runs", id);
  return run !== null && fits(run, filter) ? run : null;
}

function listed({
  page,
  isDone,
  continueCursor,
}: Pick<PaginationResult<Run>, "page" | "isDone" | "continueCursor">): Infer<typeof vListedPage> {
  const rows = page.map((run) => {
    const ofChild = run.parentRun === undefined ? {} : { index: run.index, childKey: run.childKey };
    return { ...factsOf(run), ...ofChild };
  });
  return { page: rows, isDone, continueCursor };
}
