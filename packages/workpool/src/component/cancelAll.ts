import { paginator } from "convex-helpers/server/pagination";
import { v } from "convex/values";
import { hasRoom } from "../core/index.js";
import { internal } from "./_generated/api.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { cancelWork } from "./cancel.js";
import schema from "./schema.js";
import { countWithoutSlot } from "./tallies.js";

/** How many works a page holds where nothing else is said. */
const DEFAULT_PAGE = 100;
const LARGEST_PAGE = 1_000;

/**
 * A page ends early once less than this is left of its transaction: half of the limits, so that the callback of its last work finds as
 * much as callbacks may count on.
 */
const HALF_OF_A_TRANSACTION = {
  bytesRead: 8 << 20,
  bytesWritten: 8 << 20,
  databaseQueries: 2_048,
  documentsRead: 16_000,
  documentsWritten: 8_000,
  functionsScheduled: 500,
  scheduledFunctionArgsBytes: 8 << 20,
};

/**
 * Cancels all works that are there now, a page in this transaction and each further one in its own.
 * @param limit how many works a page holds. Default: 100.
 * @throws where `limit` is no whole number from 1 to 1,000.
 */
export async function cancelEverything(ctx: MutationCtx, limit = DEFAULT_PAGE): Promise<void> {
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_PAGE)
    throw new Error(
      `cancelAll: limit is ${limit}: the size of a page must be a whole number from 1 to ${LARGEST_PAGE}`,
    );
  await cancelPage(ctx, { cursor: null, upTo: await newestAtMost(ctx, Date.now()), limit });
}

/** Cancels the next page. */
export const nextPage = internalMutation({
  args: { cursor: v.union(v.string(), v.null()), upTo: v.number(), limit: v.number() },
  returns: v.null(),
  handler: async (ctx, page): Promise<null> => {
    await cancelPage(ctx, page);
    return null;
  },
});

const MOMENT_MS = 10;

interface Page {
  /** Where the page before ended. */
  readonly cursor: string | null;
  /** The `_creationTime` of the newest work to cancel. */
  readonly upTo: number;
  readonly limit: number;
}

/**
 * Works that run stay, marked as canceled: so each page begins behind the one before, wherever that ended, and what a page has left behind
 * is not met again.
 */
async function cancelPage(ctx: MutationCtx, { cursor, upTo, limit }: Page): Promise<void> {
  let at = cursor;
  let isDone = false;
  let ended = 0;
  for (let i = 0; i < limit && !isDone; i++) {
    if (!(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) break;
    const next = await paginator(ctx.db, schema)
      .query("works")
      .withIndex("by_creation_time", (q) => q.lte("_creationTime", upTo))
      .paginate({ cursor: at, numItems: 1 });
    for (const work of next.page) if (await cancelWork(ctx, work)) ended += 1;
    at = next.continueCursor;
    isDone = next.isDone;
  }
  await countWithoutSlot(ctx, "canceled", ended);
  if (!isDone)
    await ctx.scheduler.runAfter(0, internal.cancelAll.nextPage, { cursor: at, upTo, limit });
}

/**
 * The `_creationTime` of the newest work, or the time if there is none of these ms. Works of the caller's own transaction have that of its beginning,
 * which is also what its clock says; what callbacks enqueue from here on comes after. Looks at a few ms only, and so depends on
 * no enqueue but those of the same moment. (A transaction gives its 1,000 documents times within a ms.)
 */
async function newestAtMost(ctx: MutationCtx, now: number): Promise<number> {
  const newest = await ctx.db
    .query("works")
    .withIndex("by_creation_time", (q) =>
      q.gte("_creationTime", now).lt("_creationTime", now + MOMENT_MS),
    )
    .order("desc")
    .first();
  return newest?._creationTime ?? now;
}
