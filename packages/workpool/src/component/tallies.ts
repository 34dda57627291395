import type { MutationCtx } from "./_generated/server.js";
import { type Counted, NOTHING_COUNTED } from "./counts.js";

/** Works that end without a slot are counted in so many documents, so that two cancels seldom meet. */
const SHARDS = 8;

/** Counts works that ended and held no slot: canceled before they began, or with a function that is gone. */
export async function countWithoutSlot(
  ctx: MutationCtx,
  what: Counted,
  howMany = 1,
): Promise<void> {
  if (howMany === 0) return;
  const shard = Math.floor(Math.random() * SHARDS);
  const row = await ctx.db
    .query("tallies")
    .withIndex("by_shard", (q) => q.eq("shard", shard))
    .first();
  if (row === null) await ctx.db.insert("tallies", { shard, ...NOTHING_COUNTED, [what]: howMany });
  else await ctx.db.patch("tallies", row._id, { [what]: row[what] + howMany });
}
