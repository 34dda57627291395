import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import {
  enqueueWork,
  isNonRetryableError,
  leaveRoom,
  messageOf,
  ROOM_TO_COMPLETE,
} from "../core/index.js";
import type { Doc } from "./_generated/dataModel.js";
import { internalAction, internalMutation, type MutationCtx } from "./_generated/server.js";
import { type Outcome, vAttempt } from "./attempt.js";
import { endWork, expectedAttempt, passOn, resultOf } from "./complete.js";
import { logStarted, logWaiting } from "./events.js";
import { host } from "./host.js";
import { report } from "./report.js";
import { argsOfWork, removeWork, workOf } from "./work.js";

/** Runs one attempt of an enqueued action, and reports how it ended. */
export const runAction = internalAction({
  args: { ...vAttempt, fn: v.string(), args: v.any() },
  returns: v.null(),
  handler: async (ctx, { fn, args, ...attempt }): Promise<null> => {
    const outcome = await outcomeOf(() => ctx.runAction(fn as FunctionHandle<"action">, args));
    await report(ctx, { ...attempt, outcome });
    return null;
  },
});

/**
 * Runs an enqueued mutation or query, and ends the work in the same transaction.
 *
 * The work's record goes first. Then whatever the function does about its own work, as to cancel it, finds nothing: seen from inside, this
 * transaction looks like one that has not begun, and to cancel its own job would drop what it schedules afterwards.
 */
export const runMutation = internalMutation({
  args: vAttempt,
  returns: v.null(),
  handler: async (ctx, { workId, attempt, slot }): Promise<null> => {
    const work = await expectedAttempt(ctx, workId, attempt);
    if (work === null) return null;
    const args = await argsOfWork(ctx, work);
    const context = await removeWork(ctx, work);
    const outcome = await outcomeOf(() => runNested(ctx, work, args));
    await passOn(ctx, { work, context, slot }, resultOf(outcome), attempt);
    return null;
  },
});

/** Starts a work whose time has come, or the next attempt of one. If no slot is free, it waits in line like any other. */
export const startDue = internalMutation({
  args: { workId: v.id("works"), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { workId, attempt }): Promise<null> => {
    const work = await expectedAttempt(ctx, workId, attempt);
    if (work?.due === undefined) return null;
    await enqueueDue(ctx, work);
    return null;
  },
});

/** Enqueues a work whose time has come. */
export async function enqueueDue(ctx: MutationCtx, work: Doc<"works">): Promise<void> {
  const readyAt = work.due?.at;
  await ctx.db.patch("works", work._id, { due: undefined, readyAt });
  let how: "started" | "waiting";
  try {
    how = await enqueueWork(ctx, await workOf(work, await argsOfWork(ctx, work)), host);
  } catch (error) {
    // The function of a work that settles itself is scheduled as it is, and may be gone by now.
    if (work.settles !== true) throw error;
    return await endWork(ctx, work, undefined, { kind: "failed", error: messageOf(error) });
  }
  await (how === "started" ? logStarted : logWaiting)(ctx, { ...work, readyAt });
}

/** Runs the function in a nested transaction: what it throws undoes its own writes only. It cannot use up what the pool needs to go on. */
async function runNested(
  ctx: MutationCtx,
  { kind, fn }: Doc<"works">,
  args: Record<string, unknown>,
): Promise<unknown> {
  const options = { transactionLimits: await leaveRoom(ctx, ROOM_TO_COMPLETE) };
  if (kind === "query") return await ctx.runQuery(fn as FunctionHandle<"query">, args, options);
  return await ctx.runMutation(fn as FunctionHandle<"mutation">, args, options);
}

async function outcomeOf(run: () => Promise<unknown>): Promise<Outcome> {
  try {
    // A function that returns nothing has returned null to Convex.
    return { kind: "success", returnValue: (await run()) ?? null };
  } catch (error) {
    return { kind: "failed", error: messageOf(error), retryable: !isNonRetryableError(error) };
  }
}
