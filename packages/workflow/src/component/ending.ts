import {
  completeWork,
  hasRoom,
  leaveLineCanceled,
  ROOM_TO_COMPLETE,
  slotOf,
} from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { StepError } from "../definition/step-error.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { childEnded } from "./children.js";
import { pool } from "./line.js";
import { ACTIVE_STATES } from "./validators.js";

/** How many runs one transaction cancels, on all levels of a tree together; each is some ten reads and writes. */
const PAGE = 250;
/** How many runs the present transaction may still cancel. */
interface Page {
  left: number;
}

type End =
  | { state: "completed"; outputStep: Id<"steps"> | undefined }
  | { state: "failed"; error: StepError }
  | { state: "canceled"; error: StepError };

/** Ends a run: nothing of it is left waiting or scheduled, and whoever waits for it goes on. */
export async function endRun(
  ctx: MutationCtx,
  run: Doc<"runs">,
  end: End,
  page: Page = { left: PAGE },
): Promise<void> {
  await ctx.db.patch("runs", run._id, { ...end, first: undefined, endedAt: Date.now() });
  if (end.state !== "completed") await closeSteps(ctx, run._id, end.error.node, page);
  if (run.parentStep !== undefined) await childEnded(ctx, { ...run, ...end });
}

/** Cancels a run that has not ended. A run that has is left as it is. @returns whether it was canceled. */
export async function cancelRun(ctx: MutationCtx, run: Doc<"runs">, page?: Page): Promise<boolean> {
  if (run.state !== "running" && run.state !== "pending") return false;
  const error: StepError = {
    message: `The run of "${run.workflow}" was canceled`,
    kind: "canceled",
    workflow: run.workflow,
    node: "",
    attempt: 1,
  };
  await endRun(ctx, run, { state: "canceled", error }, page);
  return true;
}

/**
 * Ends the records in which something is still to come: they are canceled, but a parent whose own stage has failed has failed too. An
 * action that runs goes on to its end, and gives its slot back then.
 */
async function closeSteps(
  ctx: MutationCtx,
  run: Id<"runs">,
  failedStage: string,
  page: Page,
): Promise<void> {
  const [failedNode] = failedStage.split(".");
  for (const state of ACTIVE_STATES) {
    const steps = await ctx.db
      .query("steps")
      .withIndex("by_run_state", (q) => q.eq("run", run).eq("state", state))
      .collect();
    for (const step of steps)
      await closeStep(ctx, step, step.stage === failedNode ? "failed" : "canceled", page);
  }
}

async function closeStep(
  ctx: MutationCtx,
  step: Doc<"steps">,
  state: "failed" | "canceled",
  page: Page,
): Promise<void> {
  await ctx.db.patch("steps", step._id, { state, endedAt: Date.now(), dueAt: undefined });
  if (step.kind === "children") await cancelChildren(ctx, step._id, page);
  if (step.kind === "action" && step.state === "running") await withdraw(ctx, step._id);
  else if (step.job !== undefined) await cancelPending(ctx, step.job);
}

/** Takes an action out of the pool, unless it has begun. */
async function withdraw(ctx: MutationCtx, step: Id<"steps">): Promise<void> {
  if (await leaveLineCanceled(ctx, step)) return;
  const slot = await slotOf(ctx, step);
  if (slot?.job !== undefined && (await cancelPending(ctx, slot.job)))
    await completeWork(ctx, pool, { work: step, slot: slot._id });
}

/**
 * Cancels a scheduled function that has not begun. One that runs is left alone: what it schedules after that would be dropped. A
 * mutation that runs looks as if it had not begun; but it reads the step record that is written here, so only one of the two commits.
 * Or it is the one that calls this, which its state does not tell either.
 * @returns whether it had not begun.
 */
async function cancelPending(ctx: MutationCtx, job: Id<"_scheduled_functions">): Promise<boolean> {
  if (await isOwnJob(ctx, job)) return false;
  const scheduled = await ctx.db.system.get("_scheduled_functions", job);
  if (scheduled?.state.kind !== "pending") return false;
  await ctx.scheduler.cancel(job);
  return true;
}

/** Whether it is the scheduled function inside which this is called, at whatever depth. */
export async function isOwnJob(
  ctx: MutationCtx,
  job: Id<"_scheduled_functions"> | undefined,
): Promise<boolean> {
  if (job === undefined) return false;
  return (await ctx.meta.getRequestMetadata()).scheduledFunctionId === job;
}

/**
 * Cancels a parent's children, those that run first, and what is under them: a page of them here, the others in transactions that follow.
 * Once this has committed, no direct child starts any more: the parent's record says so.
 */
export async function cancelChildren(
  ctx: MutationCtx,
  parent: Id<"steps">,
  page: Page = { left: PAGE },
): Promise<void> {
  const children: Doc<"runs">[] = [];
  for (const state of ["running", "pending"] as const) {
    if (page.left === 0) break;
    const some = await ctx.db
      .query("runs")
      .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state))
      .take(page.left);
    page.left -= some.length;
    children.push(...some);
  }
  let more = page.left === 0;
  for (const child of children) {
    // What waits in the pool's line is read with its arguments, which may be large.
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) {
      more = true;
      break;
    }
    await cancelRun(ctx, child, page);
  }
  if (more) await ctx.scheduler.runAfter(0, internal.ending.cancelMoreChildren, { parent });
}

/** The next page of {@link cancelChildren}. */
export const cancelMoreChildren = internalMutation({
  args: { parent: v.id("steps") },
  returns: v.null(),
  handler: async (ctx, { parent }) => {
    await cancelChildren(ctx, parent);
    return null;
  },
});
