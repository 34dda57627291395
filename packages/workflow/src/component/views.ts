import { isWaiting } from "@stepwise/workpool/core";
import { v, type Infer } from "convex/values";
import type { Doc, Id } from "./_generated/dataModel.js";
import { query, type QueryCtx } from "./_generated/server.js";
import { outputOf } from "./scope.js";
import { ACTIVE_STATES, vError, vRunState, vStepKind, vStepState } from "./validators.js";

/** How many children `status` counts; beyond, it says so. Their runs are small documents. */
const MAX_COUNTED = 5_000;
/** How many runs `tree` shows. */
const MAX_TREE = 500;
/** What `tree` leaves unread of the 16 MiB that it may read: the next record may hold an output of 1 MiB. */
const TREE_ROOM_BYTES = 2 * 1024 * 1024;

const vActiveNode = v.object({
  node: v.string(),
  state: vStepState,
  /** Since when it is in that state or, of an action, since when it was queued; ms since the epoch. */
  since: v.number(),
  attempt: v.number(),
  dueAt: v.optional(v.number()),
  children: v.optional(v.object({ done: v.number(), total: v.number() })),
  errors: v.array(vError),
});

export const vStatus = v.object({
  runId: v.string(),
  workflow: v.string(),
  state: vRunState,
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
  active: v.array(vActiveNode),
  output: v.optional(v.any()),
  error: v.optional(vError),
});

/** How a run is doing: its state, where it is, and its output or error. Null for an unknown id. */
export const status = query({
  args: { runId: v.string() },
  returns: v.union(vStatus, v.null()),
  handler: async (ctx, { runId }): Promise<Infer<typeof vStatus> | null> => {
    const id = ctx.db.normalizeId("runs", runId);
    const run = id === null ? null : await ctx.db.get("runs", id);
    if (run === null) return null;
    const ended = run.endedAt !== undefined;
    return {
      runId: run._id,
      workflow: run.workflow,
      state: run.state,
      startedAt: run.startedAt,
      endedAt: run.endedAt,
      active: ended ? [] : await activeNodes(ctx, run._id),
      output: await outputOf(ctx, run),
      error: run.error,
    };
  },
});

async function activeNodes(ctx: QueryCtx, run: Id<"runs">): Promise<Infer<typeof vActiveNode>[]> {
  const nodes: Infer<typeof vActiveNode>[] = [];
  for (const state of ACTIVE_STATES) {
    const steps = ctx.db
      .query("steps")
      .withIndex("by_run_state", (q) => q.eq("run", run).eq("state", state));
    for await (const step of steps) nodes.push(await activeNode(ctx, step));
  }
  return nodes;
}

async function activeNode(ctx: QueryCtx, step: Doc<"steps">): Promise<Infer<typeof vActiveNode>> {
  return {
    node: step.stage,
    state: await stateOf(ctx, step),
    since: step.startedAt,
    attempt: step.attempt,
    dueAt: step.dueAt,
    errors: step.errors ?? [],
    ...(step.kind === "children" ? { children: await countChildren(ctx, step) } : {}),
  };
}

/** An action that was given to the pool is pending as long as it waits for a slot; its own record does not say so. */
async function stateOf(ctx: QueryCtx, step: Doc<"steps">): Promise<Doc<"steps">["state"]> {
  const queued = step.state === "running" && step.kind === "action";
  return queued && (await isWaiting(ctx, step._id)) ? "pending" : step.state;
}

async function countChildren(
  ctx: QueryCtx,
  step: Doc<"steps">,
): Promise<{ done: number; total: number }> {
  const completed = await ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) => q.eq("parentStep", step._id).eq("state", "completed"))
    .take(MAX_COUNTED);
  return { done: completed.length, total: step.total ?? 0 };
}

const vTreeStep = v.object({
  stage: v.string(),
  kind: vStepKind,
  state: vStepState,
  attempt: v.number(),
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
  dueAt: v.optional(v.number()),
  errors: v.array(vError),
});

const vTreeRun = v.object({
  runId: v.string(),
  parentRunId: v.optional(v.string()),
  parentStage: v.optional(v.string()),
  key: v.optional(v.string()),
  index: v.number(),
  workflow: v.string(),
  state: vRunState,
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
  error: v.optional(vError),
  steps: v.array(vTreeStep),
});

/**
 * A run and the runs under it with all their steps, oldest first: for tools. Truncated beyond 500 runs, or where the records with their
 * outputs are more than one query can read.
 */
export const tree = query({
  args: { runId: v.string() },
  returns: v.union(v.object({ runs: v.array(vTreeRun), truncated: v.boolean() }), v.null()),
  handler: async (ctx, { runId }) => {
    const id = ctx.db.normalizeId("runs", runId);
    const top = id === null ? null : await ctx.db.get("runs", id);
    if (top === null) return null;
    const below = await ctx.db
      .query("runs")
      .withIndex("by_root", (q) => q.eq("root", top._id))
      .take(MAX_TREE);
    const runs: Infer<typeof vTreeRun>[] = [];
    for (const run of [top, ...below]) {
      if (!(await hasRoomToRead(ctx))) break;
      runs.push(await treeRun(ctx, run));
    }
    return { runs, truncated: below.length === MAX_TREE || !(await hasRoomToRead(ctx)) };
  },
});

async function hasRoomToRead(ctx: QueryCtx): Promise<boolean> {
  const { bytesRead } = await ctx.meta.getTransactionMetrics();
  return bytesRead.remaining > TREE_ROOM_BYTES;
}

async function treeRun(ctx: QueryCtx, run: Doc<"runs">): Promise<Infer<typeof vTreeRun>> {
  const steps: Doc<"steps">[] = [];
  for await (const step of ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", run._id))) {
    steps.push(step);
    if (!(await hasRoomToRead(ctx))) break;
  }
  const parent = run.parentStep === undefined ? null : await ctx.db.get("steps", run.parentStep);
  return {
    runId: run._id,
    parentRunId: run.parentRun,
    parentStage: parent?.stage,
    key: run.childKey,
    index: run.index,
    workflow: run.workflow,
    state: run.state,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    error: run.error,
    steps: await Promise.all(
      steps
        .filter((step) => step.kind !== "input")
        .map(async (step) => ({
          stage: step.stage,
          kind: step.kind,
          state: await stateOf(ctx, step),
          attempt: step.attempt,
          startedAt: step.startedAt,
          endedAt: step.endedAt,
          dueAt: step.dueAt,
          errors: step.errors ?? [],
        })),
    ),
  };
}
