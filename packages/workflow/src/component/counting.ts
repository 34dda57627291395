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
  /** So many children have ended badly that they were not all counted: some of those that are `done` are not. */
  isEstimate: v.optional(v.boolean()),
});
export type Children = Infer<typeof vChildren>;

/** How many documents of each state are read at most. Runs are small. */
const MOST = 500;

const BAD = ["failed", "canceled", "timedOut"] as const;

/**
 * What the children of a parent do, without reading those that are done, nor those that wait for their turn. They are started in their
 * order, or nearly: so nearly all that follow the first which waits do so too, and those that do not are few.
 */
export async function countChildren(
  ctx: QueryCtx,
  { _id: parent, total = 0 }: Pick<Doc<"steps">, "_id" | "total">,
): Promise<Children> {
  const count = async (states: readonly RunState[], from: number) => {
    let sum = 0;
    for (const state of states) sum += await countState(ctx, parent, state, from);
    return sum;
  };
  const firstPending = await ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", "pending"))
    .first();
  const last = await ctx.db
    .query("runs")
    .withIndex("by_parent", (q) => q.eq("parentStep", parent))
    .order("desc")
    .first();
  // Those that are not inserted yet wait too.
  const inserted = last === null ? 0 : last.index + 1;
  const from = firstPending?.index ?? inserted;
  const running = await count(["running", "compensating"], 0);
  const failed = await count(BAD, 0);
  const beyond = await count(["running", "compensating", "completed", ...BAD], from);
  const begun = from + beyond;
  const isEstimate = failed >= MOST || beyond >= MOST;
  return {
    total,
    done: Math.max(0, begun - running - failed),
    failed,
    running,
    ...(isEstimate ? { isEstimate } : {}),
  };
}

async function countState(
  ctx: QueryCtx,
  parent: Id<"steps">,
  state: RunState,
  from: number,
): Promise<number> {
  const some = await ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) =>
      q.eq("parentStep", parent).eq("state", state).gte("index", from),
    )
    .take(MOST);
  return some.length;
}
