import { takeBack } from "@stepwise/workpool/core";
import { stream, type QueryStream } from "convex-helpers/server/stream";
import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc } from "../_generated/dataModel.js";
import { internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import { hasRoomInPage, scheduleContinuation } from "../core/continuations.js";
import { LATE_MS, isLost, isToCome, stateOfJob } from "../core/scheduled.js";
import { rewatchDeadline } from "../engine/deadlines.js";
import schema from "../schema.js";
import { ACTIVE_STATES, vLookedAt } from "../validators.js";
import { recoverStranded, seeTo } from "./lost.js";

/** How long after a look there is another, in ms, while something goes on. */
const LOOK_AGAIN_MS = 60_000;

/**
 * Has those go on whose scheduled function was lost. For the pool's watchdog, and for a repair.
 * @returns when to look again, in ms since the epoch; null where nothing goes on.
 */
export async function lookAfterContinuations(
  ctx: MutationCtx,
  idle: boolean,
): Promise<number | null> {
  const found = await seeInTurn(ctx, "continuations", async (each) => {
    if (await isLost(ctx, each)) await scheduleContinuation(ctx, each._id, each);
  });
  if (found === "more") return Date.now();
  // That there is none is concluded from the table itself.
  const any = found === "all" || (idle && (await ctx.db.query("continuations").first()) !== null);
  return any ? Date.now() + LOOK_AGAIN_MS : null;
}

/**
 * For the pool's watchdog: those whose time is up, but nobody has said so.
 * @returns when to look again, in ms since the epoch; null where that was all.
 */
export async function lookAfterDeadlines(ctx: MutationCtx): Promise<number | null> {
  const found = await seeInTurn(ctx, "deadlines", (each) => rewatchDeadline(ctx, each));
  return found === "more" ? Date.now() : null;
}

/* The pool's watchdog also looks after what waits for scheduled functions of this component. */

/** How many rows of a table one look sees to. */
const PAGE = 50;

type LookedAt = Infer<typeof vLookedAt>;

/** What is looked at in a table: what is late, or all that goes on. */
function lookedAt(ctx: QueryCtx, table: LookedAt): QueryStream<Doc<LookedAt>> {
  const late = Date.now() - LATE_MS;
  const rows = stream(ctx.db, schema);
  if (table === "continuations") return rows.query("continuations");
  if (table === "deadlines")
    return rows.query("deadlines").withIndex("by_at", (q) => q.lt("at", late));
  return rows
    .query("steps")
    .withIndex("by_wake", (q) => q.gt("wakeAt", undefined).lt("wakeAt", late));
}

/** Whether something is to be done about a row: its scheduled function will not come, or need not. */
async function needsLook(ctx: QueryCtx, row: Doc<LookedAt>): Promise<boolean> {
  if ("state" in row) {
    if (row.held === true || !ACTIVE_STATES.some((state) => state === row.state)) return true;
  }
  return !isToCome(await stateOfJob(ctx, row.job));
}

const vLooked = v.object({
  /** What something is to be done about: to be confirmed. With its key in the index. */
  found: v.array(v.object({ id: v.string(), key: v.array(v.any()) })),
  seen: v.union(v.literal("more"), v.literal("all"), v.literal("none")),
  /** The key of the last row that was seen, where there are more. */
  after: v.optional(v.array(v.any())),
});

type Looked = Infer<typeof vLooked>;

/** Reads what a look looks at in a table, in its order: from behind what the last look has seen, where that had to leave some. */
export const findLate = internalQuery({
  args: { table: vLookedAt },
  returns: vLooked,
  handler: async (ctx, { table }): Promise<Looked> => {
    const place = await placeIn(ctx, table);
    const rows = lookedAt(ctx, table);
    const following =
      place === null
        ? rows
        : rows.narrow({
            lowerBound: place.after,
            lowerBoundInclusive: false,
            upperBound: [],
            upperBoundInclusive: true,
          });
    const found: Looked["found"] = [];
    let after = place?.after;
    let seen = 0;
    for await (const [row, key] of following.iterWithKeys()) {
      if (row === null) continue;
      // Each is read with the arguments of its scheduled function, which may be large.
      if (seen === PAGE || !(await hasRoomInPage(ctx)))
        return { found, seen: "more", ...(after === undefined ? {} : { after }) };
      if (await needsLook(ctx, row)) found.push({ id: row._id, key });
      after = key;
      seen++;
    }
    return { found, seen: place === null && seen === 0 ? "none" : "all" };
  },
});

async function placeIn(ctx: QueryCtx, table: LookedAt): Promise<Doc<"looks"> | null> {
  return await ctx.db
    .query("looks")
    .withIndex("by_table", (q) => q.eq("table", table))
    .first();
}

/**
 * Sees to rows in their order, as many as one look may. They are found in a stale snapshot, as those that go on are written all the time; each
 * that something is to be done about is read again.
 * @param seeTo confirms that, and does it.
 * @returns whether there are `more`, these were `all`, or none were seen: then there may be some all the same.
 */
export async function seeInTurn<Table extends LookedAt>(
  ctx: MutationCtx,
  table: Table,
  seeTo: (row: Doc<Table>) => Promise<void>,
): Promise<"more" | "all" | "none"> {
  const looked: Looked = await ctx.runQuery(
    internal.features.watch.findLate,
    { table },
    { useStaleSnapshot: true },
  );
  let { seen, after } = looked;
  let seenTo: typeof after;
  for (const { id, key } of looked.found) {
    if (!(await hasRoomInPage(ctx))) {
      [seen, after] = ["more", seenTo];
      break;
    }
    const row = await ctx.db.get(table, ctx.db.normalizeId(table, id)!);
    if (row !== null) await seeTo(row);
    seenTo = key;
  }
  const place = await placeIn(ctx, table);
  if (seen !== "more") {
    if (place !== null) await ctx.db.delete("looks", place._id);
  } else if (after !== undefined) {
    if (place === null) await ctx.db.insert("looks", { table, after });
    else await ctx.db.patch("looks", place._id, { after });
  }
  return seen;
}

/** A look sees to what is due as soon as this, in ms; what sleeps longer does not keep the watchdog on. */
const SOON_MS = 60_000;

/**
 * What the pool's watchdog also looks after: steps that should have been woken. A scheduled mutation that throws is gone for good, and one
 * may be canceled or cleaned away by hand.
 * @returns when to look again, in ms since the epoch; null where nothing is due soon.
 */
export async function lookAfterWaking(ctx: MutationCtx, idle: boolean): Promise<number | null> {
  const now = Date.now();
  const found = await seeInTurn(ctx, "steps", (step) => seeTo(ctx, step));
  if (found === "more") return now;
  // What is still to come, though it is late, may fail when it does.
  if (found === "all") return now + LATE_MS + 1;
  const seen = await ctx.runQuery(
    internal.features.watch.nextEntry,
    {},
    { useStaleSnapshot: true },
  );
  // That there is none is concluded from the index itself.
  const next = seen ?? (idle ? await nextEntryOf(ctx) : null);
  return next === null ? null : next + LATE_MS + 1;
}

/** When the next step is to be woken, if that is soon; for reading from a stale snapshot. */
export const nextEntry = internalQuery({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => await nextEntryOf(ctx),
});

async function nextEntryOf(ctx: QueryCtx): Promise<number | null> {
  const next = await ctx.db
    .query("steps")
    .withIndex("by_wake", (q) => q.gt("wakeAt", undefined).lt("wakeAt", Date.now() + SOON_MS))
    .first();
  return next?.wakeAt ?? null;
}

/* Actions that the pool has lost sight of: it could not recover them, and has set them aside. */

/** How many of them one look sees to. */
const SET_ASIDE_PAGE = 20;

/** For the watchdog: counts what was set aside as failed attempts. @returns when to look again; null where there is nothing. */
export async function lookAfterSetAside(ctx: MutationCtx): Promise<number | null> {
  const rows = await ctx.db.query("setAside").take(SET_ASIDE_PAGE);
  for (const { work } of rows) {
    const id = ctx.db.normalizeId("steps", work);
    const step = id === null ? null : await ctx.db.get("steps", id);
    if (step === null) await takeBack(ctx, work);
    else await recoverStranded(ctx, step);
  }
  return rows.length === 0 ? null : Date.now() + LOOK_AGAIN_MS;
}
