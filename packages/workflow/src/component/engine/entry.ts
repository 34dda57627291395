import { type ErrorKind } from "../../definition/step-error.js";
import { ROOM_TO_COMPLETE, keepLooking, leaveRoom } from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { describeThrown, type Problem } from "../../errors/failure.js";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "../_generated/server.js";
import { logStarted, logLost } from "../core/log.js";
import { pool } from "../core/pool.js";
import { LATE_MS, cancelReserve } from "../core/scheduled.js";
import { isActive } from "../core/steps.js";
import { vToken, type Event, type Token } from "../validators.js";
import { beginDeadline } from "./deadlines.js";
import { tokenOf, type StepOf } from "./records.js";

/** How a step is woken. */
export interface Waking {
  /** What is said to it. Default: that the run arrives there. */
  event?: Event;
  /** In ms since the epoch. Default: now. */
  at?: number | undefined;
  scope?: Record<string, unknown> | null;
  /** It failed before: nothing more is executed in the transaction. Default: false. */
  isLastTry?: boolean;
  /** It goes through {@link enter} though it is due at once. Default: false. */
  isDelivered?: boolean | undefined;
  /** The slot of the pool that the step still holds. */
  slot?: string | undefined;
}

/**
 * Has the run go on at a step: schedules the workflow's `resume`, and writes into the step's record that it is, so that it can be looked
 * after, called off, and scheduled anew. What is due at once is scheduled as it is, and the pool's watchdog sees to it; what is due later
 * goes through {@link enter}, because nothing watches while all sleeps. A run that is paused is only told so in its record.
 */
export async function wake(
  ctx: MutationCtx,
  step: StepOf & Pick<Doc<"steps">, "stage" | "held"> & Partial<Pick<Doc<"steps">, "reserve">>,
  { event = { kind: "arrive" }, at = Date.now(), scope = null, ...how }: Waking,
  fields: Partial<Doc<"steps">> = {},
): Promise<Id<"_scheduled_functions"> | undefined> {
  const { isLastTry = false, isDelivered = false, slot } = how;
  const isHeld = fields.held ?? step.held;
  const token = tokenOf({ ...step, ...fields });
  const entry = { token, stage: step.stage, event, scope, fuse: !isLastTry, slot };
  if (step.reserve !== undefined) await cancelReserve(ctx, step.reserve);
  const job = isHeld ? undefined : await schedule(ctx, entry, at, isDelivered);
  await ctx.db.patch("steps", step._id, {
    ...fields,
    job,
    reserve: job === undefined ? undefined : await reserveFor(ctx, step._id, at),
    wakeAt: at,
    event: event.kind === "arrive" ? undefined : event,
    isLastTry: isLastTry ? true : undefined,
  });
  if (!isHeld && at <= Date.now()) await keepLooking(ctx, pool);
  return job;
}

/** What is due later has nobody who looks after it when it comes: another function does, unless this one cancels it. */
async function reserveFor(
  ctx: MutationCtx,
  step: Id<"steps">,
  at: number,
): Promise<Id<"_scheduled_functions"> | undefined> {
  if (at <= Date.now()) return undefined;
  return await ctx.scheduler.runAt(at + LATE_MS, internal.features.lost.checkLate, { step });
}

type Entry = {
  token: Token;
  stage: string;
  event: Event;
  scope: unknown;
  fuse: boolean;
  slot: string | undefined;
};

async function schedule(
  ctx: MutationCtx,
  { fuse, slot, ...entry }: Entry,
  at: number,
  isDelivered: boolean,
): Promise<Id<"_scheduled_functions">> {
  const run = await ctx.db.get("runs", entry.token.run as Id<"runs">);
  // A run that was to begin later begins in `enter`, however late that is.
  if (at <= Date.now() && !isDelivered && run !== null && run.state !== "pending") {
    // The watchdog calls again, without fusion, what has failed.
    const args = { ...entry, fuse, callsAgain: fuse };
    try {
      return await ctx.scheduler.runAfter(0, run.resume as FunctionHandle<"mutation">, args);
    } catch {
      // A deploy took the workflow away. The run is told so in a transaction of its own.
    }
  }
  const { token, scope } = entry;
  return await ctx.scheduler.runAt(at, internal.engine.entry.enter, { token, scope, slot });
}

/**
 * Enters the workflow, and says what the step's record says. If that fails because of what it executed on the way, once more with nothing
 * executed beside it; if that fails too, the step fails with that error: a scheduled mutation that throws is gone for good.
 */
export const enter = internalMutation({
  args: { token: vToken, scope: v.any(), slot: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { token, scope, slot }) => {
    await enterRun(ctx, token, { scope, slot });
    return null;
  },
});

interface Entering {
  /** Default: what the step's record says. */
  event?: Event;
  scope?: Record<string, unknown> | null;
  slot?: string | undefined;
  /** What to do if both tries fail. Default: the step fails. */
  otherwise?: typeof failStep;
}

/** The same, inside the transaction of whoever calls. */
export async function enterRun(
  ctx: MutationCtx,
  token: Token,
  { scope = null, slot, otherwise = failStep, ...given }: Entering = {},
): Promise<void> {
  const id = ctx.db.normalizeId("steps", token.step);
  const step = id === null ? null : await ctx.db.get("steps", id);
  const run = step === null ? null : await ctx.db.get("runs", step.run);
  // A step that is held is entered when its run goes on.
  if (step === null || run === null || !isActive(step, token) || step.held === true) return;
  if (step.reserve !== undefined) await cancelReserve(ctx, step.reserve);
  if (run.state === "pending") {
    await ctx.db.patch("runs", run._id, { state: "running", startedAt: Date.now() });
    if (run.timeoutMs !== undefined) await beginDeadline(ctx, run._id, run.timeoutMs);
    await logStarted(ctx, run.workflow, [run._id], run.generation);
  }
  const event = given.event ?? step.event ?? { kind: "arrive" };
  const call = async (fuse: boolean) =>
    await ctx.runMutation(
      run.resume as FunctionHandle<"mutation">,
      { token, stage: step.stage, event, scope, fuse, callsAgain: fuse, slot },
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_COMPLETE) },
    );
  try {
    await call(true);
  } catch {
    try {
      await call(false);
    } catch (failure) {
      await otherwise(ctx, step._id, describeThrown(failure), slot);
    }
  }
}

/** The run cannot go on at a step: it is settled as failed. */
export async function failStep(
  ctx: MutationCtx,
  step: Id<"steps">,
  { kind, message, data }: Problem,
  slot?: string,
): Promise<void> {
  await ctx.runMutation(internal.settle.failStep, { step, problem: { kind, message, data }, slot });
}

/** An action will not report itself: its run is told, and decides by its retry settings. */
export async function attemptFailed(
  ctx: MutationCtx,
  work: string,
  kind: ErrorKind,
  message: string,
): Promise<void> {
  const id = ctx.db.normalizeId("steps", work);
  const step = id === null ? null : await ctx.db.get("steps", id);
  const run = step === null ? null : await ctx.db.get("runs", step.run);
  // That of a step which was called off holds its slot until it ends; how it does is nobody's concern.
  if (step === null || run === null || step.endedAt !== undefined) return;
  // It has reported, and only that is still to be taken in.
  if (step.event !== undefined) return;
  const { workflow } = run;
  const error = { message, kind, workflow, node: step.stage, attempt: step.attempt };
  await wake(ctx, step, { event: { kind: "failed", error } });
  if (kind === "lost") await logLost(ctx, step, error);
}
