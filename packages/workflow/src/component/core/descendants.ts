import { childrenFrom } from "./childRuns.js";
import { hasRoomInPage } from "./continuations.js";
import type { QueryCtx, RunId, StepId } from "./documents.js";
import { BEGINNING, firstAfter, momentOf, type Moment } from "./moments.js";

/** How far was looked: at the next child `from` a place, but first at what is below the last. */
export type Seen = {
  from: number;
  /** The last run on each level, and the last run below it that was seen. */
  way: { run: RunId; after: Moment<"runs"> }[];
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
    const next =
      at === undefined
        ? await childrenFrom(ctx, parent, from).first()
        : await firstAfter(
            at.after,
            ctx.db
              .query("runs")
              .withIndex("by_parent_run", (q) =>
                q.eq("parentRun", at.run).gte("_creationTime", at.after.time),
              ),
          );
    if (next === null) {
      if (at === undefined) return "over";
      way.pop();
      continue;
    }
    if (next.endedAt === undefined || next.ending !== undefined) return "goes on";
    if (at === undefined) from = next.index + 1;
    else at.after = momentOf(next, at.after);
    way.push({ run: next._id, after: BEGINNING });
  }
  return { from, way };
}
