import { CHECK_AGAIN_MS, LATE_MS, PAGE, takeBack } from "@stepwise/workpool/core";
import { stream, type QueryStream } from "convex-helpers/server/stream";
import type { Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "../_generated/server.js";
import { hasRoomInPage } from "../core/continuations.js";
import { isToCome, stateOfJob } from "../core/scheduled.js";
import { hasNotEnded, stepWithId } from "../core/steps.js";
import { nextEntryOf, type Found, type Late } from "../core/poolHost.js";
import { rearmDeadline } from "../engine/deadlineTimer.js";
import schema from "../schema.js";
import { vWatchedTable } from "../validators.js";
import { rearmLate, recoverStranded } from "./lost.js";

/* Each function says when to check again; null if nothing is there, as an idle table shows. */

export async function watchDeadlines(ctx: MutationCtx, found: Found): Promise<number | null> {
  const seen = await watchRows(ctx, "deadlines", found, (each) => rearmDeadline(ctx, each));
  return seen === "more" ? Date.now() : null;
}

/** Steps whose entry is late: it may have failed, and is not repeated. */
export async function watchEntries(ctx: MutationCtx, idle: boolean, found: Found) {
  const now = Date.now();
  const seen = await watchRows(ctx, "steps", found, (step) => rearmLate(ctx, step));
  if (seen === "more") return now;
  // What is still to come, though it is late, may fail then.
  if (seen === "all") return now + LATE_MS + 1;
  const next = found.nextEntry ?? (idle ? await nextEntryOf(ctx) : null);
  return next === null ? null : next + LATE_MS + 1;
}

export async function watchSetAside(ctx: MutationCtx): Promise<number | null> {
  const rows = await ctx.db.query("setAside").take(PAGE);
  for (const { work } of rows) {
    const step = await stepWithId(ctx, work);
    if (step === null) await takeBack(ctx, work);
    else await recoverStranded(ctx, step);
  }
  return rows.length === 0 ? null : Date.now() + CHECK_AGAIN_MS;
}

type WatchedTable = Infer<typeof vWatchedTable>;

/** Returns the rows of a table that are late. */
function watchedRows(ctx: QueryCtx, table: WatchedTable): QueryStream<Doc<WatchedTable>> {
  const late = Date.now() - LATE_MS;
  const rows = stream(ctx.db, schema);
  if (table === "deadlines")
    return rows.query("deadlines").withIndex("by_at", (q) => q.lt("at", late));
  return rows
    .query("steps")
    .withIndex("by_entry", (q) => q.gt("entersAt", undefined).lt("entersAt", late));
}

async function needsAttention(ctx: QueryCtx, row: Doc<WatchedTable>): Promise<boolean> {
  if ("state" in row && (row.paused === true || !hasNotEnded(row))) return true;
  return !isToCome(await stateOfJob(ctx, row.job));
}

export async function findLate(ctx: QueryCtx): Promise<Found> {
  const deadlines = await findLateIn(ctx, "deadlines");
  const steps = await findLateIn(ctx, "steps");
  return { deadlines, steps, nextEntry: await nextEntryOf(ctx) };
}

async function findLateIn(ctx: QueryCtx, table: WatchedTable): Promise<Late> {
  const place = await positionIn(ctx, table);
  const all = watchedRows(ctx, table);
  const bounds = { lowerBoundInclusive: false, upperBound: [], upperBoundInclusive: true };
  const following = place === null ? all : all.narrow({ lowerBound: place.after, ...bounds });
  const rows: Late["rows"] = [];
  let after = place?.after;
  let seen = 0;
  for await (const [row, key] of following.iterWithKeys()) {
    if (row === null) continue;
    // Each is read with the arguments of its scheduled function, which may be large.
    if (seen === PAGE || (seen > 0 && !(await hasRoomInPage(ctx))))
      return { rows, seen: "more", after };
    if (await needsAttention(ctx, row)) rows.push({ id: row._id, key });
    after = key;
    seen++;
  }
  return { rows, seen: place === null && seen === 0 ? "none" : "all" };
}

async function positionIn(ctx: QueryCtx, table: WatchedTable) {
  return await ctx.db
    .query("sweepPositions")
    .withIndex("by_table", (q) => q.eq("table", table))
    .first();
}

/** Handles rows of a stale snapshot. @returns whether there are `more`, or these were `all`. */
async function watchRows<Table extends WatchedTable>(
  ctx: MutationCtx,
  table: Table,
  found: Found,
  handle: (row: Doc<Table>) => Promise<unknown>,
): Promise<"more" | "all" | "none"> {
  const { rows } = found[table];
  let { seen, after } = found[table];
  let handled: typeof after;
  for (const { id, key } of rows) {
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
