import { type Infer, v } from "convex/values";
import type { HostQueryCtx, QueryCtx } from "../context.js";
import { readGate } from "../gate.js";
import { limitOf, whichOf } from "./limits.js";
import { findLine, limitedRow } from "./lines.js";

/** So many works that come before one are counted, and so many that run. */
const MOST_COUNTED = 200;

export const vWaitsFor = v.object({
  limit: v.string(),
  key: v.optional(v.string()),
  /** How many run that hold it, and how many may: 0 while it is paused. */
  running: v.number(),
  atMost: v.number(),
  /** Its place among those with the same limits and keys, from 1; 201 if more than 200 come first. */
  place: v.number(),
  /** When it fails if it still waits, in ms since the epoch. Default: never. */
  until: v.optional(v.number()),
});
/** What a work waits for that one of its limits keeps back. */
export type WaitsFor = Infer<typeof vWaitsFor>;

/** What a work waits for, as its line was looked at last; undefined if it waits for no limit. */
export async function waitsForLimit(
  ctx: HostQueryCtx,
  work: string,
): Promise<WaitsFor | undefined> {
  const row = await limitedRow(ctx, work);
  const line = row === null ? null : await findLine(ctx, row.line);
  const gate = line === null ? null : await readGate(ctx);
  if (row === null || line === null || gate === null) return undefined;
  const { line: permits, blockedBy } = line;
  const atMost = limitOf(gate, blockedBy);
  // The limit was removed a moment ago.
  if (atMost === Infinity) return undefined;
  const queries: QueryCtx["db"] = ctx.db;
  const held = await queries
    .query("permits")
    .withIndex("by_name", (q) => q.eq("name", blockedBy))
    .take(MOST_COUNTED);
  // Those that came in one transaction are in the order of their rows.
  const upToOwn = await queries
    .query("limited")
    .withIndex("by_line", (q) => q.eq("line", permits).lte("at", row.at))
    .take(MOST_COUNTED);
  const at = upToOwn.findIndex(({ _id }) => _id === row._id);
  const place = (at === -1 ? upToOwn.length : at) + 1;
  const { name: limit, key } = whichOf(blockedBy);
  return { limit, key, running: held.length, atMost, place, until: row.until };
}
