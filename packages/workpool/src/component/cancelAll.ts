import { paginator } from "convex-helpers/server/pagination";
import { v } from "convex/values";
import * as core from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import { internalMutation, internalQuery, type MutationCtx } from "./_generated/server.js";
import { endWork } from "./complete.js";
import { continuation } from "./continuations.js";
import { cancelDue } from "./delayed.js";
import { countWithoutSlot } from "./reports.js";
import { host } from "./host.js";
import schema from "./schema.js";

const LARGEST_PAGE = 1_000;

/** How many works are read at once: each has up to 8 kB of arguments, and a context. */
const READ_AT_ONCE = 5;

/** Cancels all works that exist now, in pages of `limit`. @throws if it is not from 1 to 1,000. */
export async function cancelEverything(ctx: MutationCtx, limit = core.PAGE): Promise<void> {
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_PAGE)
    throw new Error(
      `cancelAll: limit is ${limit}: the size of a page must be a whole number from 1 to ${LARGEST_PAGE}`,
    );
  const { newest, isBusy } = await ctx.runQuery(
    internal.cancelAll.lookAtWorks,
    {},
    { useStaleSnapshot: true },
  );
  const { nextPage } = internal.cancelAll;
  if (isBusy) {
    await cancelOwn(ctx, limit);
    // It would lose to those that come and go until it is refused. What is scheduled is repeated.
    return void (await core.continueLater(ctx, host, nextPage, { limit }));
  }
  // After the clock went back, works are newer than now.
  const upTo = await newestAtMost(ctx, Math.max(Date.now(), newest));
  const next = await cancelPage(ctx, { upTo, limit });
  if (next !== null) await core.continueLater(ctx, host, nextPage, next);
}

/** Cancels up to `limit` works of this transaction, which would begin as soon as it has committed. */
async function cancelOwn(ctx: MutationCtx, limit: number): Promise<void> {
  const { documentsWritten } = await ctx.meta.getTransactionMetrics();
  // It has none, and conflicts with no enqueue of this moment.
  if (documentsWritten.used === 0) return;
  const now = Date.now();
  let before = now + MOMENT_MS;
  for (let done = 0; done < limit; done += READ_AT_ONCE) {
    const works = await ctx.db
      .query("works")
      .withIndex("by_creation_time", (q) => q.gte("_creationTime", now).lt("_creationTime", before))
      .order("desc")
      .take(Math.min(READ_AT_ONCE, limit - done));
    if ((await cancelMany(ctx, works, 0)) < READ_AT_ONCE) return;
    before = works.at(-1)?._creationTime ?? now;
  }
}

/** If works began, ended or came at several moments so lately, others follow. */
const LATELY_MS = 100;

/**
 * Returns the time of the newest work, and whether works come and go. Read it stale: else it would
 * conflict with each of them.
 */
export const lookAtWorks = internalQuery({
  args: {},
  returns: v.object({ newest: v.number(), isBusy: v.boolean() }),
  handler: async (ctx): Promise<{ newest: number; isBusy: boolean }> => {
    const newest = (await ctx.db.query("works").order("desc").first())?._creationTime ?? 0;
    const since = Date.now() - LATELY_MS;
    const before = await ctx.db
      .query("works")
      .withIndex("by_creation_time", (q) =>
        q.gt("_creationTime", since).lt("_creationTime", newest - MOMENT_MS),
      )
      .first();
    const slots = before === null ? await ctx.db.query("slots").collect() : [];
    const goes = slots.some((slot) => Math.max(slot.startedAt, slot.heldSince) > since);
    return { newest, isBusy: before !== null || goes };
  },
});

export const nextPage = continuation<Page>(cancelPage);

/** The documents of one transaction have times that are some ms later than its own. */
const MOMENT_MS = 10;

/* A type and not an interface, as a continuation keeps it as a Convex value. */
type Page = {
  /** Default: the first one. */
  readonly cursorBack?: string;
  /** The `_creationTime` of the newest work to cancel. Default: that of the continuation. */
  readonly upTo?: number;
  readonly limit: number;
};

/**
 * Cancels a page, a smaller one if it failed before. The newest works come first: whoever starts
 * and ends works takes the oldest, and a page that meets it has to begin again.
 * @returns the next page; null after the last.
 */
async function cancelPage(
  ctx: MutationCtx,
  { cursorBack, limit, ...page }: Page,
  { failures, createdAt } = { failures: 0, createdAt: Infinity },
): Promise<Page | null> {
  // What its caller enqueues afterwards is newer than the row of the continuation.
  // guard: newest-to-cancel, else Infinity
  const upTo = page.upTo ?? createdAt;
  const size = failures === 0 ? limit : 1;
  let at = cursorBack;
  const pageFrom = (from: string | undefined): Page =>
    from === undefined ? { upTo, limit } : { cursorBack: from, upTo, limit };
  for (let done = 0; done < size;) {
    const next = await paginator(ctx.db, schema)
      .query("works")
      .withIndex("by_creation_time", (q) => q.lte("_creationTime", upTo))
      .order("desc")
      .paginate({ cursor: at ?? null, numItems: Math.min(READ_AT_ONCE, size - done) });
    const canceled = await cancelMany(ctx, next.page, failures);
    // The canceled ones of these are gone or marked, so beginning at the same place again is cheap.
    if (canceled < next.page.length) return pageFrom(at);
    if (next.isDone) return null;
    at = next.continueCursor;
    done += next.page.length;
  }
  return pageFrom(at);
}

/** The newest work's time, or now: reading it conflicts only with enqueues of this moment. */
export async function newestAtMost(ctx: MutationCtx, now: number): Promise<number> {
  const newest = await ctx.db
    .query("works")
    .withIndex("by_creation_time", (q) =>
      q.gte("_creationTime", now).lt("_creationTime", now + MOMENT_MS),
    )
    .order("desc")
    .first();
  return newest?._creationTime ?? now;
}

/** Cancels works, or sets them aside. @returns how many: fewer if their callbacks need much. */
async function cancelMany(ctx: MutationCtx, works: readonly Doc<"works">[], failures: number) {
  const [first] = works;
  if (first === undefined) return 0;
  if (failures >= 2) {
    await leaveUncanceled(ctx, first, "its page has failed again and again");
    return 1;
  }
  const ids = works.map((work) => work._id);
  try {
    return await ctx.runMutation(internal.cancelAll.each, { ids });
  } catch {
    // One of them is to blame: the loop below finds it.
  }
  let done = 0;
  for (const work of works) {
    try {
      if ((await ctx.runMutation(internal.cancelAll.each, { ids: [work._id] })) === 0) return done;
    } catch (error) {
      await leaveUncanceled(ctx, work, error);
    }
    done += 1;
  }
  return done;
}

/** Cancels works in a nested transaction: all of those it comes to, or none. @returns how many. */
export const each = internalMutation({
  args: { ids: v.array(v.id("works")) },
  returns: v.number(),
  handler: async (ctx, { ids }): Promise<number> => {
    let done = 0;
    let ended = 0;
    for (const id of ids) {
      if (!(await core.hasRoom(ctx, core.HALF_OF_A_TRANSACTION))) break;
      const work = await ctx.db.get("works", id);
      if (work !== null && (await cancelWork(ctx, work))) ended += 1;
      done += 1;
    }
    await countWithoutSlot(ctx, "canceled", ended);
    return done;
  },
});

/** Sets a work aside that cannot be canceled. One that runs goes on, without another attempt. */
async function leaveUncanceled(ctx: MutationCtx, work: Doc<"works">, error: unknown) {
  const { _id, due } = work;
  await cancelDue(ctx, work);
  const wasWaiting = (await core.leaveQueueCanceled(ctx, host, _id)) !== null;
  if (wasWaiting || due !== undefined) {
    await ctx.db.patch("works", _id, { due: undefined });
    await core.setAside(ctx, _id, `It could not be canceled: ${core.messageOf(error)}`);
  } else if (!(await core.isSetAside(ctx, _id))) {
    await ctx.db.patch("works", _id, { canceled: true });
  }
}

/** Cancels a work: it ends, or its present attempt is the last. @returns if no slot counted it. */
export async function cancelWork(ctx: MutationCtx, work: Doc<"works">): Promise<boolean> {
  const canceled = { kind: "canceled" } as const;
  await cancelDue(ctx, work);
  if (work.due !== undefined || (await core.leaveQueueCanceled(ctx, host, work._id)) !== null) {
    await endWork(ctx, work, undefined, canceled);
    return true;
  }
  await core.takeBack(ctx, work._id);
  const slot = await core.slotOf(ctx, work._id);
  // It was canceled before, while it ran, and still does.
  if (slot !== null && work.canceled === true) return false;
  // Its function may not have begun. If it has ended, and is to be reported, the work goes on.
  if (slot === null || (slot.reporting !== true && (await core.cancelStart(ctx, slot)))) {
    await endWork(ctx, work, slot?._id, canceled);
    return slot === null;
  }
  if (work.canceled !== true) await ctx.db.patch("works", work._id, { canceled: true });
  // guard: asks-back
  await core.askBack(ctx, slot);
  return false;
}
