import { type Counts } from "../core/index.js";
import type { MutationCtx } from "./_generated/server.js";

export type Counted = keyof Counts;

export const NOTHING_COUNTED: Counts = { succeeded: 0, failed: 0, retries: 0, canceled: 0 };

export function addCounts(a: Counts, b: Counts): Counts {
  return combine((what) => a[what] + b[what]);
}

/** What was added since `before`. Not negative: a slot that is removed takes its counts along. */
export function countsSince(before: Counts, after: Counts): Counts {
  return combine((what) => Math.max(0, after[what] - before[what]));
}

function combine(count: (what: Counted) => number): Counts {
  return {
    succeeded: count("succeeded"),
    failed: count("failed"),
    retries: count("retries"),
    canceled: count("canceled"),
  };
}

/**
 * Works that end without a slot are counted in so many documents, so that cancels rarely conflict.
 */
const SHARDS = 8;

/** Counts works that ended without a slot: canceled in time, or without a function. */
export async function countWithoutSlot(
  ctx: MutationCtx,
  what: Counted,
  howMany = 1,
): Promise<void> {
  if (howMany === 0) return;
  const shard = Math.floor(Math.random() * SHARDS);
  const row = await ctx.db
    .query("counts")
    .withIndex("by_shard", (q) => q.eq("shard", shard))
    .first();
  if (row === null) await ctx.db.insert("counts", { shard, ...NOTHING_COUNTED, [what]: howMany });
  else await ctx.db.patch("counts", row._id, { [what]: row[what] + howMany });
}
