import { isOwnJob } from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { StepError } from "../../definition/context.js";
import { durationText } from "../../rules.js";
import { voidMutation } from "../core/continuations.js";
import type { Doc, MutationCtx, Step } from "../core/documents.js";
import { isParent } from "../core/kinds.js";
import { errorOf, workflowOf } from "../core/runs.js";
import { activeSteps, stepRead, tokenOf } from "../core/steps.js";
import { startWork } from "../engine/starting.js";
import { stopStep } from "../engine/closing.js";
import { isUnder, lift, rearmDeadline, scheduleCheck } from "../engine/deadlineTimer.js";
import { enterStep, scheduleEntry } from "../engine/entry.js";
import { endRun } from "./ending.js";
import { failWith } from "./failing.js";

const which = { deadline: v.id("deadlines") };

export const checkLate = voidMutation(which, async (ctx, { deadline: id }) => {
  const deadline = await ctx.db.get("deadlines", id);
  if (deadline === null || !(await isOwnJob(ctx, deadline.check))) return;
  if (!(await rearmDeadline(ctx, deadline)))
    await ctx.db.patch("deadlines", id, { check: await scheduleCheck(ctx, id, deadline.at) });
});

/** The time is up: a run times out; a parent or a loop fails its run, unless it recovers. */
export const expire = voidMutation(which, async (ctx, { deadline: id }) => {
  const deadline = await ctx.db.get("deadlines", id);
  if (deadline === null) return;
  const run = await ctx.db.get("runs", deadline.run);
  // Otherwise its function would seem lost.
  if (run?.state !== "running") return await lift(ctx, deadline);
  const { stage, iterations, ms, called = stage } = deadline;
  // A race that is won only waits until nothing of the other cases is left to be undone.
  const at = stage === undefined ? null : await stepRead(ctx, run._id, { stage, iterations });
  if (at?.won !== undefined) return await lift(ctx, deadline);
  const what = called === undefined ? `The run of "${workflowOf(run)}"` : `"${called}"`;
  const message = `${what} took longer than its timeout of ${durationText(ms)}`;
  const error = errorOf(run, "timedOut", message, called);
  if (deadline.recovers === true && (await failNode(ctx, deadline, error))) return;
  const state = stage === undefined ? "timedOut" : "failed";
  const next = await endRun(ctx, run, { state, error, stage });
  if (next !== undefined) await startWork(ctx, next);
});

/** Tells the run that a node failed, so that it recovers. @returns false if it is not there. */
async function failNode(ctx: MutationCtx, deadline: Doc<"deadlines">, error: StepError) {
  const steps: Step[] = [];
  for await (const step of activeSteps(ctx, deadline.run))
    if (isUnder(deadline, step)) steps.push(step);
  // While a parent's finalize runs, the record of its children waits for that.
  const step = steps.find((each) => !isParent(each)) ?? steps[0];
  if (step === undefined) return false;
  await lift(ctx, deadline);
  if (isParent(step)) await failWith(ctx, step, error);
  else {
    const beganAt = await stopStep(ctx, step);
    const event = { kind: "failed" as const, error, beganAt };
    if (step.paused === true) await scheduleEntry(ctx, step, { event });
    else await enterStep(ctx, tokenOf(step), { event });
  }
  return true;
}
