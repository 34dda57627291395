import { v, type Infer } from "convex/values";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { QueryCtx } from "./_generated/server.js";
import type { RunState } from "./validators.js";

export const vChildren = v.object({
  total: v.number(),
  /** Completed. */
  done: v.number(),
  /** Failed, timed out, or canceled. */
  failed: v.number(),
  running: v.number(),
  /** So many have ended badly, or run while as many are done, that not all were counted: the numbers are about right. */
  isEstimate: v.optional(v.boolean()),
});

export type Children = Infer<typeof vChildren>;

/** How many documents of each state are read at most. Runs are small. */
const MOST = 500;

const GOING = ["running", "compensating"] as const;

const BAD = ["failed", "canceled", "timedOut"] as const;

/**
 * What the children of a parent do, without reading those that are done, nor those that wait for their turn. They are started in their
 * order, or nearly: so nearly all that follow the first which waits do so too, and those that do not are few. Where very many run at once,
 * those that are done are read instead.
 */
export async function countChildren(
  ctx: QueryCtx,
  { _id: parent, total = 0 }: Pick<Doc<"steps">, "_id" | "total">,
): Promise<Children> {
  /** The places of children in these states. */
  const places = async (states: readonly RunState[], from = 0) => {
    const runs = [];
    for (const state of states) runs.push(...(await inState(ctx, parent, state, from).take(MOST)));
    return runs.map(({ index }) => index);
  };
  const firstPending = await inState(ctx, parent, "pending").first();
  const last = await ctx.db
    .query("runs")
    .withIndex("by_parent", (q) => q.eq("parentStep", parent))
    .order("desc")
    .first();
  // Those that are not inserted yet wait too.
  const inserted = last === null ? 0 : last.index + 1;
  const from = firstPending?.index ?? inserted;
  const allGoing = await places(GOING);
  const allBad = await places(BAD);
  const [going, failed] = [allGoing.length, allBad.length];
  const beyond =
    [...allGoing, ...allBad].filter((index) => index >= from).length +
    (await places(["completed"], from)).length;
  const begun = from + beyond;
  const isEstimate = failed >= MOST || beyond >= MOST;
  if (going < MOST) {
    const done = Math.max(0, begun - going - failed);
    return { total, done, failed, running: going, ...(isEstimate ? { isEstimate } : {}) };
  }
  const completed = (await places(["completed"])).length;
  // Of many that are done too, those are known that precede the first which runs.
  const first = completed < MOST ? null : await inState(ctx, parent, "running").first();
  const done = Math.max(completed, (first?.index ?? 0) - failed);
  const running = Math.max(going, begun - failed - done);
  const isUnsure = isEstimate || completed >= MOST;
  return { total, done, failed, running, ...(isUnsure ? { isEstimate: true } : {}) };
}

/** A parent's children in a state, in their order, from a place on. */
function inState(ctx: QueryCtx, parent: Id<"steps">, state: RunState, from = 0) {
  return ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) =>
      q.eq("parentStep", parent).eq("state", state).gte("index", from),
    );
}
