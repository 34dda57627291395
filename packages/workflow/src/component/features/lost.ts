import {
  ROOM_TO_COMPLETE,
  isOwnJob,
  isWaiting,
  keepLooking,
  leaveRoom,
  messageOf,
  slotOf,
  takeBack,
} from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import { logStuck } from "../core/log.js";
import { pool } from "../core/pool.js";
import { isToCome, stateOfJob } from "../core/scheduled.js";
import { nameOf } from "../core/steps.js";
import { attemptFailed, wake } from "../engine/entry.js";
import { ACTIVE_STATES, type Event } from "../validators.js";
import { insertLater } from "./childPages.js";

/** Wakes a step again whose scheduled function will not come. One that failed does so once more, with less to do; then its run is told. */
export async function seeTo(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  if (step.held === true || !ACTIVE_STATES.some((state) => state === step.state)) {
    await ctx.db.patch("steps", step._id, { wakeAt: undefined });
    return;
  }
  const state = await stateOfJob(ctx, step.job);
  if (isToCome(state)) return;
  if (state?.kind !== "failed" || step.isLastTry !== true)
    return await rearm(ctx, step, state?.kind === "failed");
  const run = await ctx.db.get("runs", step.run);
  const message = `The run could not go on at "${nameOf(step)}": ${state.error}`;
  if (run === null) return;
  try {
    const transactionLimits = await leaveRoom(ctx, ROOM_TO_COMPLETE);
    const problem = { kind: "thrown" as const, message };
    await ctx.runMutation(
      internal.settle.failStep,
      { step: step._id, problem },
      { transactionLimits },
    );
  } catch (error) {
    await logStuck(ctx, run, step, messageOf(error));
  }
}

/** Something was due: where its scheduled function has failed, or is gone, it goes on all the same. */
export const checkLate = internalMutation({
  args: { step: v.id("steps") },
  returns: v.null(),
  handler: async (ctx, { step: id }) => {
    const step = await ctx.db.get("steps", id);
    if (step === null || !(await isOwnJob(ctx, step.reserve))) return null;
    if (isToCome(await stateOfJob(ctx, step.job))) await keepLooking(ctx, pool);
    else await seeTo(ctx, step);
    return null;
  },
});

/** Schedules anew what goes on with a step that waits: at once where it is due. An action that is in the pool is the pool's. */
export async function rearm(
  ctx: MutationCtx,
  step: Doc<"steps">,
  isLastTry = false,
): Promise<void> {
  if (step.inserting === true) return await insertLater(ctx, step._id);
  const event = eventOf(step);
  if (event === undefined) return;
  const at = Math.max(Date.now(), step.wakeAt ?? step.dueAt ?? 0);
  await wake(ctx, step, { event, at, isLastTry });
}

/** What is said to a step when it is woken; undefined where nothing is. */
function eventOf({ kind, state, event, dueAt }: Doc<"steps">): Event | undefined {
  if (event !== undefined) return event;
  if (kind === "entry" || state === "pending") return { kind: "arrive" };
  if (kind === "action") return state === "waiting" ? { kind: "arrive" } : undefined;
  if (kind === "children") return undefined;
  if (dueAt === undefined || (kind !== "sleep" && kind !== "event")) return undefined;
  return { kind: "due", of: kind };
}

/** Whether an action that should run is neither in the queue nor in a slot, and nothing will tell its run so. */
export async function isStranded(ctx: QueryCtx, step: Doc<"steps">): Promise<boolean> {
  const { kind, state, held, wakeAt, _id } = step;
  if (kind !== "action" || state !== "running" || held === true || wakeAt !== undefined)
    return false;
  return !(await isWaiting(ctx, _id)) && (await slotOf(ctx, _id)) === null;
}

/** Tells a run that its action is lost, if it is. Where that throws, another look or repair tries it again. */
export async function recoverStranded(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  try {
    const transactionLimits = await leaveRoom(ctx, ROOM_TO_COMPLETE);
    await ctx.runMutation(
      internal.features.lost.recover,
      { step: step._id },
      { transactionLimits },
    );
  } catch (error) {
    const run = await ctx.db.get("runs", step.run);
    if (run !== null) await logStuck(ctx, run, step, messageOf(error));
  }
}

export const recover = internalMutation({
  args: { step: v.id("steps") },
  returns: v.null(),
  handler: async (ctx, { step: id }: { step: Id<"steps"> }) => {
    const step = await ctx.db.get("steps", id);
    if (step !== null && (await isStranded(ctx, step)))
      await attemptFailed(ctx, id, "lost", "Its action was lost: the pool could not recover it");
    await takeBack(ctx, id);
    return null;
  },
});
