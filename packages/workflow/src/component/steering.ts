import { MOST_KEPT } from "./core/room.js";
import { oneOf } from "@stepwise/workpool/core";
import { v, type ObjectType } from "convex/values";
import { mutation, query } from "./_generated/server.js";
import { publicMutation } from "./core/continuations.js";
import type { MutationCtx, QueryCtx, Run, RunId } from "./core/documents.js";
import { hasInput, inputFields, keptInput as inputOf } from "./core/input.js";
import { findRun, hasEnded, runWithId, unendedWithKey, whichRun } from "./core/runs.js";
import { stepRead } from "./core/steps.js";
import { putTags } from "./core/tags.js";
import { holderOf } from "./core/turns.js";
import { cancelRun } from "./features/ending.js";
import { pauseRun, resumeRun } from "./features/pause.js";
import { repairAll } from "./features/repair.js";
import { restartFields, restartRun, resumedAt, vNewInput } from "./features/restart.js";
import { removeRun } from "./features/retention.js";
import { recordArgs, type Steered, vPlans, vTags } from "./validators.js";

/* What others do to a run. If it cannot be done, nothing changes, and the answer says why. */

/** Notes what was done to a run, unless its callback has removed it meanwhile. */
async function logSteering(ctx: MutationCtx, id: RunId, what: Steered["what"], from?: string) {
  const run = await ctx.db.get("runs", id);
  if (run === null) return;
  const before = (run.steered ?? []).slice(1 - MOST_KEPT);
  await ctx.db.patch("runs", id, { steered: [...before, { what, at: Date.now(), from }] });
}

/**
 * Makes a handler that does something to a run and everything under it. @param steer false answers
 * `refused`.
 */
function steering<Done extends Steered["what"], Refused extends string>(
  done: Done,
  refused: Refused,
  steer: (ctx: MutationCtx, run: Run) => Promise<boolean>,
) {
  return async (ctx: MutationCtx, { run: which, workflow }: ObjectType<typeof whichRun>) => {
    const run = await findRun(ctx, which, workflow);
    if (run === null) return "unknown";
    if (!(await steer(ctx, run))) return refused;
    await logSteering(ctx, run._id, done);
    return done;
  };
}

export const cancel = mutation({
  args: whichRun,
  returns: oneOf("canceled", "ended", "unknown"),
  handler: steering("canceled", "ended", cancelRun),
});

export const pause = mutation({
  args: whichRun,
  returns: oneOf("paused", "ended", "unknown"),
  handler: steering("paused", "ended", pauseRun),
});

export const resume = mutation({
  args: whichRun,
  returns: oneOf("resumed", "not paused", "unknown"),
  handler: steering("resumed", "not paused", resumeRun),
});

/** Returns why an ended run of the top level is not found; null if it is. */
async function refusalOf(ctx: QueryCtx, run: Run | null) {
  if (run === null) return "unknown";
  if (run.parentRun !== undefined) return "child";
  return (await hasEnded(ctx, run)) ? null : "goes on";
}

/** Begins a new generation of a run that has ended, whole or from a node. */
export const restart = mutation({
  args: { runId: v.string(), ...restartFields, input: vNewInput, tags: v.optional(vTags) },
  returns: oneOf(
    "restarted",
    "goes on",
    "key taken",
    "no iteration",
    "no input",
    "child",
    "unknown",
  ),
  handler: async (ctx, { runId, input, tags, ...restart }) => {
    const { workflow } = restart.begin;
    const run = await findRun(ctx, { runId }, workflow);
    const refusal = await refusalOf(ctx, run);
    if (run === null || refusal !== null) return refusal ?? "unknown";
    const { startKey } = run;
    if (startKey !== undefined && (await unendedWithKey(ctx, workflow, startKey)) !== null)
      return "key taken";
    const { one } = restart;
    if (one?.otherwise === "skip" && (await holderOf(ctx, { workflow, key: one.key })) !== null)
      return "key taken";
    const resumed = await resumedAt(ctx, run._id, restart);
    if (resumed === null) return "no iteration";
    if (input === undefined && !(await hasInput(ctx, run))) return "no input";
    if (tags !== undefined) await putTags(ctx, run, tags);
    await logSteering(ctx, run._id, "restarted", restart.from);
    await restartRun(ctx, run, restart, input, resumed);
    return "restarted";
  },
});

/** The input that a restart of a run would keep. Null if the run is not there to be restarted. */
export const keptInput = query({
  args: { runId: v.string(), workflow: v.string() },
  returns: v.union(v.object(inputFields), v.null()),
  handler: async (ctx, { runId, workflow }) => {
    const run = await findRun(ctx, { runId }, workflow);
    if (run === null || (await refusalOf(ctx, run)) !== null) return null;
    return (await hasInput(ctx, run)) ? await inputOf(ctx, run) : null;
  },
});

/** Removes a run that has ended, and everything under it. */
export const cleanup = mutation({
  args: { runId: v.string() },
  returns: oneOf("removed", "goes on", "child", "unknown"),
  handler: async (ctx, { runId }) => {
    const run = await runWithId(ctx, runId);
    const refusal = await refusalOf(ctx, run);
    if (run === null || refusal !== null) return refusal ?? "unknown";
    await removeRun(ctx, run);
    return "removed";
  },
});

/** Schedules again what was lost. @param plans the deployed ones, for runs that wait for events. */
export const repair = publicMutation(
  { plans: v.optional(vPlans) },
  async (ctx, { plans }) => await repairAll(ctx, plans),
);

/** Says whether a stage has been completed in a generation of a run. */
export const isCompleted = query({
  args: { ...recordArgs, generation: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { run, generation, ...of }) => {
    const step = await stepRead(ctx, run as RunId, of);
    return step?.state === "completed" && (step.generation ?? 1) === generation;
  },
});

/** The nodes of the top level that kept their result in the last restart. */
export const retained = query({
  args: { run: v.string(), generation: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { run: runId, generation }) => {
    const run = await runWithId(ctx, runId);
    return run?.generation === generation ? (run.retained ?? []) : [];
  },
});
