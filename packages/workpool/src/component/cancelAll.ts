import { paginator } from "convex-helpers/server/pagination";
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { cancelMany } from "./cancelMany.js";
import { continuationArgs, goOn, goOnWith } from "./continuations.js";
import schema from "./schema.js";

/** How many works a page holds where nothing else is said. */
const DEFAULT_PAGE = 100;
const LARGEST_PAGE = 1_000;

/** So many works are read at once: each comes with its arguments of up to 8 kB, and its context. */
const READ_AT_ONCE = 5;

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
  const upTo = await newestAtMost(ctx, Date.now());
  const next = await cancelPage(ctx, { cursor: null, upTo, limit });
  if (next !== null) await goOn(ctx, internal.cancelAll.nextPage, next);
}

/** Cancels the next page. */
export const nextPage = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Page>(ctx, continuation, (page, failures) => cancelPage(ctx, page, failures)),
});

const MOMENT_MS = 10;

/* A continuation keeps it as a value, and an interface is none: so this is a type. */
type Page = {
  /** Where the page before ended. */
  readonly cursor: string | null;
  /** The `_creationTime` of the newest work to cancel. */
  readonly upTo: number;
  readonly limit: number;
};

/**
 * Works that run stay, marked as canceled: so each page begins behind the one before, wherever that ended, and what a page has left behind
 * is not met again.
 * @param failures how often this page has failed; see `goOnWith`.
 * @returns where the next page begins, or null after the last.
 */
async function cancelPage(
  ctx: MutationCtx,
  { cursor, upTo, limit }: Page,
  failures = 0,
): Promise<Page | null> {
  const size = failures === 0 ? limit : 1;
  let at = cursor;
  for (let done = 0; done < size;) {
    const next = await paginator(ctx.db, schema)
      .query("works")
      .withIndex("by_creation_time", (q) => q.lte("_creationTime", upTo))
      .paginate({ cursor: at, numItems: Math.min(READ_AT_ONCE, size - done) });
    const canceled = await cancelMany(ctx, next.page, failures);
    // What was canceled of these is gone, or marked: to begin at the same place again takes little.
    if (canceled < next.page.length) return { cursor: at, upTo, limit };
    if (next.isDone) return null;
    at = next.continueCursor;
    done += next.page.length;
  }
  return { cursor: at, upTo, limit };
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
