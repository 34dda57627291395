import { scheduleContinuation, takeBack } from "@stepwise/workpool/core";
import { stream, type QueryStream } from "convex-helpers/server/stream";
import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc } from "../_generated/dataModel.js";
import { internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import { hasRoomInPage } from "../core/continuations.js";
import { isLost, isToCome, LATE_MS, stateOfJob } from "../core/scheduled.js";
import { hasNotEnded, stepWithId } from "../core/steps.js";
import { rearmDeadline } from "../engine/deadlines.js";
import schema from "../schema.js";
import { vWatchedTable } from "../validators.js";
import { rearmLate, recoverStranded } from "./lost.js";

/*
 * The pool's watchdog also checks this component's scheduled functions. Each function says when to
 * check again; null if nothing is there, which is concluded from the table itself, in an idle pool.
 */

/** How many rows of a table one check handles. */
const PAGE = 50;
const SET_ASIDE_PAGE = 20;
/** How soon the next check comes, in ms, while anything goes on. */
const LOOK_AGAIN_MS = 60_000;
/** The watchdog stays on for entries within this, in ms. */
const SOON_MS = 60_000;

export async function watchContinuations(ctx: MutationCtx, idle: boolean): Promise<number | null> {
  const found = await watchRows(ctx, "continuations", async (each) => {
    if (await isLost(ctx, each)) await scheduleContinuation(ctx, each);
  });
  if (found === "more") return Date.now();
  const any = found === "all" || (idle && (await ctx.db.query("continuations").first()) !== null);
  return any ? Date.now() + LOOK_AGAIN_MS : null;
}

export async function watchDeadlines(ctx: MutationCtx): Promise<number | null> {
  const found = await watchRows(ctx, "deadlines", (each) => rearmDeadline(ctx, each));
  return found === "more" ? Date.now() : null;
}

/** Steps whose entry is late: it may have failed, and is not repeated. */
export async function watchEntries(ctx: MutationCtx, idle: boolean): Promise<number | null> {
  const now = Date.now();
  const found = await watchRows(ctx, "steps", (step) => rearmLate(ctx, step));
  if (found === "more") return now;
  // What is still to come, though it is late, may fail then.
  if (found === "all") return now + LATE_MS + 1;
  const { nextEntry } = internal.features.watch;
  const seen = await ctx.runQuery(nextEntry, {}, { useStaleSnapshot: true });
  const next = seen ?? (idle ? await nextEntryOf(ctx) : null);
  return next === null ? null : next + LATE_MS + 1;
}

/** When the next entry is due, if that is soon; read from a stale snapshot. */
export const nextEntry = internalQuery({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => await nextEntryOf(ctx),
});

async function nextEntryOf(ctx: QueryCtx): Promise<number | null> {
  const next = await ctx.db
    .query("steps")
    .withIndex("by_entry", (q) => q.gt("entersAt", undefined).lt("entersAt", Date.now() + SOON_MS))
    .first();
  return next?.entersAt ?? null;
}

export async function watchSetAside(ctx: MutationCtx): Promise<number | null> {
  const rows = await ctx.db.query("setAside").take(SET_ASIDE_PAGE);
  for (const { work } of rows) {
    const step = await stepWithId(ctx, work);
    if (step === null) await takeBack(ctx, work);
    else await recoverStranded(ctx, step);
  }
  return rows.length === 0 ? null : Date.now() + LOOK_AGAIN_MS;
}

type WatchedTable = Infer<typeof vWatchedTable>;

/** What is watched in a table: what is late, or all continuations. */
function watchedRows(ctx: QueryCtx, table: WatchedTable): QueryStream<Doc<WatchedTable>> {
  const late = Date.now() - LATE_MS;
  const rows = stream(ctx.db, schema);
  if (table === "continuations") return rows.query("continuations");
  if (table === "deadlines")
    return rows.query("deadlines").withIndex("by_at", (q) => q.lt("at", late));
  return rows
    .query("steps")
    .withIndex("by_entry", (q) => q.gt("entersAt", undefined).lt("entersAt", late));
}

/** Whether the scheduled function of a row will not come, or need not. */
async function needsAttention(ctx: QueryCtx, row: Doc<WatchedTable>): Promise<boolean> {
  if ("state" in row && (row.held === true || !hasNotEnded(row))) return true;
  return !isToCome(await stateOfJob(ctx, row.job));
}

const vLate = v.object({
  /** Rows whose function is probably lost, each with its key in the index. */
  found: v.array(v.object({ id: v.string(), key: v.array(v.any()) })),
  seen: v.union(v.literal("more"), v.literal("all"), v.literal("none")),
  /** The key of the last row that was read, if there are more. */
  after: v.optional(v.array(v.any())),
});
type Late = Infer<typeof vLate>;

/** Finds rows from where the last check stopped; read from a stale snapshot. */
export const findLate = internalQuery({
  args: { table: vWatchedTable },
  returns: vLate,
  handler: async (ctx, { table }): Promise<Late> => {
    const place = await positionIn(ctx, table);
    const rows = watchedRows(ctx, table);
    const bounds = { lowerBoundInclusive: false, upperBound: [], upperBoundInclusive: true };
    const following = place === null ? rows : rows.narrow({ lowerBound: place.after, ...bounds });
    const found: Late["found"] = [];
    let after = place?.after;
    let seen = 0;
    for await (const [row, key] of following.iterWithKeys()) {
      if (row === null) continue;
      // Each is read with the arguments of its scheduled function, which may be large.
      if (seen === PAGE || !(await hasRoomInPage(ctx))) return { found, seen: "more", after };
      if (await needsAttention(ctx, row)) found.push({ id: row._id, key });
      after = key;
      seen++;
    }
    return { found, seen: place === null && seen === 0 ? "none" : "all" };
  },
});

async function positionIn(ctx: QueryCtx, table: WatchedTable) {
  return await ctx.db
    .query("sweepPositions")
    .withIndex("by_table", (q) => q.eq("table", table))
    .first();
}

/**
 * Handles rows in order, as many as there is room for. They are found in a stale snapshot.
 * @returns whether there are `more`, these were `all`, or none were found in the snapshot.
 */
async function watchRows<Table extends WatchedTable>(
  ctx: MutationCtx,
  table: Table,
  handle: (row: Doc<Table>) => Promise<unknown>,
): Promise<"more" | "all" | "none"> {
  const { findLate } = internal.features.watch;
  const late: Late = await ctx.runQuery(findLate, { table }, { useStaleSnapshot: true });
  let { seen, after } = late;
  let handled: typeof after;
  for (const { id, key } of late.found) {
    if (!(await hasRoomInPage(ctx))) {
      [seen, after] = ["more", handled];
      break;
    }
    const row = await ctx.db.get(table, ctx.db.normalizeId(table, id)!);
    if (row !== null) await handle(row);
    handled = key;
  }
  const place = await positionIn(ctx, table);
  if (seen !== "more") {
    if (place !== null) await ctx.db.delete("sweepPositions", place._id);
  } else if (after !== undefined) {
    if (place === null) await ctx.db.insert("sweepPositions", { table, after });
    else await ctx.db.patch("sweepPositions", place._id, { after });
  }
  return seen;
}
