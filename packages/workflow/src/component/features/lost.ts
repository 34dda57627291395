import * as core from "@stepwise/workpool/core";
import type { TransactionLimits } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import { isCalledOff } from "../core/childRuns.js";
import { voidMutation } from "../core/continuations.js";
import type { MutationCtx, Step } from "../core/documents.js";
import { isAction, isCollecting, isEntry, isTimed } from "../core/kinds.js";
import { logThrown } from "../core/log.js";
import { pool } from "../core/poolHost.js";
import { isToCome, stateOfJob } from "../core/scheduled.js";
import { hasNotEnded, nameOf } from "../core/steps.js";
import { arrivalAt, attemptFailed, scheduleEntry } from "../engine/entry.js";
import { isStranded } from "../engine/starting.js";
import type { Event } from "../protocol.js";
import { insertLater } from "./childPages.js";

/* Steps that are stuck: their entry failed or was lost, or the pool lost their action. */

/** Schedules a lost entry again; one that failed, once without fusion, and then the step fails. */
export async function rearmLate(ctx: MutationCtx, step: Step): Promise<void> {
  if (step.paused === true || !hasNotEnded(step)) {
    await ctx.db.patch("steps", step._id, { entersAt: undefined });
    return;
  }
  const state = await stateOfJob(ctx, step.job);
  if (isToCome(state)) return;
  if (state?.kind !== "failed" || step.isLastTry !== true)
    return await rearm(ctx, step, state?.kind === "failed");
  const message = `The run could not go on at "${nameOf(step)}": ${state.error}`;
  const failed = { step: step._id, problem: { kind: "thrown" as const, message } };
  const { failStep } = internal.settle;
  await nestedOrLog(ctx, step, (options) => ctx.runMutation(failStep, failed, options));
}

/** Calls a mutation for a step that is stuck. If it throws, another check tries it again. */
async function nestedOrLog(
  ctx: MutationCtx,
  step: Step,
  call: (options: { transactionLimits: TransactionLimits }) => Promise<unknown>,
): Promise<void> {
  try {
    await call({ transactionLimits: await core.leaveRoom(ctx, core.ROOM_TO_COMPLETE) });
  } catch (error) {
    const run = await ctx.db.get("runs", step.run);
    if (run === null) return;
    await logThrown(ctx, "stuck", run, core.messageOf(error), { ...step, node: nameOf(step) });
  }
}

export const checkLate = voidMutation({ step: v.id("steps") }, async (ctx, { step: id }) => {
  const step = await ctx.db.get("steps", id);
  if (step === null || !(await core.isOwnJob(ctx, step.check))) return;
  // From now on the watchdog looks.
  await ctx.db.patch("steps", id, { check: undefined });
  await core.keepSweeping(ctx, pool);
  await rearmLate(ctx, { ...step, check: undefined });
});

export async function rearm(ctx: MutationCtx, step: Step, isLastTry = false) {
  if (step.inserting === true) return await insertLater(ctx, step._id);
  const event = eventOf(step);
  if (event === undefined) return;
  const at = Math.max(Date.now(), step.entersAt ?? step.dueAt ?? 0);
  // What it was to be told of is read from its record: arguments are kept for a week.
  await scheduleEntry(ctx, step, { event, at, isLastTry, isGuarded: step.sensitive });
}

function eventOf(step: Step): Event | undefined {
  const { state, event, dueAt } = step;
  if (event !== undefined) return event;
  const isToArrive =
    isEntry(step) ||
    isCollecting(step) ||
    state === "pending" ||
    (isAction(step) && state === "waiting");
  if (isToArrive) return arrivalAt(step);
  return dueAt !== undefined && isTimed(step) ? { kind: "due" } : undefined;
}

export async function recoverStranded(ctx: MutationCtx, step: Step): Promise<void> {
  const { recover } = internal.features.lost;
  await nestedOrLog(ctx, step, (options) => ctx.runMutation(recover, { step: step._id }, options));
}

export const recover = voidMutation({ step: v.id("steps") }, async (ctx, { step: id }) => {
  const step = await ctx.db.get("steps", id);
  // One that is called off has left the queue, and is about to be canceled.
  if (step !== null && (await isStranded(ctx, step)) && !(await isCalledOff(ctx, step)))
    await attemptFailed(ctx, id, {
      kind: "lost",
      message: "Its action was lost: the pool could not recover it",
    });
  await core.takeBack(ctx, id);
});
