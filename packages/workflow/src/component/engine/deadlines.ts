import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import type { MutationCtx } from "../_generated/server.js";
import { LATE_MS, callOffWaking, cancelReserve, isLost } from "../core/scheduled.js";
import type { Deadline } from "../validators.js";

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
export async function watchDeadline(
  ctx: MutationCtx,
  { _id, at, reserve }: Pick<Doc<"deadlines">, "_id" | "at" | "reserve">,
): Promise<void> {
  if (reserve !== undefined) await cancelReserve(ctx, reserve);
  const job = await ctx.scheduler.runAt(at, internal.features.deadlines.expire, { deadline: _id });
  await ctx.db.patch("deadlines", _id, { job, reserve: await reserveDeadline(ctx, _id, at) });
}

/** Where the scheduler is far behind, it looks after ever longer times. */
export async function reserveDeadline(
  ctx: MutationCtx,
  deadline: Id<"deadlines">,
  at: number,
): Promise<Id<"_scheduled_functions">> {
  const now = Date.now();
  const due = Math.max(at, now) + Math.max(LATE_MS, now - at);
  return await ctx.scheduler.runAt(due, internal.features.deadlines.checkLate, { deadline });
}

/** For a watchdog, and for a repair: schedules anew what happens when the time is up, where that was lost. */
export async function rewatchDeadline(ctx: MutationCtx, deadline: Doc<"deadlines">): Promise<void> {
  if (await isLost(ctx, deadline)) await watchDeadline(ctx, deadline);
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

export async function lift(
  ctx: MutationCtx,
  { _id, job, reserve }: Doc<"deadlines">,
): Promise<void> {
  await ctx.db.delete("deadlines", _id);
  await callOffWaking(ctx, { job, reserve });
}

/** Whether a step is one of the node whose time is watched: of a parent its handler, its children, or its finalize. */
export function isUnder({ stage, pass }: Doc<"deadlines">, step: Doc<"steps">): boolean {
  if (stage === undefined || String(pass ?? []) !== String(step.pass ?? [])) return false;
  return step.stage === stage || step.stage.startsWith(`${stage}.`);
}
