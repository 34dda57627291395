import { paginator } from "convex-helpers/server/pagination";
import {
  type PaginationOptions,
  paginationOptsValidator,
  type PaginationResult,
  paginationResultValidator,
} from "convex/server";
import { type Infer, type Validator, v, type Value } from "convex/values";
import {
  countsSince,
  logLevelOf,
  NOTHING_COUNTED,
  vCounts,
  vLogLevel,
  vResultKind,
} from "../core/index.js";
import type { Doc } from "./_generated/dataModel.js";
import { query, type QueryCtx } from "./_generated/server.js";
import { publicMutation } from "./continuations.js";
import { isStartLost } from "./delayed.js";
import { loadFields, readFigures } from "./reports.js";
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
  /** Says whether it was canceled while it ran: a failure is not tried again. */
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
  /** Callbacks that threw and are still in the table; 200 means 200 or more. */
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

/** A paginated query. @param read reads a page, of at most {@link LARGEST_PAGE} rows. */
function pagesOf<Found, Row extends Value>(
  row: Validator<Row, "required", any>,
  read: (ctx: QueryCtx, options: PaginationOptions) => Promise<PaginationResult<Found>>,
  show: (ctx: QueryCtx, found: Found) => Promise<Row> | undefined,
) {
  return query({
    args: { paginationOpts: paginationOptsValidator },
    returns: paginationResultValidator(row),
    handler: async (ctx, { paginationOpts }): Promise<PaginationResult<Row>> => {
      const numItems = Math.min(paginationOpts.numItems, LARGEST_PAGE);
      const found = await read(ctx, { ...paginationOpts, numItems });
      const page = found.page.map((each) => show(ctx, each)).filter((shown) => shown !== undefined);
      return { ...found, page: await Promise.all(page) };
    },
  });
}

const rows = (ctx: QueryCtx) => paginator(ctx.db, schema);

/** Works in the queue, the first one first; `at` is since when. */
export const waiting = pagesOf(
  vSeenWork,
  (ctx, page) => rows(ctx).query("waiting").withIndex("by_commit").paginate(page),
  (ctx, { work, _creationTime }) => seenById(ctx, work, _creationTime),
);

/** Works that run, by the number of their slots; `at` is since when. */
export const running = pagesOf(
  vSeenWork,
  (ctx, page) => rows(ctx).query("slots").withIndex("by_number").paginate(page),
  (ctx, { work, startedAt }) => (work === undefined ? undefined : seenById(ctx, work, startedAt)),
);

/** Works that wait for their time or their next attempt, the earliest first; `at` is when. */
export const delayed = pagesOf(
  vDelayedWork,
  (ctx, page) => {
    const works = rows(ctx).query("works");
    return works.withIndex("by_due", (q) => q.gt("due.at", 0)).paginate(page);
  },
  async (ctx, work) => {
    return { ...seen(work, work._id, work.due?.at ?? 0), stalled: await isStartLost(ctx, work) };
  },
);

/** Callbacks that threw, the latest first; `at` is when. Their writes were rolled back. */
export const failedCallbacks = pagesOf(
  vFailedCallback,
  (ctx, page) => rows(ctx).query("failedCallbacks").order("desc").paginate(page),
  async (_ctx, { _id: id, _creationTime: at, fn: _fn, ...rest }) => ({ id, at, ...rest }),
);

/** Deletes the record of a callback that threw. An unknown id changes nothing. */
export const forgetFailedCallback = publicMutation({ id: v.string() }, async (ctx, { id }) => {
  const failed = ctx.db.normalizeId("failedCallbacks", id);
  if (failed !== null && (await ctx.db.get("failedCallbacks", failed)) !== null)
    await ctx.db.delete("failedCallbacks", failed);
});

async function seenById(ctx: QueryCtx, id: string, at: number): Promise<SeenWork> {
  return seen(await findWork(ctx, id), id, at);
}

function seen(work: Doc<"works"> | null, workId: string, at: number): SeenWork {
  const { kind = null, name = null, attempts = 0, canceled = false } = work ?? {};
  return { workId, kind, name, previousAttempts: attempts, at, canceled };
}
