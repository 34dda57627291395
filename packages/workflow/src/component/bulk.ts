import { MAX_MESSAGE_LENGTH } from "./core/log.js";
import { cancelContinuation, leaveRoom, oneOf, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import { paginator } from "convex-helpers/server/pagination";
import { type FunctionHandle, paginationOptsValidator } from "convex/server";
import { v } from "convex/values";
import { describeThrown } from "../errors/failure.js";
import { api, internal } from "./_generated/api.js";
import { mutation, query } from "./_generated/server.js";
import { continuation, continueLater, hasRoomInPage } from "./core/continuations.js";
import type { Doc, Id, MutationCtx, QueryCtx, Run } from "./core/documents.js";
import { LIMITS, MOST_KEPT } from "./core/room.js";
import { findRuns, fits } from "./features/finding.js";
import schema from "./schema.js";
import { bulkArgs, bulkFields } from "./selection.js";
import { pageFields } from "./facts.js";

/* What is done to many runs, in pages: each run that is found by the place where the bulk is. */

type Bulk = Doc<"bulks">;

/** How many runs a page changes. */
const PAGE = 50;
/** How many times fewer runs a page has when it is tried again after a failure, … */
const SMALLER = 7;
/** … and how often it may fail with the first run alone before that is refused. */
const MOST_FAILURES = 3;
/** How many of the newest runs count: it stops if more than half of them were refused. */
const RECENT = 100;
/** How many reasons are told apart: those of the app's schemas may be different for each run. */
const REASONS = 10;
const OTHER_REASONS = "other reasons";
/** How long bulks are kept after their end: whoever starts another removes them. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** What each answers if it was done. */
const DONE = {
  cancel: "canceled",
  pause: "paused",
  resume: "resumed",
  restart: "restarted",
  cleanup: "removed",
} as const;

const vBulk = v.object({ ...bulkFields, bulkId: v.string(), startedAt: v.number() });

function shown({ _id: bulkId, _creationTime, ...bulk }: Bulk) {
  const { continuation: _continuation, recent: _recent, retentionMs: _ms, ...fields } = bulk;
  return { ...fields, bulkId, startedAt: Math.floor(_creationTime) };
}

async function bulkWithId(ctx: QueryCtx, bulkId: string): Promise<Bulk | null> {
  const id = ctx.db.normalizeId("bulks", bulkId);
  return id === null ? null : await ctx.db.get("bulks", id);
}

/** Starts a bulk over the runs that were created before it. */
export const start = mutation({
  args: { ...bulkArgs, retentionMs: v.optional(v.number()) },
  returns: v.string(),
  handler: async (ctx, { where, ...args }) => {
    const old = ctx.db
      .query("bulks")
      .withIndex("by_end", (q) => q.gt("endedAt", 0).lt("endedAt", Date.now() - KEPT_MS));
    for (const { _id } of await old.take(PAGE)) await ctx.db.delete("bulks", _id);
    const none = { done: 0, refused: 0, refusals: [], recent: "" };
    const id = await ctx.db.insert("bulks", { ...args, where, ...none, state: "running" });
    const first = { bulk: id, cursor: null, size: PAGE, pauseMs: 0 };
    const continuation = await continueLater(ctx, internal.bulk.nextPage, first);
    const { _creationTime } = (await ctx.db.get("bulks", id))!;
    const until = Math.min(where.until ?? Infinity, _creationTime);
    await ctx.db.patch("bulks", id, { continuation, where: { ...where, until } });
    return id;
  },
});

export const stop = mutation({
  args: { bulkId: v.string() },
  returns: oneOf("stopped", "ended", "unknown"),
  handler: async (ctx, { bulkId }) => {
    const bulk = await bulkWithId(ctx, bulkId);
    if (bulk === null) return "unknown";
    if (bulk.state !== "running") return "ended";
    if (bulk.continuation !== undefined) await cancelContinuation(ctx, bulk.continuation);
    await ctx.db.patch("bulks", bulk._id, { ...over, state: "stopped", endedAt: Date.now() });
    return "stopped";
  },
});
const over = { continuation: undefined };

export const get = query({
  args: { bulkId: v.string() },
  returns: v.union(vBulk, v.null()),
  handler: async (ctx, { bulkId }) => {
    const bulk = await bulkWithId(ctx, bulkId);
    return bulk === null ? null : shown(bulk);
  },
});

/** Bulks, the newest first, in pages. */
export const list = query({
  args: { page: paginationOptsValidator },
  returns: v.object({ ...pageFields, page: v.array(vBulk) }),
  handler: async (ctx, { page }) => {
    const all = paginator(ctx.db, schema).query("bulks").order("desc");
    const { page: rows, isDone, continueCursor } = await all.paginate({ ...LIMITS, ...page });
    return { page: rows.map(shown), isDone, continueCursor };
  },
});

/* A type and not an interface, as a continuation keeps it as a Convex value. */
type Page = {
  bulk: Id<"bulks">;
  cursor: string | null;
  /** How many runs it changes at most. */
  size: number;
  /** How long to wait before it. */
  pauseMs: number;
};

export const nextPage = continuation<Page>(
  async (ctx, { bulk: id, cursor, size: before }, { failures }) => {
    const bulk = await ctx.db.get("bulks", id);
    if (bulk?.state !== "running") return null;
    const { where, atMost = Infinity, perSecond = Infinity } = bulk;
    const most = Math.floor(before / SMALLER ** failures);
    const size = Math.max(1, Math.min(most, atMost - bulk.done, Math.ceil(perSecond)));
    const options = { cursor, numItems: size, maximumRowsRead: LIMITS.maximumRowsRead };
    // guard: once-in-a-bulk, else () => false
    const isPast = (run: Run) => run.bulks?.includes(id) === true;
    // Who came first is helped first.
    const found = await findRuns(ctx, where, options, { drops: isPast, order: "asc" });
    const tally = new Tally(bulk);
    let come = 0;
    let isCut = false;
    for (const { _id } of found.page) {
      isCut = come === size || (come > 0 && !(await hasRoomInPage(ctx)));
      if (isCut || tally.isHalted) break;
      const run = await ctx.db.get("runs", _id);
      // What was done to another run of this page may have changed it.
      if (run === null || !fits(run, where)) continue;
      const { why, isFull } = failures >= MOST_FAILURES ? HOPELESS : await tried(ctx, bulk, run);
      isCut = isFull === true && come > 0;
      if (isCut) break;
      come += 1;
      tally.add(run._id, why);
      const now = await ctx.db.get("runs", run._id);
      const bulks = [...(now?.bulks ?? []), id].slice(-MOST_KEPT);
      if (now !== null) await ctx.db.patch("runs", run._id, { bulks });
    }
    const isAll = (found.isDone && !isCut) || tally.counts.done >= atMost;
    const state = tally.isHalted ? "halted" : isAll ? "completed" : "running";
    const end = state === "running" ? {} : { ...over, endedAt: Date.now() };
    await ctx.db.patch("bulks", id, { ...tally.counts, state, ...end });
    if (state !== "running") return null;
    // No cursor points into a page: it begins again, without those that have their mark.
    const at = isCut ? cursor : found.continueCursor;
    const pauseMs = Math.ceil((come * 1_000) / perSecond);
    // After a failure it grows again.
    const next = failures > 0 ? size : Math.min(PAGE, 2 * before);
    return { bulk: id, cursor: at, size: next, pauseMs };
  },
  ({ pauseMs }) => pauseMs,
);

const HOPELESS: Tried = { why: "its page has failed again and again" };

/** Does it in a transaction of its own. @returns why not; `isFull` if there may be no room left. */
async function tried(ctx: MutationCtx, bulk: Bulk, run: Run): Promise<Tried> {
  try {
    const answer = await act(ctx, bulk, run);
    return answer === DONE[bulk.do] ? {} : { why: answer };
  } catch (error) {
    const { kind, data, message } = describeThrown(error);
    // What the app throws on purpose has data or a kind; a limit of the platform has neither.
    return { why: message, isFull: kind === "thrown" && data === undefined };
  }
}
type Tried = { why?: string; isFull?: boolean };

async function act(ctx: MutationCtx, { do: verb, from, retentionMs }: Bulk, run: Run) {
  const { _id: runId } = run;
  const limits = { transactionLimits: await leaveRoom(ctx, ROOM_TO_COMPLETE) };
  if (verb === "cleanup") return await ctx.runMutation(api.steering.cleanup, { runId }, limits);
  if (verb !== "restart")
    return await ctx.runMutation(api.steering[verb], { run: { runId } }, limits);
  // Only the app knows the definition, as it is now, and can parse the input.
  const entry = run.entry as FunctionHandle<"mutation", Record<string, unknown>, string>;
  const token = { run: runId, step: "", attempt: 1 };
  const event = { kind: "restart", from, retentionMs };
  const nowhere = { stage: "", scope: null, fuse: false, nested: true };
  return await ctx.runMutation(entry, { token, event, ...nowhere }, limits);
}

/** Counts what became of runs. */
class Tally {
  readonly counts;

  constructor({ done, refused, refusals, recent }: Bulk) {
    this.counts = { done, refused, refusals, recent };
  }

  get isHalted(): boolean {
    return this.counts.recent.replaceAll("+", "").length > RECENT / 2;
  }

  /** @param why it was refused; undefined if it was not. */
  add(runId: string, why: string | undefined): void {
    const { counts } = this;
    counts.recent = (counts.recent + (why === undefined ? "+" : "-")).slice(-RECENT);
    if (why === undefined) return void (counts.done += 1);
    counts.refused += 1;
    const short = why.slice(0, MAX_MESSAGE_LENGTH);
    const same = (of: string) => counts.refusals.find((each) => each.why === of);
    const isMany = counts.refusals.length >= REASONS;
    const known = same(short) ?? (isMany ? same(OTHER_REASONS) : undefined);
    if (known !== undefined) known.count += 1;
    else counts.refusals.push({ why: isMany ? OTHER_REASONS : short, count: 1, runId });
  }
}
