import { costOf } from "@stepwise/workpool/core";
import { paginator } from "convex-helpers/server/pagination";
import { paginationOptsValidator } from "convex/server";
import { v, type Infer } from "convex/values";
import { query, type QueryCtx } from "./_generated/server.js";
import { keyShown } from "./core/childRuns.js";
import type { Doc, Run, Step } from "./core/documents.js";
import { briefInput } from "./core/input.js";
import { isInput, isParent } from "./core/kinds.js";
import { Paths, placeIn } from "./core/paths.js";
import { hasRoomToRead, LIMITS, MOST_COUNTED, MOST_KEPT } from "./core/room.js";
import { findRun, runWithId } from "./core/runs.js";
import { stepWithId } from "./core/steps.js";
import { tagsOf } from "./core/tags.js";
import { collectingOf, vCollecting } from "./core/collected.js";
import { vWaiting, waitingOf } from "./core/turns.js";
import { type At, atStep, placeOfRun, vAt } from "./features/doing.js";
import { findRuns } from "./features/finding.js";
import schema from "./schema.js";
import { whereFields } from "./selection.js";
import { type Doing, vError, vPermits, vRunState, vTags } from "./validators.js";
import { factsOf, nodeFactsOf, nodeFields, pageFields, runFacts } from "./facts.js";

const vListed = v.object({
  ...runFacts,
  /** A child's place among its siblings, and its key if they were given as a record. */
  index: v.optional(v.number()),
  childKey: v.optional(v.string()),
  /** Runs of the top level may have them. */
  tags: v.optional(vTags),
  waitsFor: v.optional(vWaiting),
  collecting: v.optional(vCollecting),
  /** The beginning of the input as JSON, if that is small and the run has no key and no tags. */
  input: v.optional(v.string()),
  /** Runs that go on are somewhere; told if that was asked for. */
  at: v.optional(vAt),
});

const vListedPage = v.object({
  ...pageFields,
  page: v.array(vListed),
  /** How many runs were read for it: a filter without an index drops some. */
  read: v.number(),
});

/** Runs, the newest first, in pages; those of a key in the order of their keys. */
export const runs = query({
  args: {
    ...whereFields,
    /** Says whether to tell of each where it is. Those that were found by what they do tell it. */
    places: v.optional(v.boolean()),
    page: paginationOptsValidator,
  },
  returns: vListedPage,
  handler: async (ctx, { page: options, places, ...where }) => {
    const { page, steps, ...found } = await findRuns(ctx, where, options);
    const { doing } = where;
    const at = async (run: Run) => {
      if (doing !== undefined) return await placeBelow(ctx, run, steps.get(run._id)!, doing);
      return places === true ? await placeOfRun(ctx, run) : undefined;
    };
    const rows: Infer<typeof vListed>[] = [];
    const isAsked = places === true || doing !== undefined;
    for (const run of page) {
      const told =
        isAsked && (await hasRoomToRead(ctx))
          ? { waitsFor: await waitingOf(ctx, run), collecting: await collectingOf(ctx, run) }
          : {};
      rows.push({ ...(await rowOf(ctx, run, await at(run))), ...told });
    }
    return { ...found, page: rows };
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

/** How many runs are found; at least so many if `isMore`. */
export const count = query({
  args: { ...whereFields, upTo: v.optional(v.number()) },
  returns: v.object({ count: v.number(), isMore: v.boolean() }),
  handler: async (ctx, { upTo = MOST_COUNTED, ...where }) => {
    // Of what runs do, a page of the last ones is rarely the last.
    const numItems = where.doing === undefined ? upTo + 1 : upTo;
    const page = { numItems, cursor: null, maximumRowsRead: numItems };
    const { page: found, isDone } = await findRuns(ctx, where, page);
    const isMore = found.length > upTo || !isDone;
    return { count: Math.min(found.length, upTo), isMore };
  },
});

/** Counts what is queued by the workflow of the run at the top, and by the permits it needs. */
const vQueued = v.object({
  workflow: v.string(),
  permits: vPermits,
  count: v.number(),
  /** Since when the first of them waits. */
  since: v.number(),
});

type Waits = "work" | "permits" | "_creationTime";

/** What the pool is busy with: steps that hold slots, the oldest first, and the queue. */
export const poolUse = query({
  args: {},
  returns: v.object({
    holders: v.array(
      v.object({ runId: v.string(), workflow: v.string(), path: v.string(), since: v.number() }),
    ),
    queue: v.array(vQueued),
    /** What waits for a limit, and is not in the queue meanwhile. */
    limited: v.array(vQueued),
    /** Only the first ones were counted, of either. */
    isMore: v.boolean(),
  }),
  handler: async (ctx) => {
    const placed = async (work = "") => {
      const step = await stepWithId(ctx, work);
      const own = step === null ? null : await ctx.db.get("runs", step.run);
      const top = own?.root === undefined ? own : await ctx.db.get("runs", own.root);
      return step === null || top === null ? undefined : { step, top };
    };
    const held = (await ctx.db.query("slots").collect()).filter(({ work }) => work !== undefined);
    held.sort((one, other) => (one.startedAt ?? 0) - (other.startedAt ?? 0));
    const holders = [];
    for (const { work, startedAt: since = 0 } of held.slice(0, MOST_KEPT)) {
      const found = await placed(work);
      const at = found && (await placeBelow(ctx, found.top, found.step, "running"));
      if (found === undefined || at === undefined) continue;
      const { _id: runId, workflow } = found.top;
      holders.push({ runId, workflow, path: at.path, since });
    }
    const grouped = async (rows: readonly Pick<Doc<"waiting">, Waits>[]) => {
      const groups = new Map<string, Infer<typeof vQueued>>();
      for (const { work, permits: needs, _creationTime: since } of rows.slice(0, MOST_COUNTED)) {
        const permits = needs?.filter((each) => costOf(each) === undefined);
        const { workflow } = (await placed(work))?.top ?? {};
        if (workflow === undefined) continue;
        const name = JSON.stringify([workflow, permits]);
        const group = groups.get(name) ?? { workflow, permits, count: 0, since };
        groups.set(name, { ...group, count: group.count + 1 });
      }
      return [...groups.values()];
    };
    const queued = await ctx.db
      .query("waiting")
      .withIndex("by_commit")
      .take(MOST_COUNTED + 1);
    const limited = await ctx.db.query("limited").take(MOST_COUNTED + 1);
    const isMore = Math.max(queued.length, limited.length) > MOST_COUNTED;
    return { holders, queue: await grouped(queued), limited: await grouped(limited), isMore };
  },
});

/** Returns where a step of a run or of one below it is, seen from there. */
async function placeBelow(ctx: QueryCtx, run: Run, step: Step, doing: Doing) {
  const own = await ctx.db.get("runs", step.run);
  const above = own === null ? undefined : await new Paths(ctx, run, true).of(own);
  if (own === null || above === undefined) return undefined;
  return atStep(above + placeIn(step, own), doing, step);
}

async function rowOf(ctx: QueryCtx, run: Run, at: At | undefined) {
  const ofChild = run.parentRun === undefined ? {} : { index: run.index, childKey: keyShown(run) };
  const tags = await tagsOf(ctx, run);
  const isNamed = run.startKey !== undefined || tags !== undefined;
  return { ...factsOf(run), ...ofChild, tags, input: isNamed ? undefined : briefInput(run), at };
}

const vRecord = v.object({
  ...nodeFields,
  /** What children are listed by. */
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

/** Finds out which of some stages a run has come to, in whatever iteration. */
export const reached = query({
  args: { runId: v.string(), workflow: v.optional(v.string()), stages: v.array(v.string()) },
  returns: v.array(v.string()),
  handler: async (ctx, { runId, workflow, stages }) => {
    const run = await findRun(ctx, { runId }, workflow);
    const found: string[] = [];
    if (run === null) return found;
    for (const stage of stages) {
      const records = ctx.db
        .query("steps")
        .withIndex("by_run_stage", (q) => q.eq("run", run._id).eq("stage", stage));
      if ((await records.first()) !== null) found.push(stage);
    }
    return found;
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
