import { v } from "convex/values";
import { durationText } from "../definition/duration.js";
import type { StepError } from "../definition/step-error.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { failWith } from "./children.js";
import { endRun, withdraw } from "./ending.js";
import { enterRun, startWork, tokenOf, wake } from "./entering.js";
import { seeInTurn } from "./looking.js";
import {
  callOffWaking,
  cancelPending,
  cancelReserve,
  isLost,
  isOwnJob,
  LATE_MS,
} from "./scheduled.js";
import { activeSteps } from "./scope.js";
import type { Deadline } from "./validators.js";

/** The time that a whole run may take begins now. */
export async function beginDeadline(
  ctx: MutationCtx,
  run: Id<"runs">,
  ms: number,
  where: Omit<Deadline, "ms"> | undefined = undefined,
): Promise<void> {
  const at = Date.now() + ms;
  const deadline = await ctx.db.insert("deadlines", {
    run,
    ms,
    at,
    ...where,
  });
  await watchDeadline(ctx, { _id: deadline, at });
}

/**
 * Schedules what happens when the time is up. And another function in reserve, as nothing may run by then: where the first is lost, or fails, that
 * one is left, and schedules both anew.
 */
async function watchDeadline(
  ctx: MutationCtx,
  { _id, at, reserve }: Pick<Doc<"deadlines">, "_id" | "at" | "reserve">,
): Promise<void> {
  if (reserve !== undefined) await cancelReserve(ctx, reserve);
  const job = await ctx.scheduler.runAt(at, internal.deadlines.expire, { deadline: _id });
  await ctx.db.patch("deadlines", _id, { job, reserve: await reserveFor(ctx, _id, at) });
}

/** Where the scheduler is far behind, it looks after ever longer times. */
async function reserveFor(
  ctx: MutationCtx,
  deadline: Id<"deadlines">,
  at: number,
): Promise<Id<"_scheduled_functions">> {
  const now = Date.now();
  const due = Math.max(at, now) + Math.max(LATE_MS, now - at);
  return await ctx.scheduler.runAt(due, internal.deadlines.checkLate, { deadline });
}

/** The time is up for a while: where nobody has said so, it is said now. */
export const checkLate = internalMutation({
  args: { deadline: v.id("deadlines") },
  returns: v.null(),
  handler: async (ctx, { deadline: id }) => {
    const deadline = await ctx.db.get("deadlines", id);
    if (deadline === null || !(await isOwnJob(ctx, deadline.reserve))) return null;
    if (await isLost(ctx, deadline)) await watchDeadline(ctx, deadline);
    else await ctx.db.patch("deadlines", id, { reserve: await reserveFor(ctx, id, deadline.at) });
    return null;
  },
});

/** For a watchdog, and for a repair: schedules anew what happens when the time is up, where that was lost. */
export async function rewatchDeadline(ctx: MutationCtx, deadline: Doc<"deadlines">): Promise<void> {
  if (await isLost(ctx, deadline)) await watchDeadline(ctx, deadline);
}

/**
 * For the pool's watchdog: those whose time is up, but nobody has said so.
 * @returns when to look again, in ms since the epoch; null where that was all.
 */
export async function lookAfterDeadlines(ctx: MutationCtx): Promise<number | null> {
  const found = await seeInTurn(ctx, "deadlines", (each) => rewatchDeadline(ctx, each));
  return found === "more" ? Date.now() : null;
}

/** That of a parent or a loop begins, or need not be watched any more. */
export async function setDeadline(
  ctx: MutationCtx,
  run: Id<"runs">,
  { ms, ...where }: Deadline,
): Promise<void> {
  const { stage, pass } = where;
  const ofStage = ctx.db
    .query("deadlines")
    .withIndex("by_run", (q) => q.eq("run", run).eq("stage", stage));
  const begun = (await ofStage.collect()).filter(
    (other) => String(other.pass ?? []) === String(pass ?? []),
  );
  if (ms === undefined) for (const deadline of begun) await lift(ctx, deadline);
  // A run may come to the parent's beginning again: as when it was paused before that had begun. The time goes on.
  else if (begun.length === 0) await beginDeadline(ctx, run, ms, where);
}

/** The run has ended: none of its deadlines matters. */
export async function liftDeadlines(ctx: MutationCtx, run: Id<"runs">): Promise<void> {
  const all = ctx.db.query("deadlines").withIndex("by_run", (q) => q.eq("run", run));
  for (const deadline of await all.collect()) await lift(ctx, deadline);
}

async function lift(ctx: MutationCtx, { _id, job, reserve }: Doc<"deadlines">): Promise<void> {
  await ctx.db.delete("deadlines", _id);
  await callOffWaking(ctx, { job, reserve });
}

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

/** Whether a step is one of the node whose time is watched: of a parent its handler, its children, or its finalize. */
export function isUnder({ stage, pass }: Doc<"deadlines">, step: Doc<"steps">): boolean {
  if (stage === undefined || String(pass ?? []) !== String(step.pass ?? [])) return false;
  return step.stage === stage || step.stage.startsWith(`${stage}.`);
}
