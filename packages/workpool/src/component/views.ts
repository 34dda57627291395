import { paginator } from "convex-helpers/server/pagination";
import { paginationOptsValidator, paginationResultValidator } from "convex/server";
import { type Infer, v } from "convex/values";
import { logLevelOf, vCounts, vLogLevel, vResultKind } from "../core/index.js";
import type { Doc } from "./_generated/dataModel.js";
import { mutation, query, type QueryCtx } from "./_generated/server.js";
import { isStartLost } from "./delayed.js";
import { countsSince, loadFields, NOTHING_COUNTED, readFigures } from "./reports.js";
import schema, { vWorkKind } from "./schema.js";
import { findWork } from "./work.js";

/** Works come with arguments of up to 8 kB, and a context. */
const LARGEST_PAGE = 200;

const OVERDUE_MS = 60_000;

/** A work in a list, without its arguments and its context: they may be large, or secret. */
const vSeenWork = v.object({
  workId: v.string(),
  /** Null if its record is gone, which should not happen. */
  kind: v.union(vWorkKind, v.null()),
  name: v.union(v.string(), v.null()),
  previousAttempts: v.number(),
  /** In ms since the epoch; the list says of what. */
  at: v.number(),
  /** Whether it was canceled while it ran: a failure is not tried again. */
  canceled: v.boolean(),
});
type SeenWork = Infer<typeof vSeenWork>;

const vDelayedWork = v.object({
  ...vSeenWork.fields,
  /** Its scheduled start was lost: the watchdog starts it after its time, or `lib.repair`. */
  stalled: v.boolean(),
});

const vFailedCallback = v.object({
  id: v.string(),
  workId: v.string(),
  name: v.optional(v.string()),
  resultKind: vResultKind,
  error: v.string(),
  at: v.number(),
});

const vSummary = v.object({
  ...loadFields,
  logLevel: vLogLevel,
  /** Works that wait for their time or their next attempt; see `delayedIsAtLeast`. */
  delayed: v.number(),
  delayedIsAtLeast: v.boolean(),
  /** Delayed works that are a minute late or more. If it stays above 0, see `lib.repair`. */
  overdue: v.number(),
  /** Callbacks that threw and are still in the table; at least so many, if there are 200. */
  failedCallbacks: v.number(),
  /** What ended between the last two reports. Null before the first. */
  lastReport: v.union(v.object({ since: v.number(), at: v.number(), ...vCounts.fields }), v.null()),
  /** What has ended since the last report (or, before the first, since the pool was made). */
  sinceReport: v.object({ since: v.union(v.number(), v.null()), ...vCounts.fields }),
});

/** The pool at a glance. In a mutation it would conflict with each start and end. */
export const summary = query({
  args: {},
  returns: vSummary,
  handler: async (ctx): Promise<Infer<typeof vSummary>> => {
    const { totals, madeAt, lastStartAt: _last, ...load } = await readFigures(ctx);
    const overdueAt = Date.now() - OVERDUE_MS;
    const last = await ctx.db.query("reports").first();
    const delayed = await ctx.db
      .query("works")
      .withIndex("by_due", (q) => q.gt("due.at", 0))
      .take(LARGEST_PAGE + 1);
    const failed = await ctx.db.query("failedCallbacks").take(LARGEST_PAGE);
    return {
      ...load,
      logLevel: await logLevelOf(ctx),
      delayed: Math.min(delayed.length, LARGEST_PAGE),
      delayedIsAtLeast: delayed.length > LARGEST_PAGE,
      overdue: delayed.filter(({ due }) => due !== undefined && due.at <= overdueAt).length,
      failedCallbacks: failed.length,
      lastReport: last === null ? null : { since: last.since, at: last.at, ...last.counts },
      sinceReport: {
        since: last?.at ?? madeAt,
        ...countsSince(last?.totals ?? NOTHING_COUNTED, totals),
      },
    };
  },
});

const pageArgs = { paginationOpts: paginationOptsValidator };

/** Works in the queue, the first one first; `at` is since when. */
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

/** Works that wait for their time or their next attempt, the earliest first; `at` is when. */
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

/** Callbacks that threw, the latest first; `at` is when. Their writes were rolled back. */
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

/** Deletes the record of a callback that threw. An unknown id changes nothing. */
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

function seen(work: Doc<"works">, at: number): SeenWork {
  const { _id, kind, name, attempts, canceled } = work;
  return {
    workId: _id,
    kind,
    name: name ?? null,
    previousAttempts: attempts,
    at,
    canceled: canceled ?? false,
  };
}

async function seenById(ctx: QueryCtx, id: string, at: number): Promise<SeenWork> {
  const work = await findWork(ctx, id);
  if (work !== null) return seen(work, at);
  return { workId: id, kind: null, name: null, previousAttempts: 0, at, canceled: false };
}
