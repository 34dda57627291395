import { childrenFrom } from "./childRuns.js";
import { hasRoomInPage } from "./continuations.js";
import type { QueryCtx, RunId, StepId } from "./documents.js";

/** How far was looked: at the next child `from` a place, but first at what is below the last. */
export type Seen = {
  from: number;
  /** The last run on each level, and when the last run below it was created that was seen. */
  way: { run: RunId; after: number }[];
};

/**
 * Looks for a run below a parent, on any level, that has not ended or whose `onEnd` goes on: a run
 * may end before those below it. @returns how far it came in this page, if it does not know.
 */
export async function lookBelow(
  ctx: QueryCtx,
  parent: StepId,
  { from, way: before }: Seen,
): Promise<"goes on" | "over" | Seen> {
  const way = before.map((each) => ({ ...each }));
  while (await hasRoomInPage(ctx)) {
    const at = way.at(-1);
    const below =
      at === undefined
        ? childrenFrom(ctx, parent, from)
        : ctx.db
            .query("runs")
            .withIndex("by_parent_run", (q) =>
              q.eq("parentRun", at.run).gt("_creationTime", at.after),
            );
    const next = await below.first();
    if (next === null) {
      if (at === undefined) return "over";
      way.pop();
      continue;
    }
    if (next.endedAt === undefined || next.ending !== undefined) return "goes on";
    if (at === undefined) from = next.index + 1;
    else at.after = next._creationTime;
    way.push({ run: next._id, after: 0 });
  }
  return { from, way };
}
