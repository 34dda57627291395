import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalQuery, type MutationCtx, type QueryCtx } from "./_generated/server.js";
import type { Tolerate } from "./validators.js";

/** Where more bad ends are let pass than this, only some of the children that end badly count them before the last one does. */
const COUNTED_BY_EACH = 64;

/** The states in which a child has ended badly. */
const BAD = ["failed", "canceled", "timedOut"] as const;

function limitOf(tolerate: Tolerate | undefined, total: number): number {
  if (tolerate === undefined) return 0;
  if (tolerate === "all") return Infinity;
  return "failures" in tolerate
    ? tolerate.failures
    : Math.floor((total * tolerate.percentage) / 100);
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
  const limit = limitOf(tolerate, total);
  if (limit <= 0) return "child" in which ? false : (await countBad(ctx, _id, 1)) === 0;
  if (limit >= total) return true;
  if ("isLast" in which) return (await countBad(ctx, _id, limit + 1)) <= limit;
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
  let count = 0;
  for (const state of BAD) {
    if (count >= most) break;
    const some = await ctx.db
      .query("runs")
      .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state))
      .take(most - count);
    count += some.length;
  }
  return count;
}
