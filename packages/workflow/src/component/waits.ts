import { paginator } from "convex-helpers/server/pagination";
import { paginationOptsValidator, type PaginationOptions } from "convex/server";
import { type Infer, v } from "convex/values";
import { query, type QueryCtx } from "./_generated/server.js";
import type { Run, RunId, Step } from "./core/documents.js";
import { shownInput } from "./core/input.js";
import { takesEvents } from "./core/kinds.js";
import { Paths, placeIn } from "./core/paths.js";
import { hasRoomToRead, LIMITS } from "./core/room.js";
import { runWithId } from "./core/runs.js";
import { nameOf } from "./core/steps.js";
import schema from "./schema.js";
import { vIterations } from "./validators.js";
import { pageFields } from "./facts.js";

const vWait = v.object({
  runId: v.string(),
  workflow: v.string(),
  key: v.optional(v.string()),
  /** Where it is in the tree: nodes and children, from the top. */
  path: v.string(),
  node: v.string(),
  iterations: v.optional(vIterations),
  events: v.array(v.string()),
  /** What the run was started with. Absent if that is not to be shown. */
  input: v.optional(v.any()),
  since: v.number(),
  dueAt: v.optional(v.number()),
  paused: v.optional(v.boolean()),
});
type Wait = Infer<typeof vWait>;

const vWaits = v.object({ ...pageFields, page: v.array(vWait) });

/** What a run and those below it wait for from outside, in the order in which the runs began. */
export const list = query({
  args: { runId: v.string(), page: paginationOptsValidator },
  returns: vWaits,
  handler: async (ctx, { runId, page }) => {
    const top = await runWithId(ctx, runId);
    if (top === null) return { page: [], isDone: true, continueCursor: "" };
    return await waitsBelow(ctx, top, page);
  },
});

async function waitsBelow(
  ctx: QueryCtx,
  top: Run,
  options: PaginationOptions,
): Promise<Infer<typeof vWaits>> {
  const paths = new Paths(ctx, top);
  const waiting = new Map<RunId, Step[]>();
  const waits = async (run: Run) => {
    const steps = await eventSteps(ctx, run._id);
    if (steps.length === 0 || (await paths.of(run)) === undefined) return false;
    waiting.set(run._id, steps);
    return true;
  };
  // Each run takes a range or two, of the 4,096 that can be read.
  const found = await paginator(ctx.db, schema)
    .query("runs")
    .withIndex("by_root_state", (q) => q.eq("root", top.root ?? top._id).eq("state", "running"))
    .filterWith(async (run) => run._id !== top._id && (await waits(run)))
    .paginate({ ...LIMITS, ...options });
  // The run itself comes first: the index has only what is below another.
  const own = options.cursor === null && (await waits(top)) ? [top] : [];
  const page: Wait[] = [];
  for (const [read, run] of [...own, ...found.page].entries()) {
    // Large inputs make a page shorter.
    const fits = read <= own.length || (await hasRoomToRead(ctx));
    if (!fits) return await waitsBelow(ctx, top, { ...options, numItems: read - own.length });
    const input = await shownInput(ctx, run);
    const path = await paths.of(run);
    for (const step of waiting.get(run._id) ?? []) page.push(waitOf(run, step, input, path ?? ""));
  }
  return { page, isDone: found.isDone, continueCursor: found.continueCursor };
}

function waitOf(run: Run, step: Step, input: unknown, path: string): Wait {
  const { iterations, names: events = [], startedAt: since, dueAt, paused } = step;
  const { _id: runId, workflow, startKey: key } = run;
  const of = {
    runId,
    workflow,
    key,
    node: nameOf(step),
    iterations,
    path: path + placeIn(step),
  };
  return { ...of, events, input, since, dueAt, paused };
}

async function eventSteps(ctx: QueryCtx, run: RunId): Promise<Step[]> {
  const waiting = await ctx.db
    .query("steps")
    .withIndex("by_run_state", (q) => q.eq("run", run).eq("state", "waiting"))
    .collect();
  return waiting.filter(takesEvents);
}
