import { paginator } from "convex-helpers/server/pagination";
import { paginationOptsValidator, paginationResultValidator } from "convex/server";
import { type Infer, v } from "convex/values";
import { logLevelOf, vLogLevel } from "../core/index.js";
import { mutation, query } from "./_generated/server.js";
import { countsSince, NOTHING_COUNTED, vCounts } from "./counts.js";
import { readFigures } from "./figures.js";
import { isStartLost } from "./recovery.js";
import schema from "./schema.js";
import { seen, seenById, vDelayedWork, vFailedCallback, vSeenWork } from "./viewsRows.js";

/** So many works are read at once at most: each comes with its arguments of up to 8 kB, and its context. */
const LARGEST_PAGE = 200;

/** A scheduler that is busy is not so late. */
const OVERDUE_MS = 60_000;

const vSummary = v.object({
  maxParallelism: v.number(),
  logLevel: vLogLevel,
  running: v.number(),
  /** Works that are due and wait for a slot; at least so many, if `waitingIsAtLeast`. */
  waiting: v.number(),
  waitingIsAtLeast: v.boolean(),
  /** Works that wait for their time, or for their next attempt; at least so many, if `delayedIsAtLeast`. */
  delayed: v.number(),
  delayedIsAtLeast: v.boolean(),
  /** Of the delayed: those whose time came a minute ago or more, and who still have not started. Not 0 for long: see `lib.repair`. */
  overdue: v.number(),
  /** Since when the first in line waits, and the longest of the running works runs; ms since the epoch. Null where there is none. */
  oldestWaitingSince: v.union(v.number(), v.null()),
  oldestRunningSince: v.union(v.number(), v.null()),
  /** Callbacks that threw, and were not deleted from the table since; at least so many, if there are 200. */
  failedCallbacks: v.number(),
  /** What ended between the last two reports. Null before the first. */
  lastReport: v.union(v.object({ since: v.number(), at: v.number(), ...vCounts.fields }), v.null()),
  /** What has ended since the last report (or, before the first, since the pool was made). */
  sinceReport: v.object({ since: v.union(v.number(), v.null()), ...vCounts.fields }),
});

/**
 * The pool at a glance. It counts up to 1,000 works in line and 200 others of each kind, and says where there are more. Times are absolute: subtract them from now,
 * and divide what ended by the time in which it did, for waits and throughput.
 *
 * For looking at the pool. In a mutation it would conflict with whatever starts and ends.
 */
export const summary = query({
  args: {},
  returns: vSummary,
  handler: async (ctx): Promise<Infer<typeof vSummary>> => {
    const figures = await readFigures(ctx);
    const overdueAt = Date.now() - OVERDUE_MS;
    const last = await ctx.db.query("reports").first();
    const delayed = await ctx.db
      .query("works")
      .withIndex("by_due", (q) => q.gt("due.at", 0))
      .take(LARGEST_PAGE + 1);
    const failed = await ctx.db.query("failedCallbacks").take(LARGEST_PAGE);
    return {
      maxParallelism: figures.maxParallelism,
      logLevel: await logLevelOf(ctx),
      running: figures.running,
      waiting: figures.backlog,
      waitingIsAtLeast: figures.backlogIsAtLeast,
      delayed: Math.min(delayed.length, LARGEST_PAGE),
      delayedIsAtLeast: delayed.length > LARGEST_PAGE,
      overdue: delayed.filter(({ due }) => due !== undefined && due.at <= overdueAt).length,
      oldestWaitingSince: figures.oldestWaitingSince,
      oldestRunningSince: figures.oldestStartAt,
      failedCallbacks: failed.length,
      lastReport: last === null ? null : { since: last.since, at: last.at, ...last.counts },
      sinceReport: {
        since: last?.at ?? figures.madeAt,
        ...countsSince(last?.totals ?? NOTHING_COUNTED, figures.totals),
      },
    };
  },
});

const pageArgs = { paginationOpts: paginationOptsValidator };

/** Works that are due and wait for a slot, the first in line first; `at` is since when. */
export const waiting = query({
  args: pageArgs,
  returns: paginationResultValidator(vSeenWork),
  handler: async (ctx, { paginationOpts }) => {
    const rows = await paginator(ctx.db, schema)
      .query("waiting")
      .withIndex("by_commit")
      .paginate(bounded(paginationOpts));
    const page = rows.page.map((row) => seenById(ctx, row.work, row._creationTime));
    return { ...rows, page: await Promise.all(page) };
  },
});

/** Works that run, by the number of their slots; `at` is since when. */
export const running = query({
  args: pageArgs,
  returns: paginationResultValidator(vSeenWork),
  handler: async (ctx, { paginationOpts }) => {
    const slots = await paginator(ctx.db, schema)
      .query("slots")
      .withIndex("by_number")
      .paginate(bounded(paginationOpts));
    const page = slots.page.flatMap(({ work, startedAt }) =>
      work === undefined ? [] : [seenById(ctx, work, startedAt)],
    );
    return { ...slots, page: await Promise.all(page) };
  },
});

/** Works that wait for their time or for their next attempt, the next to come first; `at` is when. */
export const delayed = query({
  args: pageArgs,
  returns: paginationResultValidator(vDelayedWork),
  handler: async (ctx, { paginationOpts }) => {
    const works = await paginator(ctx.db, schema)
      .query("works")
      .withIndex("by_due", (q) => q.gt("due.at", 0))
      .paginate(bounded(paginationOpts));
    const page = works.page.map(async (work) => ({
      ...seen(work, work.due?.at ?? 0),
      stalled: await isStartLost(ctx, work),
    }));
    return { ...works, page: await Promise.all(page) };
  },
});

/** Callbacks that threw, the latest first; `at` is when. What they wrote was rolled back, and they are not called again. */
export const failedCallbacks = query({
  args: pageArgs,
  returns: paginationResultValidator(vFailedCallback),
  handler: async (ctx, { paginationOpts }) => {
    const failed = await paginator(ctx.db, schema)
      .query("failedCallbacks")
      .order("desc")
      .paginate(bounded(paginationOpts));
    const page = failed.page.map(({ _id, _creationTime, fn: _fn, ...rest }) => ({
      id: _id,
      at: _creationTime,
      ...rest,
    }));
    return { ...failed, page };
  },
});

/** Deletes the record of a callback that threw, once somebody has seen to it. An id that is unknown is left. */
export const forgetFailedCallback = mutation({
  args: { id: v.string() },
  returns: v.null(),
  handler: async (ctx, { id }): Promise<null> => {
    const failed = ctx.db.normalizeId("failedCallbacks", id);
    if (failed !== null && (await ctx.db.get("failedCallbacks", failed)) !== null)
      await ctx.db.delete("failedCallbacks", failed);
    return null;
  },
});

function bounded<Options extends { numItems: number }>(options: Options): Options {
  return { ...options, numItems: Math.min(options.numItems, LARGEST_PAGE) };
}
