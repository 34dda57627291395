import type { QueryInitializer } from "convex/server";
import { type Infer, type ObjectType, v } from "convex/values";
import type { Doc, HostQueryCtx, PoolDataModel } from "./context.js";
import { lookFairly } from "./fair.js";
import { readGate } from "./gate.js";
import { areOthersOwned, lanesOfRange, ownedRanges, rangeOf, rangesOf } from "./owners.js";
import { isAlone, lanesOf, placeAt } from "./queue.js";
import { freeSlotsIn } from "./slots.js";

/* What the owner of a range sees of the queue, and of its slots. */

/**
 * Works in the lanes of another owner are left to it for so long. It sees them some 100 ms after
 * they have come: with that, both took the same ones, and an end lost 0.05 to 0.15 times.
 */
const OTHERS_MS = 200;

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
  /** The other ranges may have no owner, as it has room. */
  spares: v.optional(v.boolean()),
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

/** Up to `count` works: of the lanes of a range from one on, then old ones of all. */
async function seeWorks(
  ctx: HostQueryCtx,
  args: ObjectType<typeof seeArgs>,
): Promise<Omit<Infer<typeof vSeenByOwner>, "free">> {
  const { lo, hi, first, end, lane, shares, spares, count, kept, fairly } = args;
  if (fairly !== undefined) {
    const [free] = kept > 0 ? [] : await freeSlotsIn(ctx, lo, hi, 1);
    const after = kept > 0 ? fairly.after : free?.fair;
    const { rows } = await lookFairly(ctx, { ...fairly, count, after });
    return { rows, anyIsAlone: false, lane };
  }
  const waiting: QueryInitializer<PoolDataModel["waiting"]> = ctx.db.query("waiting");
  if (!shares || (spares && !(await areOthersOwned(ctx, rangeOf({ number: lo }))))) {
    const oldest = await waiting.withIndex("by_commit").take(count);
    return { rows: oldest.map(({ _id }) => _id), anyIsAlone: oldest.some(isAlone), lane };
  }
  const rows: Doc<"waiting">[] = [];
  let next = lane;
  // Rows of an earlier version have no lane: they are the first of the first one.
  const from = (number: number) => (number === 0 ? undefined : number);
  for (const [begin, until] of [
    [from(lane), end],
    [from(first), lane],
  ] as const) {
    if (rows.length === count) break;
    const some = waiting.withIndex("by_lane", (q) => q.gte("lane", begin).lt("lane", until));
    rows.push(...(await some.take(count - rows.length)));
    next = (rows.at(-1)?.lane ?? next - 1) + 1;
  }
  if (rows.length < count) {
    const seen = new Set(rows.map(({ _id }) => _id));
    // The last ones: their owners take the first.
    const old = waiting
      .withIndex("by_commit", (q) => q.lt("at", placeAt(Date.now() - OTHERS_MS)))
      .order("desc");
    const others = (await old.take(count)).filter(({ _id }) => !seen.has(_id));
    rows.push(...others.slice(0, count - rows.length));
  } else if (count > 0) rows.unshift(...(await starved(ctx, args, rows)));
  const wanted = rows.slice(0, count);
  const ids = wanted.map(({ _id }) => _id);
  return { rows: ids, anyIsAlone: wanted.some(isAlone), lane: next < end ? next : first };
}

/** Works of other ranges that have waited for so much longer than those of this one are starved. */
const STARVED_MS = 1_000;

/**
 * Works in the lanes of ranges that have no free slot for long: each owner takes its share of them,
 * though it has enough of its own.
 * @param own those that it would take.
 */
async function starved(
  ctx: HostQueryCtx,
  { lo, first, end, count }: ObjectType<typeof seeArgs>,
  own: readonly Doc<"waiting">[],
): Promise<Doc<"waiting">[]> {
  const since = Math.min(...own.map(({ _creationTime }) => _creationTime)) - STARVED_MS;
  const isStarved = ({ lane = 0, _creationTime }: Doc<"waiting">) =>
    _creationTime < since && (lane < first || lane >= end);
  const waiting: QueryInitializer<PoolDataModel["waiting"]> = ctx.db.query("waiting");
  const oldest = await waiting.first();
  if (oldest === null || !isStarved(oldest)) return [];
  const gate = await readGate(ctx);
  if (gate === null) return [];
  const pool = await rangesOf(ctx, gate);
  const owned = (await ownedRanges(ctx)).map((range) => ({
    range,
    lanes: lanesOfRange(pool, range, lanesOf(gate)),
  }));
  // Not of those that starve there: by turns of the others, so that they take different works.
  const isMine = ({ lane = 0 }: Doc<"waiting">) => {
    const others = owned.filter(({ lanes }) => lane < lanes.first || lane >= lanes.end);
    return others[lane % others.length]?.range === rangeOf({ number: lo });
  };
  const some = (await waiting.take(count)).filter(isStarved);
  return some.filter(isMine).slice(0, Math.ceil(count / 2));
}
