import { v } from "convex/values";
import type { Doc, Id } from "./_generated/dataModel.js";
import { mutation, query } from "./_generated/server.js";
import { findRun, hasEnded, runWithId, unendedWithKey, whichRun } from "./core/runs.js";
import { isActive, stepRead } from "./core/steps.js";
import { cancelRun } from "./features/ending.js";
import { pauseRun, resumeRun } from "./features/pause.js";
import { repairAll } from "./features/repair.js";
import { restartFields, restartRun } from "./features/restart.js";
import { removeRun } from "./features/retention.js";
import { recordArgs, vPlans, vToken } from "./validators.js";

/* What becomes of a run from outside. What cannot be done changes nothing, and the answer says why. */

function goesOn({ state }: Doc<"runs">): boolean {
  return state === "running" || state === "pending";
}

/** Cancels a run and everything under it. */
export const cancel = mutation({
  args: whichRun,
  returns: v.union(v.literal("canceled"), v.literal("ended"), v.literal("unknown")),
  handler: async (ctx, { run: which, workflow }) => {
    const run = await findRun(ctx, which, workflow);
    if (run === null) return "unknown";
    return (await cancelRun(ctx, run)) ? "canceled" : "ended";
  },
});

/** Pauses a run and everything under it. */
export const pause = mutation({
  args: whichRun,
  returns: v.union(v.literal("paused"), v.literal("ended"), v.literal("unknown")),
  handler: async (ctx, { run: which, workflow }) => {
    const run = await findRun(ctx, which, workflow);
    if (run === null) return "unknown";
    if (!goesOn(run)) return "ended";
    await pauseRun(ctx, run);
    return "paused";
  },
});

/** Has a run that was paused go on, and everything under it. */
export const resume = mutation({
  args: whichRun,
  returns: v.union(v.literal("resumed"), v.literal("not paused"), v.literal("unknown")),
  handler: async (ctx, { run: which, workflow }) => {
    const run = await findRun(ctx, which, workflow);
    if (run === null) return "unknown";
    if (run.paused !== true) return "not paused";
    await resumeRun(ctx, run);
    return "resumed";
  },
});

/** Has a run that has ended begin anew, whole or from a node. */
export const restart = mutation({
  args: { runId: v.string(), ...restartFields },
  returns: v.union(
    v.literal("restarted"),
    v.literal("goes on"),
    v.literal("key taken"),
    v.literal("child"),
    v.literal("unknown"),
  ),
  handler: async (ctx, { runId, ...restart }) => {
    const run = await runWithId(ctx, runId);
    if (run === null || run.workflow !== restart.begin.workflow) return "unknown";
    if (run.parentRun !== undefined) return "child";
    if (!(await hasEnded(ctx, run))) return "goes on";
    const { workflow, startKey } = run;
    if (startKey !== undefined && (await unendedWithKey(ctx, workflow, startKey)) !== null)
      return "key taken";
    await restartRun(ctx, run, restart);
    return "restarted";
  },
});

/** Removes a run that has ended, and everything under it. */
export const cleanup = mutation({
  args: { runId: v.string() },
  returns: v.union(
    v.literal("removed"),
    v.literal("goes on"),
    v.literal("child"),
    v.literal("unknown"),
  ),
  handler: async (ctx, { runId }) => {
    const run = await runWithId(ctx, runId);
    if (run === null) return "unknown";
    if (run.parentRun !== undefined) return "child";
    if (!(await hasEnded(ctx, run))) return "goes on";
    await removeRun(ctx, run._id);
    return "removed";
  },
});

/** Has everything go on whose scheduled function was lost; and where plans are given, the runs of others that wait for an event without a limit. */
export const repair = mutation({
  args: { plans: v.optional(vPlans) },
  returns: v.null(),
  handler: async (ctx, { plans }) => {
    await repairAll(ctx, plans);
    return null;
  },
});

/** Whether the step of a token goes on no more, at least for now: its run was paused, or has ended. */
export const isHalted = query({
  args: { token: vToken },
  returns: v.boolean(),
  handler: async (ctx, { token }) => {
    const id = ctx.db.normalizeId("steps", token.step);
    const step = id === null ? null : await ctx.db.get("steps", id);
    return step === null || !isActive(step, token) || step.held === true;
  },
});

/** Whether a stage has been completed in a generation of a run. */
export const isCompleted = query({
  args: { ...recordArgs, generation: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { run, generation, ...of }) => {
    const step = await stepRead(ctx, run as Id<"runs">, of);
    return step?.state === "completed" && (step.generation ?? 1) === generation;
  },
});

/** The nodes of the top level that have kept their result when the run was restarted. */
export const kept = query({
  args: { run: v.string(), generation: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { run: runId, generation }) => {
    const run = await runWithId(ctx, runId);
    return run?.generation === generation ? (run.kept ?? []) : [];
  },
});
