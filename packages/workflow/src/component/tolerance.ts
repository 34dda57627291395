import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalQuery, type MutationCtx, type QueryCtx } from "./_generated/server.js";
import type { Tolerate } from "./validators.js";

/** Where more bad ends are let pass than this, only some of the children that end badly count them before the last one does. */
const COUNTED_BY_EACH = 64;

/** How many bad ends a parent lets pass, of so many children. */
function limitOf(tolerate: Tolerate, total: number): number {
  if (tolerate === "all") return Infinity;
  const { failures, percentage = 0 } = tolerate as { failures?: number; percentage?: number };
  return Math.floor(failures ?? (total * percentage) / 100);
}

/** Writes down that a child has ended badly, where that has to be counted. */
export async function noteBadEnd(
  ctx: MutationCtx,
  { _id, tolerate, total = 0 }: Doc<"steps">,
): Promise<void> {
  if (tolerate !== undefined && limitOf(tolerate, total) < total)
    await ctx.db.insert("badEnds", { parent: _id });
}

/**
 * Whether a parent lets a bad end of a child pass. Children that end at the same time do not see each other: they count the bad ends before
 * theirs in a stale snapshot, so that they do not conflict. The last one to end counts them exactly.
 */
export async function isTolerated(
  ctx: MutationCtx,
  { _id, tolerate, total = 0 }: Doc<"steps">,
  which: { child: Doc<"runs"> } | { isLast: true },
): Promise<boolean> {
  if (tolerate === undefined) return false;
  const limit = limitOf(tolerate, total);
  if (limit >= total) return true;
  if ("isLast" in which) return (await countBad(ctx, _id, limit + 1)) <= limit;
  if (limit === 0) return false;
  const counts = which.child.index % Math.ceil(limit / COUNTED_BY_EACH) === 0;
  if (!counts) return true;
  const before = await ctx.runQuery(
    internal.tolerance.badBefore,
    { parent: _id, most: limit },
    { useStaleSnapshot: true },
  );
  return before < limit;
}

/** How many of a parent's children have ended badly, at most `most`. */
export const badBefore = internalQuery({
  args: { parent: v.id("steps"), most: v.number() },
  returns: v.number(),
  handler: async (ctx, { parent, most }) => await countBad(ctx, parent, most),
});

async function countBad(ctx: QueryCtx, parent: Id<"steps">, most: number): Promise<number> {
  const bad = ctx.db.query("badEnds").withIndex("by_parent", (q) => q.eq("parent", parent));
  return (await bad.take(most)).length;
}
