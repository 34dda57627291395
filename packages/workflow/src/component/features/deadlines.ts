import { cancelPending, isOwnJob } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { durationText } from "../../definition/duration.js";
import type { StepError } from "../../definition/step-error.js";
import type { Doc } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "../_generated/server.js";
import { isLost } from "../core/scheduled.js";
import { activeSteps } from "../core/steps.js";
import { startWork } from "../engine/begin.js";
import { withdraw } from "../engine/closing.js";
import { isUnder, lift, reserveDeadline, watchDeadline } from "../engine/deadlines.js";
import { enterRun, wake } from "../engine/entry.js";
import { tokenOf } from "../engine/records.js";
import { endRun } from "./ending.js";
import { failWith } from "./failing.js";

/** The time is up for a while: where nobody has said so, it is said now. */
export const checkLate = internalMutation({
  args: { deadline: v.id("deadlines") },
  returns: v.null(),
  handler: async (ctx, { deadline: id }) => {
    const deadline = await ctx.db.get("deadlines", id);
    if (deadline === null || !(await isOwnJob(ctx, deadline.reserve))) return null;
    if (await isLost(ctx, deadline)) await watchDeadline(ctx, deadline);
    else
      await ctx.db.patch("deadlines", id, { reserve: await reserveDeadline(ctx, id, deadline.at) });
    return null;
  },
});

/** The time is up: a run ends `timedOut`; a parent or a loop fails its run, unless it recovers. */
export const expire = internalMutation({
  args: { deadline: v.id("deadlines") },
  returns: v.null(),
  handler: async (ctx, { deadline: id }) => {
    const deadline = await ctx.db.get("deadlines", id);
    if (deadline === null) return null;
    const run = await ctx.db.get("runs", deadline.run);
    if (run?.state !== "running") {
      // Else it would be taken for one whose function was lost.
      await lift(ctx, deadline);
      return null;
    }
    const { stage, ms, called = stage } = deadline;
    const what = called === undefined ? `The run of "${run.workflow}"` : `"${called}"`;
    const error: StepError = {
      message: `${what} took longer than its timeout of ${durationText(ms)}`,
      kind: "timedOut",
      workflow: run.workflow,
      node: called ?? "",
      attempt: 1,
    };
    if (deadline.recovers === true && (await failNode(ctx, deadline, error))) return null;
    const state = stage === undefined ? "timedOut" : "failed";
    const next = await endRun(ctx, run, { state, error, stage });
    if (next !== undefined) await startWork(ctx, next);
    return null;
  },
});

/** Fails the node whose time is up, and not its run: that is told so, and asks the node's `recover`. @returns false where the run is not there. */
async function failNode(
  ctx: MutationCtx,
  deadline: Doc<"deadlines">,
  error: StepError,
): Promise<boolean> {
  const steps: Doc<"steps">[] = [];
  for await (const step of activeSteps(ctx, deadline.run))
    if (isUnder(deadline, step)) steps.push(step);
  // While its finalize is under way, the record of its children waits for that.
  const step = steps.find(({ kind }) => kind !== "children") ?? steps[0];
  if (step === undefined) return false;
  await lift(ctx, deadline);
  if (step.kind === "children") await failWith(ctx, step, error);
  else {
    if (step.job !== undefined) await cancelPending(ctx, step.job);
    else if (step.kind === "action" && step.state === "running") await withdraw(ctx, step._id);
    const event = { kind: "failed" as const, error };
    if (step.held === true) await wake(ctx, step, { event });
    else await enterRun(ctx, tokenOf(step), { event });
  }
  return true;
}
