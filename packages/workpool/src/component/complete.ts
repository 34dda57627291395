import type { Value } from "convex/values";
import * as core from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { voidMutation } from "./continuations.js";
import { delayWork } from "./enqueue.js";
import { logCompleted, logEvent } from "./events.js";
import { type Outcome, vAttempt, vOutcome } from "./schema.js";
import { host } from "./host.js";
import { countEnd } from "./reports.js";
import { callBack, removeWork } from "./work.js";

/** Takes in how the attempt of an action ended. A repeated or stale report changes nothing. */
export const complete = voidMutation(
  { ...vAttempt, outcome: vOutcome },
  async (ctx, { workId, attempt, slot, outcome }) => {
    const work = await expectedAttempt(ctx, workId, attempt);
    if (work === null) await logEvent(ctx, "DEBUG", "dropped", { workId, attempt });
    else await endAttempt(ctx, work, slot, outcome);
  },
);

export async function endAttempt(
  ctx: MutationCtx,
  work: Doc<"works">,
  slot: Id<"slots"> | undefined,
  outcome: Outcome,
): Promise<void> {
  const attempt = work.attempts + 1;
  const retry = outcome.kind === "failed" && outcome.retryable ? work.retry : undefined;
  if (retry === undefined || attempt >= retry.maxAttempts) {
    await endWork(ctx, work, slot, resultOf(outcome), attempt);
  } else if (work.canceled === true) {
    await endWork(ctx, work, slot, { kind: "canceled" }, attempt);
  } else {
    await delayWork(ctx, work._id, Date.now() + core.retryDelayMs(retry, attempt), attempt);
    const counted = countEnd("retries");
    await core.completeWork(ctx, host, { work: work._id, slot, count: counted.count });
    await logCompleted(ctx, work, "retrying", attempt);
    await counted.report(ctx);
  }
}

/** Schedules the completion of an attempt, and has that watched instead of its action. */
export const completeLater = voidMutation(
  { ...vAttempt, outcome: vOutcome },
  async (ctx, ended) => {
    const job = await ctx.scheduler.runAfter(0, internal.complete.complete, ended);
    await core.watchReport(ctx, { work: ended.workId, slot: ended.slot }, job);
  },
);

/** The work, if it is this attempt whose completion counts; else null. */
export async function expectedAttempt(ctx: MutationCtx, workId: Id<"works">, attempt: number) {
  const work = await ctx.db.get("works", workId);
  return work !== null &&
    // guard: work-attempt
    work.attempts + 1 === attempt
    ? work
    : null;
}

/** Ends a work. Its callback comes last, and finds the slot free. @param attempts how many. */
export async function endWork(
  ctx: MutationCtx,
  work: Doc<"works">,
  slot: Id<"slots"> | undefined,
  result: core.RunResult,
  attempts = work.attempts,
): Promise<void> {
  const context = await removeWork(ctx, work);
  await endRemovedWork(ctx, { work, context, slot }, result, attempts);
}

export async function endRemovedWork(
  ctx: MutationCtx,
  ended: { work: Doc<"works">; context: Value | undefined; slot: Id<"slots"> | undefined },
  result: core.RunResult,
  attempts: number,
): Promise<void> {
  const { work, context, slot } = ended;
  const counted = countEnd(result.kind === "success" ? "succeeded" : result.kind);
  const mayEnqueue = work.onComplete !== undefined;
  await core.completeWork(ctx, host, { work: work._id, slot, count: counted.count, mayEnqueue });
  await logCompleted(ctx, work, result.kind, attempts);
  await callBack(ctx, work, context, result);
  if (mayEnqueue) await core.endOffer(ctx, slot);
  await counted.report(ctx);
  await core.restAfter(ctx, host, work._id);
}

export function resultOf(outcome: Outcome): core.RunResult {
  if (outcome.kind === "success") return outcome;
  return { kind: "failed", error: outcome.error };
}
