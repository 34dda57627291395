import { v, type Value } from "convex/values";
import * as core from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { continuation, voidMutation } from "./continuations.js";
import { delayWork } from "./enqueue.js";
import { logCompleted, logEvent, logUncounted } from "./events.js";
import { type Outcome, vAttempt, vOutcome, vReport } from "./schema.js";
import { host } from "./host.js";
import { countEnd, countWithoutSlot } from "./reports.js";
import { callBack, cameAt, findWork, removeWork, workOf } from "./work.js";

/** What is reported of an attempt alone, and the seats that its executor holds. */
const aloneFields = {
  ...vAttempt,
  outcome: vOutcome,
  seats: v.optional(v.array(v.id("slots"))),
};

/**
 * Takes in how the attempt of an action ended. A repeated or stale report changes nothing.
 * @returns the seat whose work has moved into the slot.
 */
export const complete = internalMutation({
  args: { ...aloneFields, calledAt: v.optional(v.number()) },
  returns: v.union(v.id("slots"), v.null()),
  handler: async (ctx, { workId, attempt, slot, outcome, calledAt, seats }) => {
    const work = await expectedAttempt(ctx, workId, attempt);
    if (work === null) await logEvent(ctx, "DEBUG", "dropped", { workId, attempt });
    if (work === null) return null;
    const ended = { work: workId, slot };
    const moved = seats === undefined ? null : await core.leaveSeatFor(ctx, seats, ended);
    await endAttempt(ctx, work, slot, outcome, { calledAt });
    return moved;
  },
});

/** How an end is reported. */
interface Reporting extends Pick<core.Ended, "kept" | "calledAt" | "ranHere"> {
  /** With others: a callback that throws may only lack room. Default: alone. */
  readonly isShared?: boolean;
}

/** Queues a work again that its executor has not begun. A repeated report changes nothing. */
async function putBack(ctx: MutationCtx, work: Doc<"works">, slot: Id<"slots">, how: Reporting) {
  const held = await ctx.db.get("slots", slot);
  // guard: given-back-once
  if (held?.work !== work._id || !(await core.isOwnJob(ctx, held.job))) return;
  if (work.canceled === true)
    return await endWork(ctx, work, slot, { kind: "canceled" }, work.attempts, how);
  await core.completeWork(ctx, host, { work: work._id, slot, executes: true, ...how });
  const at = core.placeOf({ cameAt: cameAt(work), priorityMs: work.priorityMs, isAgain: true });
  const { waitAtMostMs, readyAt = work._creationTime } = work;
  // It waits no longer than from when it began to.
  const until = waitAtMostMs === undefined ? undefined : readyAt + waitAtMostMs;
  await core.enqueueWorks(ctx, [{ ...(await workOf(ctx, work)), at, until }], host);
}

export async function endAttempt(
  ctx: MutationCtx,
  work: Doc<"works">,
  slot: Id<"slots"> | undefined,
  outcome: Outcome,
  how?: Reporting,
): Promise<void> {
  if (outcome.kind === "gone" && work.canceled !== true) {
    const { _id } = work;
    if (!(await core.isSetAside(ctx, _id))) await core.setAside(ctx, _id, outcome.error);
    const executes = isExecuted(work);
    return await core.completeWork(ctx, host, { work: _id, slot, executes, ...how });
  }
  const attempt = work.attempts + 1;
  const again = await nextAttempt(ctx, work, outcome);
  if (again === null) {
    await endWork(ctx, work, slot, resultOf(outcome), attempt, how);
  } else if (work.canceled === true) {
    await endWork(ctx, work, slot, { kind: "canceled" }, attempt, how);
  } else {
    const { at, uncounted, isHeld } = again;
    const fields = { attempts: attempt, uncounted, cameAt: cameAt(work) };
    await delayWork(ctx, work._id, at, fields, isHeld);
    const counted = countEnd("retries");
    const executes = isExecuted(work);
    const ended = { work: work._id, slot, count: counted.count, executes, knowsGate: isHeld };
    await core.completeWork(ctx, host, { ...ended, ...how });
    await logCompleted(ctx, work, "retrying", attempt);
    await counted.report(ctx);
  }
}

/**
 * Returns when a work is tried again, in ms since the epoch, and how many attempts are not counted
 * by then; null if it is not. It also holds the limit that the attempt asks to hold.
 */
async function nextAttempt(
  ctx: MutationCtx,
  { attempts, uncounted = 0, retry, permits }: Doc<"works">,
  outcome: Outcome,
): Promise<(Pick<Doc<"works">, "uncounted"> & { at: number; isHeld: boolean }) | null> {
  if (outcome.kind !== "failed") return null;
  const { at, holds } = outcome.asked ?? {};
  if (at !== undefined && holds !== undefined) {
    const until = await core.holdLimit(ctx, host, permits, { holds, at });
    if (until !== null) return { at: until, uncounted: uncounted + 1, isHeld: true };
  }
  const counted = attempts + 1 - uncounted;
  if (!outcome.retryable || retry === undefined || counted >= retry.maxAttempts) return null;
  return {
    at: at ?? Date.now() + core.retryDelayMs(retry, counted),
    uncounted: uncounted || undefined,
    isHeld: false,
  };
}

/** Takes in how attempts of an executor ended. @returns the next ones, and how many it has done. */
export const completeTogether = internalMutation({
  args: {
    ...core.reportArgs,
    ended: v.array(v.object({ ...vAttempt, outcome: vReport })),
  },
  returns: v.object({ ...core.vReported.fields, done: v.number() }),
  handler: async (ctx, { ended, ...report }): Promise<core.Reported & { done: number }> => {
    let done = 0;
    const isShared = ended.length > 1;
    const told = await core.reportTogether(ctx, host, report, async (kept) => {
      for (const { workId, attempt, slot, outcome } of ended) {
        if (done > 0 && !(await core.hasRoom(ctx, core.HALF_OF_A_TRANSACTION))) break;
        const work = await expectedAttempt(ctx, workId, attempt);
        const how = { kept, isShared };
        if (work === null) await logEvent(ctx, "DEBUG", "dropped", { workId, attempt });
        else if (outcome.kind === "notBegun") await putBack(ctx, work, slot, how);
        else await endAttempt(ctx, work, slot, outcome, how);
        if (work?.onComplete !== undefined) core.forgetRead(ctx);
        done += 1;
      }
      return report.running + ended.length - done;
    });
    return { ...told, done };
  },
});

/** Schedules the completion of an attempt, and has that watched instead of its action. */
export const completeLater = voidMutation(aloneFields, async (ctx, ended) => {
  const job = await ctx.scheduler.runAfter(0, internal.complete.complete, ended);
  await core.watchReport(ctx, { work: ended.workId, slot: ended.slot }, job);
});

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
  how?: Reporting,
): Promise<void> {
  const context = await removeWork(ctx, work);
  await endRemovedWork(ctx, { work, context, slot, how }, result, attempts);
}

export async function endRemovedWork(
  ctx: MutationCtx,
  ended: {
    work: Doc<"works">;
    context: Value | undefined;
    slot: Id<"slots"> | undefined;
    how?: Reporting | undefined;
  },
  result: core.RunResult,
  attempts: number,
): Promise<void> {
  const { work, context, slot, how } = ended;
  const counted = countEnd(result.kind === "success" ? "succeeded" : result.kind);
  const mayEnqueue = work.onComplete !== undefined;
  let knowsGate = false;
  if (work.spends !== undefined && result.kind === "success") {
    const used = core.usedIn(result.returnValue, work.spends);
    for (const [limit, spend] of Object.entries(work.spends))
      if (used[limit] === undefined) await logUncounted(ctx, work, limit, spend);
    await core.bookSpent(ctx, host, work.permits, used);
    knowsGate = true;
  }
  const end = { work: work._id, slot, count: counted.count, executes: isExecuted(work) };
  await core.completeWork(ctx, host, { ...end, mayEnqueue, knowsGate, ...how });
  await logCompleted(ctx, work, result.kind, attempts);
  await callBack(ctx, work, context, result, how?.isShared);
  if (mayEnqueue) await core.endOffer(ctx, slot);
  await counted.report(ctx);
  await core.restAfter(ctx, host, work._id);
}

type Gone = { readonly id: string; readonly error: string };

/** Ends a work whose function is gone. @returns null: there is one page. */
export const endGone = continuation<Gone>(async (ctx, { id, error }, { failures }) => {
  const work = await findWork(ctx, id);
  if (work === null) return null;
  if (failures > 1) await core.setAside(ctx, id, error);
  else {
    await endWork(ctx, work, undefined, { kind: "failed", error });
    await countWithoutSlot(ctx, "failed");
  }
  return null;
});

/** Says whether executors run it. */
function isExecuted({ kind, settles }: Doc<"works">): boolean {
  return kind === "action" && settles !== true;
}

export function resultOf(outcome: Outcome): core.RunResult {
  if (outcome.kind === "success") return outcome;
  const errorData: unknown = outcome.kind === "failed" ? outcome.errorData : undefined;
  return { kind: "failed", error: outcome.error, errorData };
}
