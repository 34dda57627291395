import { getConvexSize, type Infer, v } from "convex/values";
import { readGate } from "../core/index.js";
import { internalQuery, type QueryCtx } from "./_generated/server.js";
import { addCounts, NOTHING_COUNTED, vCounts } from "./counts.js";

/** How many rows of the line, and how many bytes of them, are read to count it. A report is made in somebody's transaction. */
const MOST_COUNTED = 1_000;
const MOST_COUNTED_BYTES = 1 << 20;

const vFigures = v.object({
  /** What has ended since the pool was made. */
  totals: vCounts,
  /** When it was made, in ms since the epoch; null for a pool that nothing was ever enqueued to. */
  madeAt: v.union(v.number(), v.null()),
  maxParallelism: v.number(),
  running: v.number(),
  /** Works that stand in line. */
  backlog: v.number(),
  /** Whether there are more of them than were counted. */
  backlogIsAtLeast: v.boolean(),
  /** Since when the first in line stands there; null where nobody does. */
  oldestWaitingSince: v.union(v.number(), v.null()),
  /** When a work last got a slot. */
  lastStartAt: v.number(),
  /** When the longest of those that run got its slot; null where nothing runs. */
  oldestStartAt: v.union(v.number(), v.null()),
});
export type Figures = Infer<typeof vFigures>;

/** The pool at a glance. Bounded: it reads the slots, and so much of the line. */
export async function readFigures(ctx: QueryCtx): Promise<Figures> {
  const gate = await readGate(ctx);
  const slots = await ctx.db.query("slots").withIndex("by_number").collect();
  const shards = await ctx.db.query("tallies").withIndex("by_shard").collect();
  const held = slots.filter((slot) => slot.work !== undefined).map((slot) => slot.startedAt);
  const tallies = [...shards, ...slots.map((slot) => slot.tally ?? NOTHING_COUNTED)];
  return {
    totals: tallies.reduce(addCounts, NOTHING_COUNTED),
    madeAt: gate?._creationTime ?? null,
    maxParallelism: gate?.maxParallelism ?? 0,
    running: held.length,
    lastStartAt: Math.max(0, ...slots.map((slot) => slot.startedAt)),
    oldestStartAt: held.length === 0 ? null : Math.min(...held),
    ...(await countLine(ctx)),
  };
}

async function countLine(
  ctx: QueryCtx,
): Promise<Pick<Figures, "backlog" | "backlogIsAtLeast" | "oldestWaitingSince">> {
  let backlog = 0;
  let bytes = 0;
  let oldestWaitingSince: number | null = null;
  for await (const row of ctx.db.query("waiting").withIndex("by_commit")) {
    if (backlog === MOST_COUNTED || bytes > MOST_COUNTED_BYTES)
      return { backlog, backlogIsAtLeast: true, oldestWaitingSince };
    backlog += 1;
    bytes += getConvexSize(row.args);
    oldestWaitingSince ??= row._creationTime;
  }
  return { backlog, backlogIsAtLeast: false, oldestWaitingSince };
}

/** For reading from a stale snapshot: so a report depends on nothing that others write. */
export const figures = internalQuery({
  args: {},
  returns: vFigures,
  handler: readFigures,
});
