import { LATE_MS } from "@stepwise/workpool/core";
import { internal } from "../_generated/api.js";
import type { Doc, Id, MutationCtx, RunId, Step } from "../core/documents.js";
import { cancelCheck, cancelScheduled, isLost } from "../core/scheduled.js";
import type { Deadline } from "../validators.js";

export async function beginDeadline(
  ctx: MutationCtx,
  run: RunId,
  ms: number,
  where?: Omit<Deadline, "ms">,
): Promise<void> {
  const at = Date.now() + ms;
  const deadline = await ctx.db.insert("deadlines", { run, ms, at, ...where });
  await scheduleDeadline(ctx, { _id: deadline, at });
}

async function scheduleDeadline(
  ctx: MutationCtx,
  deadline: Pick<Doc<"deadlines">, "_id" | "at" | "check">,
): Promise<void> {
  const { _id, at } = deadline;
  await cancelCheck(ctx, deadline);
  const job = await ctx.scheduler.runAt(at, internal.features.deadlines.expire, { deadline: _id });
  await ctx.db.patch("deadlines", _id, { job, check: await scheduleCheck(ctx, _id, at) });
}

/** Checks whether the deadline was lost, as nothing else may be watching it by then. */
export async function scheduleCheck(ctx: MutationCtx, deadline: Id<"deadlines">, at: number) {
  const now = Date.now();
  const due = Math.max(at, now) + Math.max(LATE_MS, now - at);
  return await ctx.scheduler.runAt(due, internal.features.deadlines.checkLate, { deadline });
}

/** Schedules a lost deadline again. @returns whether it was lost. */
export async function rearmDeadline(ctx: MutationCtx, deadline: Doc<"deadlines">) {
  const wasLost = await isLost(ctx, deadline);
  if (wasLost) await scheduleDeadline(ctx, deadline);
  return wasLost;
}

export async function setDeadline(ctx: MutationCtx, run: RunId, { ms, ...where }: Deadline) {
  const { stage, iterations } = where;
  const ofStage = ctx.db
    .query("deadlines")
    .withIndex("by_run", (q) => q.eq("run", run).eq("stage", stage));
  const begun = (await ofStage.collect()).filter(
    (other) => String(other.iterations ?? []) === String(iterations ?? []),
  );
  if (ms === undefined) for (const deadline of begun) await lift(ctx, deadline);
  // A run may come to the parent's beginning again, as when it was paused before: the time goes on.
  else if (begun.length === 0) await beginDeadline(ctx, run, ms, where);
}

export async function liftDeadlines(ctx: MutationCtx, run: RunId): Promise<void> {
  const all = ctx.db.query("deadlines").withIndex("by_run", (q) => q.eq("run", run));
  for (const deadline of await all.collect()) await lift(ctx, deadline);
}

export async function lift(ctx: MutationCtx, deadline: Doc<"deadlines">): Promise<void> {
  await ctx.db.delete("deadlines", deadline._id);
  await cancelScheduled(ctx, deadline);
}

/** Says whether a step belongs to the node of a deadline. */
export function isUnder({ stage, iterations }: Doc<"deadlines">, step: Step): boolean {
  if (stage === undefined || String(iterations ?? []) !== String(step.iterations ?? []))
    return false;
  return step.stage === stage || step.stage.startsWith(`${stage}.`);
}
