import {
  ROOM_TO_RECORD,
  cancelPending,
  completeWork,
  leaveLineCanceled,
  leaveRoom,
  messageOf,
  slotOf,
} from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { withoutValues } from "../../errors/without-values.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import type { MutationCtx } from "../_generated/server.js";
import { logOnCompleteFailed } from "../core/log.js";
import { pool } from "../core/pool.js";
import { callOffWaking } from "../core/scheduled.js";

/**
 * Calls the run's `onComplete`, once, in a nested transaction: what it throws rolls back its own writes only, and is kept in the run.
 * @param of `sensitive`: what the run's error says is not to be logged.
 */
export async function announceEnd(
  ctx: MutationCtx,
  run: Doc<"runs">,
  of: { sensitive: boolean },
): Promise<void> {
  if (run.onComplete === undefined) return;
  const kept = await ctx.db
    .query("contexts")
    .withIndex("by_run", (q) => q.eq("run", run._id))
    .first();
  let { sensitive } = of;
  try {
    const last = run.outputStep === undefined ? null : await ctx.db.get("steps", run.outputStep);
    sensitive ||= last?.sensitive === true;
    const result =
      run.state === "completed"
        ? { state: run.state, output: last?.output ?? null }
        : { state: run.state, error: run.error };
    await ctx.runMutation(
      run.onComplete as FunctionHandle<"mutation">,
      { runId: run._id, context: kept?.context ?? null, result },
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_RECORD) },
    );
  } catch (error) {
    const message = messageOf(error);
    await logOnCompleteFailed(ctx, run, message, sensitive);
    const { message: told } = sensitive ? withoutValues({ kind: "thrown", message }) : { message };
    await ctx.db.patch("runs", run._id, { onCompleteError: told.slice(0, 8_000) });
  }
}

/** Has nothing go on with a step. An action that runs goes on to its end. */
export async function callOffStep(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  await callOffWaking(ctx, step);
  if (step.kind !== "action" || step.state !== "running") return;
  if (step.job === undefined) await withdraw(ctx, step._id);
  else await releaseSlot(ctx, step._id);
}

/** What an action has reported was still to be taken in: until then it holds its slot. */
export async function releaseSlot(ctx: MutationCtx, step: Id<"steps">): Promise<void> {
  const slot = await slotOf(ctx, step);
  if (slot !== null) await completeWork(ctx, pool, { work: step, slot: slot._id });
}

/** Takes an action out of the pool, unless it has begun. @returns whether it had not begun. */
export async function withdraw(ctx: MutationCtx, step: Id<"steps">): Promise<boolean> {
  if (await leaveLineCanceled(ctx, step)) return true;
  const slot = await slotOf(ctx, step);
  if (slot?.job === undefined || !(await cancelPending(ctx, slot.job))) return false;
  await completeWork(ctx, pool, { work: step, slot: slot._id });
  return true;
}
