import { readGate } from "@stepwise/workpool/core";
import { type Infer, v } from "convex/values";
import { query, type QueryCtx } from "./_generated/server.js";
import { keyShown } from "./core/childRuns.js";
import { collectingOf, vCollecting } from "./core/collected.js";
import type { Doc, Run, Step } from "./core/documents.js";
import { keptEvents, vKept } from "./core/inbox.js";
import { shownInput } from "./core/input.js";
import { isEntry, isInput, isTurn } from "./core/kinds.js";
import { hasRoomToRead, MOST_COUNTED } from "./core/room.js";
import { findRun, runWithId, whichRun } from "./core/runs.js";
import { isLost } from "./core/scheduled.js";
import { activeSteps, hasNotEnded, nameOf } from "./core/steps.js";
import { tagsOf } from "./core/tags.js";
import { vWaiting, waitingOf } from "./core/turns.js";
import { isUnder } from "./engine/deadlineTimer.js";
import { factsOf, nodeFactsOf, nodeFields, runFacts, stepFactsOf, stepFields } from "./facts.js";
import { parentBeingUndone } from "./features/compensation.js";
import { doingOf, isStalled } from "./features/doing.js";
import { vDoing, vSteered, vTags } from "./validators.js";

/** How many runs `tree` shows. */
const MAX_TREE = 500;
const MAX_TREE_STEPS = 8_192;

const vActiveNode = v.object({
  ...nodeFields,
  node: v.string(),
  /** When it was reached, in ms since the epoch. */
  since: v.number(),
  timesOutAt: v.optional(v.number()),
  paused: v.optional(v.boolean()),
  stalled: v.optional(v.boolean()),
  doing: v.optional(vDoing),
});

const vStatus = v.object({
  ...runFacts,
  /** What it was started with. Absent if that is not to be shown. */
  input: v.optional(v.any()),
  tags: v.optional(vTags),
  waitsFor: v.optional(vWaiting),
  collecting: v.optional(vCollecting),
  expiresAt: v.optional(v.number()),
  timesOutAt: v.optional(v.number()),
  active: v.array(vActiveNode),
  stalled: v.boolean(),
  steered: v.optional(v.array(vSteered)),
  kept: v.array(vKept),
  output: v.optional(v.any()),
  /** Its output is that of a `sensitive` node, and left out. */
  isSensitive: v.optional(v.boolean()),
  onEndError: v.optional(v.string()),
  onCompleteError: v.optional(v.string()),
});

/** A run's state, where it is, and its output or error. Null if there is no such run. */
export const status = query({
  args: whichRun,
  returns: v.union(vStatus, v.null()),
  handler: async (ctx, { run: which, workflow }): Promise<Infer<typeof vStatus> | null> => {
    const run = await findRun(ctx, which, workflow);
    if (run === null) return null;
    const ofRun = ctx.db.query("deadlines").withIndex("by_run", (q) => q.eq("run", run._id));
    const deadlines = run.endedAt === undefined ? await ofRun.collect() : [];
    const isActive = run.endedAt === undefined || run.onEnd === true;
    const active = isActive ? await activeNodes(ctx, run, deadlines) : [];
    let isLate = false;
    for (const deadline of deadlines) isLate ||= await isLost(ctx, deadline);
    const isComplete = run.state === "completed";
    const last =
      isComplete && run.outputStep !== undefined ? await ctx.db.get("steps", run.outputStep) : null;
    const isSensitive = last?.sensitive;
    return {
      ...factsOf(run),
      input: run.collects === undefined ? await shownInput(ctx, run) : undefined,
      tags: await tagsOf(ctx, run),
      waitsFor: await waitingOf(ctx, run),
      collecting: await collectingOf(ctx, run),
      expiresAt: run.expiresAt,
      timesOutAt: deadlines.find(({ stage }) => stage === undefined)?.at,
      active,
      paused: run.paused === true || active.some(({ paused }) => paused),
      stalled: isLate || active.some(({ stalled }) => stalled),
      steered: run.steered,
      kept: await keptEvents(ctx, run._id),
      output: isComplete && !isSensitive ? (run.output ?? last?.output ?? null) : undefined,
      isSensitive,
      onEndError: run.onEndError,
      onCompleteError: run.onCompleteError,
    };
  },
});

async function activeNodes(
  ctx: QueryCtx,
  { _id: run, state: runState }: Run,
  deadlines: readonly Doc<"deadlines">[],
): Promise<Infer<typeof vActiveNode>[]> {
  const nodes: Infer<typeof vActiveNode>[] = [];
  for await (const step of activeSteps(ctx, run))
    nodes.push(await activeNode(ctx, step, deadlines));
  if (runState !== "compensating" || nodes.length > 0) return nodes;
  const parent = await parentBeingUndone(ctx, run);
  return parent === null
    ? []
    : [{ ...(await activeNode(ctx, parent, deadlines)), state: "waiting" }];
}

async function activeNode(ctx: QueryCtx, step: Step, deadlines: readonly Doc<"deadlines">[]) {
  const { entersAt = 0 } = step;
  const facts = await nodeFactsOf(ctx, step);
  const stalled = (await isStalled(ctx, step)) || undefined;
  // A run that was started for later waits at its first stage.
  const dueAt = step.dueAt ?? (isEntry(step) && entersAt > step.startedAt ? entersAt : undefined);
  return {
    ...facts,
    node: step.stage,
    since: step.startedAt,
    dueAt,
    timesOutAt: deadlines.find((deadline) => isUnder(deadline, step))?.at,
    paused: step.paused,
    stalled,
    doing: stalled ? ("stalled" as const) : doingOf(facts),
  };
}

/** What a run was started with, without what is sensitive. Null for an unknown run. */
export const input = query({
  args: { runId: v.string() },
  returns: v.any(),
  handler: async (ctx, { runId }) => {
    const run = await runWithId(ctx, runId);
    return run === null ? null : await shownInput(ctx, run);
  },
});

export const pool = query({
  args: {},
  returns: v.object({
    maxParallelism: v.number(),
    running: v.number(),
    /** Steps in the queue; 100 means 100 or more. */
    waiting: v.number(),
    /** Since when the first of them waits; ms since the epoch. */
    oldestWaitingSince: v.optional(v.number()),
    /** Steps that wait for their next attempt; 100 means 100 or more. */
    retrying: v.number(),
    /** When the first of these is due; ms since the epoch. */
    nextRetryAt: v.optional(v.number()),
    watchdogAt: v.optional(v.number()),
  }),
  handler: async (ctx) => {
    const gate = await readGate(ctx);
    const slots = await ctx.db.query("slots").collect();
    const queue = await ctx.db.query("waiting").withIndex("by_commit").take(MOST_COUNTED);
    // Only actions are tried again.
    const retrying = await ctx.db
      .query("steps")
      .withIndex("by_kind_state", (q) => q.eq("kind", "action").eq("state", "waiting"))
      .take(MOST_COUNTED);
    const retriesAt = retrying.flatMap(({ dueAt }) => dueAt ?? []);
    const watch = await ctx.db.query("watch").unique();
    return {
      maxParallelism: gate?.maxParallelism ?? 0,
      running: slots.filter(({ work }) => work !== undefined).length,
      waiting: queue.length,
      oldestWaitingSince: queue[0]?._creationTime,
      retrying: retrying.length,
      nextRetryAt: retriesAt.length === 0 ? undefined : Math.min(...retriesAt),
      watchdogAt: watch?.job === undefined ? undefined : watch.at,
    };
  },
});

const vTreeStep = v.object({
  ...stepFields,
  stage: v.string(),
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
});

/** `key`: of a child, its key among its siblings. */
const vTreeRun = v.object({
  ...runFacts,
  parentStage: v.optional(v.string()),
  index: v.number(),
  steps: v.array(vTreeStep),
});

/** A run and those under it, oldest first, with their steps: for tools. It may be truncated. */
export const tree = query({
  args: { runId: v.string() },
  returns: v.union(v.object({ runs: v.array(vTreeRun), truncated: v.boolean() }), v.null()),
  handler: async (ctx, { runId }) => {
    const top = await runWithId(ctx, runId);
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
    const isCut =
      below.length === MAX_TREE || runs.some(({ steps }) => steps.length === MAX_TREE_STEPS);
    return { runs, truncated: isCut || !(await hasRoomToRead(ctx)) };
  },
});

async function treeRun(ctx: QueryCtx, run: Run): Promise<Infer<typeof vTreeRun>> {
  const steps: Infer<typeof vTreeStep>[] = [];
  for await (const step of ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", run._id))) {
    const { startedAt, endedAt } = step;
    const facts = await stepFactsOf(ctx, step);
    // It does nothing: in a moment it is canceled, or begins after all.
    const isSkipped = isTurn(step) && hasNotEnded(step) && run.one?.otherwise === "skip";
    if (!isInput(step) && !isSkipped)
      steps.push({ ...facts, stage: nameOf(step), startedAt, endedAt });
    if (steps.length === MAX_TREE_STEPS || !(await hasRoomToRead(ctx))) break;
  }
  const parent = run.parentStep === undefined ? null : await ctx.db.get("steps", run.parentStep);
  return {
    ...factsOf(run),
    parentStage: parent === null ? undefined : nameOf(parent),
    key: keyShown(run),
    index: run.index,
    steps,
  };
}
