import { type Infer, v } from "convex/values";
import type { QueryCtx, Step } from "./core/documents.js";
import { childrenIn, lastChild } from "./core/steps.js";
import type { RunState } from "./validators.js";

export const vChildren = v.object({
  total: v.number(),
  /** Completed. */
  done: v.number(),
  /** Failed, timed out, or canceled. */
  failed: v.number(),
  running: v.number(),
  /** There are so many that not all were read: the numbers are about right. */
  isEstimate: v.optional(v.boolean()),
});

/** How many documents of each state are read at most. */
const MOST = 500;
const GOING = ["running", "compensating"] as const;
const BAD = ["failed", "canceled", "timedOut"] as const;

/**
 * What the children of a parent do, without reading those that are done or wait. They start nearly in their order: so nearly all that follow
 * the first that waits wait too. If very many run at once, those that are done are read instead.
 */
export async function childProgress(
  ctx: QueryCtx,
  { _id: parent, total = 0 }: Pick<Step, "_id" | "total">,
): Promise<Infer<typeof vChildren>> {
  /** The places of children in these states. */
  const places = async (states: readonly RunState[], from = 0) => {
    const runs = [];
    for (const state of states)
      runs.push(...(await childrenIn(ctx, parent, state, from).take(MOST)));
    return runs.map(({ index }) => index);
  };
  const firstPending = await childrenIn(ctx, parent, "pending").first();
  const last = await lastChild(ctx, parent);
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
    return { total, done, failed, running: going, isEstimate: isEstimate || undefined };
  }
  const completed = (await places(["completed"])).length;
  // All before the first that runs are done or have failed.
  const first = completed < MOST ? null : await childrenIn(ctx, parent, "running").first();
  const done = Math.max(completed, (first?.index ?? 0) - failed);
  const running = Math.max(going, begun - failed - done);
  return { total, done, failed, running, isEstimate: isEstimate || completed >= MOST || undefined };
}
