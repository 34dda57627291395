import * as core from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { withoutValues } from "../../errors/hidden.js";
import type { MutationCtx, Run, Step, StepId } from "../core/documents.js";
import { isInPool } from "../core/kinds.js";
import { logThrown } from "../core/log.js";
import { pool } from "../core/poolHost.js";
import { cancelScheduled } from "../core/scheduled.js";

/** To record that it failed, and to give the slot of the run's last action to another work. */
const ROOM_AFTER_CALL = {
  ...core.ROOM_TO_COMPLETE,
  databaseQueries: core.ROOM_TO_COMPLETE.databaseQueries + core.ROOM_TO_RECORD.databaseQueries,
  // The read with which it did too much, and the arguments of the next: it needs room itself.
  bytesRead: 2 * core.ROOM_TO_RECORD.bytesRead,
};

/** Calls a run's `onComplete`, nested. @param sensitive the run's error is not logged. */
export async function callOnComplete(ctx: MutationCtx, run: Run, sensitive: boolean) {
  if (run.onComplete === undefined) return;
  const stored = await ctx.db
    .query("contexts")
    .withIndex("by_run", (q) => q.eq("run", run._id))
    .first();
  let isSensitive = sensitive;
  try {
    const last = run.outputStep === undefined ? null : await ctx.db.get("steps", run.outputStep);
    isSensitive ||= last?.sensitive === true;
    const result =
      run.state === "completed"
        ? { state: run.state, output: last?.output ?? null }
        : { state: run.state, error: run.error };
    await ctx.runMutation(
      run.onComplete as FunctionHandle<"mutation">,
      { runId: run._id, context: stored?.context ?? null, result },
      {
        // guard: callback-room
        transactionLimits: await core.leaveRoom(ctx, ROOM_AFTER_CALL),
      },
    );
  } catch (error) {
    const message = core.messageOf(error);
    await logThrown(ctx, "onCompleteFailed", run, message, { sensitive: isSensitive });
    const { message: told } = isSensitive
      ? withoutValues({ kind: "thrown", message })
      : { message };
    await ctx.db.patch("runs", run._id, { onCompleteError: core.wellFormed(told.slice(0, 8_000)) });
  }
}

/**
 * Cancels what is scheduled for a step. An action that runs goes on to its end.
 * @returns when its attempt began, if one has.
 */
export async function stopStep(ctx: MutationCtx, step: Step): Promise<number | undefined> {
  const { _id, job, event } = step;
  await cancelScheduled(ctx, step);
  if (!isInPool(step)) return undefined;
  if (job === undefined) return (await withdraw(ctx, _id)).beganAt;
  await releaseSlot(ctx, _id);
  return event !== undefined && "beganAt" in event ? event.beganAt : undefined;
}

/** Gives back the slot of an action whose report was still to be recorded. */
export async function releaseSlot(ctx: MutationCtx, step: StepId): Promise<void> {
  const slot = await core.slotOf(ctx, step);
  if (slot !== null)
    await core.completeWork(ctx, pool, { work: step, slot: slot._id, executes: true });
}

/**
 * Takes an action out of the pool, unless it has begun. `isAhead`: it had not begun; if it waited,
 * `place` is where.
 */
export async function withdraw(ctx: MutationCtx, step: StepId) {
  const place = await core.leaveQueueCanceled(ctx, pool, step);
  if (place !== null) return { isAhead: true, place };
  const slot = await core.slotOf(ctx, step);
  if (
    slot?.job === undefined ||
    // guard: slot-of-running
    !(await core.cancelStart(ctx, slot))
  )
    return { isAhead: false, beganAt: slot?.beganAt ?? slot?.startedAt };
  await core.completeWork(ctx, pool, { work: step, slot: slot._id, executes: true });
  return { isAhead: true };
}
