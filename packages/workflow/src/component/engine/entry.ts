import {
  isOwnJob,
  keepSweeping,
  LATE_MS,
  leaveRoom,
  poolTx,
  ROOM_TO_COMPLETE,
  slotOf,
} from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import type { StepError } from "../../definition/context.js";
import { describeThrown, type Problem } from "../../errors/failure.js";
import { internal } from "../_generated/api.js";
import { voidMutation } from "../core/continuations.js";
import type { Id, MutationCtx, Run, RunId, Step, StepId } from "../core/documents.js";
import { isEntry } from "../core/kinds.js";
import { workflowOf } from "../core/runs.js";
import { logStarted, logStep } from "../core/log.js";
import { pool } from "../core/poolHost.js";
import { cancelCheck } from "../core/scheduled.js";
import { isActive, type StepOf, stepWithId, tokenOf } from "../core/steps.js";
import { joinLine, takeTurn } from "../core/turns.js";
import type { Event } from "../protocol.js";
import { type Token, vToken } from "../validators.js";
import { beginDeadline } from "./deadlineTimer.js";

/* The component enters a workflow through its generated function `entry`. */

export interface EntryOptions {
  event?: Event;
  at?: number | undefined;
  scope?: Record<string, unknown> | null;
  /** It failed before: nothing more is executed in the transaction. Default: false. */
  isLastTry?: boolean;
  /** It goes through {@link enter} though it is due at once. Default: false. */
  isGuarded?: boolean | undefined;
  /** The slot of the pool that the step still holds. */
  slot?: string | undefined;
  /** The function of a run that has begun. Default: the run is read. */
  entry?: string | undefined;
}

type Stepped = StepOf & Pick<Step, "stage" | "paused"> & Partial<Pick<Step, "check" | "entersAt">>;

/**
 * Schedules the entry of a step. One that is due at once is the generated function itself, which
 * the watchdog watches; a later one is {@link enter}. The entry of a paused step is only recorded,
 * and that of a parent whose children are being started.
 */
export async function scheduleEntry(
  ctx: MutationCtx,
  step: Stepped,
  { event = { kind: "arrive" }, at = Date.now(), scope = null, ...how }: EntryOptions,
  fields: Partial<Step> = {},
): Promise<Id<"_scheduled_functions"> | undefined> {
  const { isLastTry = false, isGuarded = false, slot, entry } = how;
  const token = tokenOf({ ...step, ...fields });
  const isPaused = (fields.paused ?? step.paused) === true;
  const { starting } = poolTx(ctx);
  // Its children are entered by the transaction that starts them, which then goes on with it.
  const isStarting = !isPaused && starting?.parent === step._id;
  const isRecorded = isPaused || isStarting;
  const isDue = at <= Date.now();
  await cancelCheck(ctx, step);
  const args = { token, stage: step.stage, event, scope, slot, fuse: !isLastTry };
  const job = isRecorded
    ? isStarting
      ? starting.job
      : undefined
    : ((isDue && !isGuarded ? await scheduleAtOnce(ctx, args, entry) : undefined) ??
      (await ctx.scheduler.runAt(at, internal.engine.entry.enter, { token, scope, slot })));
  // Nothing may be watched by the time a later entry is due.
  const check =
    isDue || job === undefined
      ? undefined
      : await ctx.scheduler.runAt(at + LATE_MS, internal.features.lost.checkLate, {
          step: step._id,
        });
  await ctx.db.patch("steps", step._id, {
    ...fields,
    job,
    check,
    entersAt: at,
    event: event.kind === "arrive" ? undefined : event,
    isLastTry: isLastTry ? true : undefined,
  });
  if (!isRecorded && isDue) await keepSweeping(ctx, pool);
  return job;
}

/** @returns undefined if {@link enter} is needed: the run begins, or its workflow is gone. */
async function scheduleAtOnce(
  ctx: MutationCtx,
  args: { token: Token; fuse: boolean },
  known: string | undefined,
) {
  const run = known === undefined ? await ctx.db.get("runs", args.token.run as RunId) : null;
  const entry = run?.state === "pending" ? undefined : (known ?? run?.entry);
  if (entry === undefined) return undefined;
  try {
    const fn = entry as FunctionHandle<"mutation">;
    // The watchdog calls again, without fusion, what has failed.
    return await ctx.scheduler.runAfter(0, fn, args);
  } catch {
    return undefined;
  }
}

export const enter = voidMutation(
  { token: vToken, scope: v.any(), slot: v.optional(v.string()) },
  async (ctx, { token, scope, slot }) => {
    const step = await stepWithId(ctx, token.step);
    // It may be delivered again.
    if (step !== null && (await isOwnJob(ctx, step.job)))
      await enterStep(ctx, token, { step, scope, slot });
  },
);

interface EnterOptions {
  /** Default: it is read. */
  step?: Step;
  event?: Event;
  scope?: Record<string, unknown> | null;
  slot?: string | undefined;
  /** The transaction has ended the run, whose `onEnd` this is. */
  ending?: true;
  /** What to do if both tries fail. Default: the step fails. */
  otherwise?: typeof failStep;
}

/** Enters a step in this transaction, unless it has gone on. */
export async function enterStep(ctx: MutationCtx, token: Token, options: EnterOptions) {
  const step = options.step ?? (await stepWithId(ctx, token.step));
  const run = step === null ? null : await ctx.db.get("runs", step.run);
  // A step that is paused is entered when its run is resumed.
  if (
    step === null ||
    run === null ||
    // guard: entered-once
    !isActive(step, token) ||
    step.paused === true
  )
    return;
  await enterNow(ctx, run, step, options);
}

/** Returns the event of a step that the run comes to; one that was paused has its keys and time. */
export function arrivalAt({
  permits,
  kind,
  dueAt,
}: Pick<Step, "permits" | "kind" | "dueAt">): Event {
  const hasTime = isEntry({ kind }) && dueAt !== undefined;
  return { kind: "arrive", ...(permits && { hasKeys: true }), ...(hasTime && { hasTime }) };
}

/** Enters again without fusion what fails: a scheduled mutation that throws is gone. */
export async function enterNow(
  ctx: MutationCtx,
  of: Run,
  step: Step,
  { scope = null, slot, ending, otherwise = failStep, ...given }: EnterOptions,
): Promise<void> {
  const token = tokenOf(step);
  await cancelCheck(ctx, step);
  let run = of;
  if (of.collects !== undefined) {
    if (!(await ctx.runMutation(internal.features.collecting.due, { step: step._id }))) return;
    run = (await ctx.db.get("runs", of._id)) ?? of;
  }
  if (run.state === "pending") {
    // guard: one-at-a-time
    if (!(await takeTurn(ctx, run))) return await joinLine(ctx, run, step);
    await ctx.db.patch("runs", run._id, { state: "running", startedAt: Date.now() });
    if (run.timeoutMs !== undefined) await beginDeadline(ctx, run._id, run.timeoutMs);
    await logStarted(ctx, workflowOf(run), [run._id], run.generation);
  }
  const event = given.event ?? step.event ?? arrivalAt(step);
  const call = async (fuse: boolean) =>
    await ctx.runMutation(
      run.entry as FunctionHandle<"mutation">,
      { token, stage: step.stage, event, scope, fuse, slot, ending, nested: true },
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

export async function failStep(
  ctx: MutationCtx,
  step: StepId,
  { kind, message, data }: Problem,
  slot?: string,
): Promise<void> {
  await ctx.runMutation(internal.settle.failStep, { step, problem: { kind, message, data }, slot });
}

/**
 * An action will not report itself: its run is told, and decides by its retry settings. Its attempt
 * began when it got its slot, or now, if it had none; or never, if it has waited too long.
 */
export async function attemptFailed(
  ctx: MutationCtx,
  work: string,
  problem: Pick<StepError, "kind" | "reason" | "waitedFor" | "message">,
): Promise<void> {
  const step = await stepWithId(ctx, work);
  const run = step === null ? null : await ctx.db.get("runs", step.run);
  // Nobody waits for it any more, or it has reported, and only that is still to be recorded.
  if (
    step === null ||
    run === null ||
    step.endedAt !== undefined ||
    // guard: has-reported
    step.event !== undefined
  )
    return;
  const workflow = workflowOf(run);
  const error = { ...problem, workflow, node: step.stage, attempt: step.attempt };
  const slot = await slotOf(ctx, work);
  const began = slot === null ? Date.now() : (slot.beganAt ?? slot.startedAt);
  const beganAt = problem.reason === "waiting" ? undefined : began;
  await scheduleEntry(ctx, step, { event: { kind: "failed", error, beganAt } });
  if (problem.kind === "lost") await logStep(ctx, "lost", step.run, error, step.sensitive);
}
