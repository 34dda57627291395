import type { QueryInitializer } from "convex/server";
import { type GenericId, type Infer, type ObjectType, v } from "convex/values";
import type { HostQueryCtx, PoolDataModel } from "./context.js";
import { lookFairly } from "./fair.js";
import { isAlone } from "./queue.js";
import { freeSlotsIn } from "./slots.js";

/* What the owner of a range sees of the queue, and of its slots. */

/** Works in the lanes of another range are left to its owner for so long. */
const OTHERS_MS = 100;

export const seeArgs = {
  /** The range's first slot, and that of the next one. */
  lo: v.number(),
  hi: v.number(),
  /** Its first lane, and that of the next one; the lane to begin at. */
  first: v.number(),
  end: v.number(),
  lane: v.number(),
  /** Says whether there are other ranges. */
  shares: v.boolean(),
  count: v.number(),
  /** Slots that are there already. */
  kept: v.number(),
  /** How many free slots it wants beyond those for works. */
  more: v.number(),
  /** Slots are shared by keys: how many lanes and slots the pool has. */
  fairly: v.optional(
    v.object({ lanes: v.number(), slots: v.number(), after: v.optional(v.string()) }),
  ),
};
export const vSeenByOwner = v.object({
  rows: v.array(v.id("waiting")),
  free: v.array(v.id("slots")),
  /** One of the works has a function of its own. */
  anyIsAlone: v.boolean(),
  /** The lane to go on with. */
  lane: v.number(),
});

/**
 * Up to `count` works for a range, and free slots of it for them. Read it from a stale snapshot.
 */
export async function seeForOwner(
  ctx: HostQueryCtx,
  args: ObjectType<typeof seeArgs>,
): Promise<Infer<typeof vSeenByOwner>> {
  const { lo, hi, kept, more } = args;
  const { lane, ...seen } = await seeWorks(ctx, args);
  const free = await freeSlotsIn(ctx, lo, hi, seen.rows.length - kept + more);
  return { ...seen, free: free.map(({ _id }) => _id), lane };
}

/** Up to `count` works: of the lanes of a range from one on, then of others. */
async function seeWorks(
  ctx: HostQueryCtx,
  { lo, hi, first, end, lane, shares, count, kept, fairly }: ObjectType<typeof seeArgs>,
): Promise<Omit<Infer<typeof vSeenByOwner>, "free">> {
  if (fairly !== undefined) {
    const [free] = kept > 0 ? [] : await freeSlotsIn(ctx, lo, hi, 1);
    const after = kept > 0 ? fairly.after : free?.fair;
    const { rows } = await lookFairly(ctx, { ...fairly, count, after });
    return { rows, anyIsAlone: false, lane };
  }
  const waiting: QueryInitializer<PoolDataModel["waiting"]> = ctx.db.query("waiting");
  if (!shares) {
    const oldest = await waiting.withIndex("by_commit").take(count);
    return { rows: oldest.map(({ _id }) => _id), anyIsAlone: oldest.some(isAlone), lane };
  }
  const rows: GenericId<"waiting">[] = [];
  let anyIsAlone = false;
  let next = lane;
  // Rows of an earlier version have no lane: they are the first of the first one.
  const from = (number: number) => (number === 0 ? undefined : number);
  for (const [begin, until, isOwn] of [
    [from(lane), end, true],
    [from(first), lane, true],
    [end, Infinity, false],
    [undefined, first, false],
  ] as const) {
    if (rows.length === count) break;
    // Of others, the last ones: their owners take the first.
    const some = waiting
      .withIndex("by_lane", (q) => q.gte("lane", begin).lt("lane", until))
      .order(isOwn ? "asc" : "desc");
    for (const row of await some.take(count - rows.length)) {
      if (!isOwn && row._creationTime > Date.now() - OTHERS_MS) continue;
      rows.push(row._id);
      anyIsAlone ||= isAlone(row);
      if (isOwn) next = (row.lane ?? 0) + 1;
    }
  }
  return { rows, anyIsAlone, lane: next < end ? next : first };
}
