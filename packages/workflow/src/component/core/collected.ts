import { v } from "convex/values";
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
export function rowsOf(ctx: QueryCtx, run: RunId, after = 0n) {
  return ctx.db.query("collected").withIndex("by_run", (q) => q.eq("run", run).gt("at", after));
}

/** Whose starts a run takes when it begins: its own, or those that were left to it. */
export const sourceOf = ({ _id, collects }: Pick<Run, "_id" | "collects">): RunId =>
  collects?.rest ?? _id;

/** So much of what others have inserted is read at most. More is too much for one run. */
const MOST_READ_BYTES = 2 * MAX_VALUE_BYTES;

/** What has been collected, and when the last start was. */
export async function counted(
  ctx: QueryCtx,
  run: RunId,
): Promise<{ counted: Counted; lastAt: number | undefined }> {
  const last = await rowsOf(ctx, run).order("desc").first();
  let { items = 0, bytes = 0, upTo = 0n } = last?.counted ?? {};
  let read = 0;
  for await (const row of rowsOf(ctx, run, upTo)) {
    items += 1;
    bytes += row.bytes;
    read += row.bytes;
    // Those that are read here have been committed.
    upTo = row.at as bigint;
    if (read > MOST_READ_BYTES) break;
  }
  return { counted: { upTo, items, bytes }, lastAt: last?._creationTime };
}

/** A run that collects starts: those of which key, how many, and until when at the latest. */
export const vCollecting = v.object({ key: v.string(), items: v.number(), until: v.number() });

export async function collectingOf(ctx: QueryCtx, run: Run) {
  const { collects } = run;
  if (collects === undefined || run.endedAt !== undefined) return undefined;
  const { items } = (await counted(ctx, sourceOf(run))).counted;
  return { key: collects.key, items, until: collects.until };
}
