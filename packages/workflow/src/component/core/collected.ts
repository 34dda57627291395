import { MOST_COUNTED } from "./room.js";
import { v } from "convex/values";
import { MOST_ITEMS } from "../../rules.js";
import { MAX_VALUE_BYTES } from "../../values.js";
import type { Counted } from "../validators.js";
import type { Doc, QueryCtx, Run, RunId } from "./documents.js";

/*
 * Starts that are collected. Each reads the collector of its key and inserts a row, so that they do
 * not conflict with each other. Each row says how many were there before it, in a stale snapshot:
 * who counts goes on from what the last row says.
 */

export type Collector = Doc<"collectors">;

export async function collectorOf(
  ctx: QueryCtx,
  workflow: string,
  key: string,
): Promise<Collector | null> {
  return await ctx.db
    .query("collectors")
    .withIndex("by_key", (q) => q.eq("workflow", workflow).eq("key", key))
    .first();
}

/** The starts that were collected for a run and are not taken yet, in order. */
export function rowsOf(ctx: QueryCtx, run: RunId, after?: bigint) {
  return ctx.db.query("collected").withIndex("by_run", (q) => {
    const all = q.eq("run", run);
    return after === undefined ? all : all.gt("at", after);
  });
}

/** Returns whose starts a run takes when it begins: its own, or those that were left to it. */
export const sourceOf = ({ _id, collects }: Pick<Run, "_id" | "collects">): RunId =>
  collects?.rest ?? _id;

/** So much of what others have inserted is read at most, and so many rows. */
const MOST_READ_BYTES = 2 * MAX_VALUE_BYTES;
const MOST_READ = MOST_ITEMS + 1;

const NONE: Counted = { items: 0, bytes: 0, upTo: 0n };

/** Returns what has been collected; of very much, as much as one run may have at least. */
export async function counted(ctx: QueryCtx, run: RunId, most = MOST_READ): Promise<Counted> {
  const last = await lastOf(ctx, run);
  let { items, bytes, upTo } = last?.counted ?? NONE;
  let [read, rows] = [0, 0];
  for await (const row of rowsOf(ctx, run, upTo)) {
    items += 1;
    bytes += row.bytes;
    // Those that are read here have been committed.
    upTo = row.at as bigint;
    read += row.bytes;
    rows += 1;
    if (read > MOST_READ_BYTES || rows === most) break;
  }
  return { upTo, items, bytes };
}

export const lastOf = async (ctx: QueryCtx, run: RunId) =>
  await rowsOf(ctx, run).order("desc").first();

/** A run that collects starts: those of which key, how many, and until when at the latest. */
export const vCollecting = v.object({ key: v.string(), items: v.number(), until: v.number() });

export async function collectingOf(ctx: QueryCtx, run: Run) {
  const { collects } = run;
  if (collects === undefined || collects.isClosed === true || run.endedAt !== undefined)
    return undefined;
  const { key, size, until } = collects;
  // Without a `size` no row says how many were before it.
  const most = size === undefined ? MOST_COUNTED + 1 : undefined;
  const { items } = await counted(ctx, run._id, most);
  return { key, items, until };
}
