import type { IndexBounds, QueryStream } from "convex-helpers/server/stream";
import type { GenericDocument } from "convex/server";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { hasRoomInPage } from "./page.js";

/* The pool's watchdog also looks after what waits for scheduled functions of this component. */

/** How many rows of a table one look sees to. */
const PAGE = 50;

const ALL: IndexBounds = {
  lowerBound: [],
  lowerBoundInclusive: true,
  upperBound: [],
  upperBoundInclusive: true,
};

/**
 * Sees to rows in their order, as many as one look may: from behind those that the last look has seen to, where that had to leave some. So rows
 * that stay do not hide others.
 * @returns whether there are `more`, these were `all`, or there are `none`.
 */
export async function seeInTurn<Row extends GenericDocument>(
  ctx: MutationCtx,
  table: Doc<"looks">["table"],
  rows: QueryStream<Row>,
  seeTo: (row: Row) => Promise<void>,
): Promise<"more" | "all" | "none"> {
  const look = await ctx.db
    .query("looks")
    .withIndex("by_table", (q) => q.eq("table", table))
    .first();
  const following =
    look === null
      ? rows
      : rows.narrow({ ...ALL, lowerBound: look.after, lowerBoundInclusive: false });
  let after = look?.after;
  let seen = 0;
  for await (const [row, key] of following.iterWithKeys()) {
    if (row === null) continue;
    // Each is read with the arguments of its scheduled function, which may be large.
    if (seen === PAGE || !(await hasRoomInPage(ctx))) {
      if (look === null && after !== undefined) await ctx.db.insert("looks", { table, after });
      else if (look !== null && seen > 0) await ctx.db.patch("looks", look._id, { after });
      return "more";
    }
    await seeTo(row);
    after = key;
    seen++;
  }
  if (look !== null) await ctx.db.delete("looks", look._id);
  return look === null && seen === 0 ? "none" : "all";
}
