import { paginator } from "convex-helpers/server/pagination";
import { v, type Infer } from "convex/values";
import { query, type QueryCtx } from "./_generated/server.js";
import type { Step } from "./core/documents.js";
import { findRun } from "./core/runs.js";
import schema from "./schema.js";
import { vError, vRunState } from "./validators.js";
import { nodeFactsOf, nodeFields } from "./views.js";

/** A page ends early if its records take so many bytes. */
const MAX_PAGE_BYTES = 4 << 20;

/** Which page, as Convex's pagination hooks ask for it. */
export const vPage = v.object({
  numItems: v.number(),
  cursor: v.union(v.string(), v.null()),
  endCursor: v.optional(v.union(v.string(), v.null())),
});

export const vRecord = v.object({
  ...nodeFields,
  stage: v.string(),
  generation: v.number(),
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
  /** Absent if there is none, and if it is not to be shown. */
  output: v.optional(v.any()),
  sensitive: v.boolean(),
  undone: v.boolean(),
  paused: v.boolean(),
});

/** A run's step records in the order in which they began, in pages; null for an unknown run. */
export const steps = query({
  args: { runId: v.string(), workflow: v.string(), page: vPage },
  returns: v.union(
    v.object({
      state: vRunState,
      error: v.optional(vError),
      generation: v.number(),
      records: v.array(vRecord),
      isDone: v.boolean(),
      continueCursor: v.string(),
    }),
    v.null(),
  ),
  handler: async (ctx, { runId, workflow, page }) => {
    const run = await findRun(ctx, { runId }, workflow);
    if (run === null) return null;
    const { generation = 1, state, error } = run;
    const found = await paginator(ctx.db, schema)
      .query("steps")
      .withIndex("by_run", (q) => q.eq("run", run._id))
      .paginate({ ...page, maximumBytesRead: MAX_PAGE_BYTES });
    const records: Infer<typeof vRecord>[] = [];
    for (const step of found.page)
      if (step.kind !== "input") records.push(await recordOf(ctx, step));
    const { isDone, continueCursor } = found;
    return { state, error, generation, records, isDone, continueCursor };
  },
});

async function recordOf(ctx: QueryCtx, step: Step): Promise<Infer<typeof vRecord>> {
  const sensitive = step.sensitive === true;
  const hasEnded = step.endedAt !== undefined;
  return {
    ...(await nodeFactsOf(ctx, step)),
    stage: step.stage,
    generation: step.generation ?? 1,
    startedAt: step.startedAt,
    endedAt: step.endedAt,
    // The state of a loop that goes on is no result yet.
    output: hasEnded && !sensitive ? step.output : undefined,
    sensitive,
    undone: step.undone === true,
    paused: step.held === true && !hasEnded,
  };
}
