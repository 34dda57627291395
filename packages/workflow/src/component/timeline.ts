import { paginator } from "convex-helpers/server/pagination";
import { v, type Infer } from "convex/values";
import type { Doc } from "./_generated/dataModel.js";
import { query, type QueryCtx } from "./_generated/server.js";
import { countChildren, vChildren } from "./childProgress.js";
import schema from "./schema.js";
import { vError, vPass, vRunState, vStepKind, vStepState } from "./validators.js";
import { stateOf } from "./views.js";

/** A page ends early where its records take so many bytes: with their outputs they may be 1 MiB each. */
const MAX_PAGE_BYTES = 4 << 20;

/** Which page, as Convex's pagination hooks ask for it. */
export const vPage = v.object({
  numItems: v.number(),
  cursor: v.union(v.string(), v.null()),
  endCursor: v.optional(v.union(v.string(), v.null())),
});

export const vRecord = v.object({
  stage: v.string(),
  called: v.optional(v.string()),
  kind: vStepKind,
  pass: v.optional(vPass),
  state: vStepState,
  generation: v.number(),
  attempt: v.number(),
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
  dueAt: v.optional(v.number()),
  iteration: v.optional(v.number()),
  chosen: v.optional(v.string()),
  events: v.optional(v.array(v.string())),
  children: v.optional(vChildren),
  /** Absent where there is none, and where it is not to be shown. */
  output: v.optional(v.any()),
  sensitive: v.boolean(),
  undone: v.boolean(),
  paused: v.boolean(),
  errors: v.array(vError),
});

/** The records of a run's steps in the order in which they began, in pages; null for an unknown run, and for one of another workflow. */
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
    const id = ctx.db.normalizeId("runs", runId);
    const run = id === null ? null : await ctx.db.get("runs", id);
    if (run === null || run.workflow !== workflow) return null;
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

async function recordOf(ctx: QueryCtx, step: Doc<"steps">): Promise<Infer<typeof vRecord>> {
  const sensitive = step.sensitive === true;
  const hasEnded = step.endedAt !== undefined;
  return {
    stage: step.stage,
    called: step.called,
    kind: step.kind,
    pass: step.pass,
    state: await stateOf(ctx, step),
    generation: step.generation ?? 1,
    attempt: step.attempt,
    startedAt: step.startedAt,
    endedAt: step.endedAt,
    dueAt: step.dueAt,
    iteration: step.iteration,
    chosen: step.chosen,
    events: step.names,
    ...(step.kind === "children" ? { children: await countChildren(ctx, step) } : {}),
    // The state of a loop that goes on is no result yet.
    ...(hasEnded && step.output !== undefined && !sensitive ? { output: step.output } : {}),
    sensitive,
    undone: step.undone === true,
    paused: step.held === true && !hasEnded,
    errors: step.errors ?? [],
  };
}
