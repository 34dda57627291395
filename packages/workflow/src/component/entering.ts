import {
  enqueueWork,
  hasRoom,
  keepLooking,
  leaveRoom,
  messageOf,
  ROOM_TO_COMPLETE,
  type Work,
} from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { v } from "convex/values";
import { describeThrown, type Problem } from "../errors/failure.js";
import { withoutValues } from "../errors/without-values.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { beginDeadline } from "./deadlines.js";
import { pool } from "./line.js";
import { logStarted } from "./log.js";
import { cancelReserve, LATE_MS } from "./scheduled.js";
import { keyOf, loopAround, nameOf, smallScope, type Known } from "./scope.js";
import { isActive, settle } from "./settle.js";
import {
  vToken,
  type ActionFunction,
  type Event,
  type Outcome,
  type Stage,
  type Token,
} from "./validators.js";

/**
 * Up to this size a scope goes along as arguments; beyond, it is loaded by the function that needs it. Arguments are kept for a week
 * in `_scheduled_functions`, and are read whenever such a row is.
 */
const MAX_SCOPE_BYTES = 256 * 1024;

/** A run, how often it was restarted, the plan that it began under, and when it was created: what every record of it begins with. */
export type RunOf = Pick<Doc<"steps">, "run" | "generation" | "plan" | "createdAt" | "childOf">;
type StepOf = Omit<RunOf, "createdAt"> & Pick<Doc<"steps">, "_id" | "attempt" | "pass">;

/** The token of the next transaction or attempt of a step. */
export function tokenOf({ _id, run, attempt, pass, generation, plan, childOf }: StepOf): Token {
  return {
    run,
    step: _id,
    attempt,
    ...(pass === undefined ? {} : { pass }),
    ...(generation === undefined ? {} : { generation }),
    ...(plan === undefined ? {} : { plan }),
    ...(childOf === undefined ? {} : { childOf }),
  };
}

/** The fields that a new record begins with. */
export function newRecord(
  { run, generation, plan, createdAt, childOf }: RunOf,
  { stage, called, pass }: Pick<Stage, "stage" | "called" | "pass">,
) {
  return {
    run,
    createdAt,
    stage,
    attempt: 1,
    startedAt: Date.now(),
    ...(called === undefined ? {} : { called }),
    ...(generation === undefined ? {} : { generation }),
    ...(plan === undefined ? {} : { plan }),
    ...(childOf === undefined ? {} : { childOf }),
    ...(pass === undefined || pass.length === 0 ? {} : { pass }),
  };
}

/** How a step is woken. */
export interface Waking {
  /** What is said to it. Default: that the run arrives there. */
  event?: Event;
  /** In ms since the epoch. Default: now. */
  at?: number | undefined;
  scope?: Record<string, unknown> | null;
  /** It failed before: nothing more is executed in the transaction. Default: false. */
  isLastTry?: boolean;
  /** It goes through {@link deliver} though it is due at once. Default: false. */
  isDelivered?: boolean | undefined;
  /** The slot of the pool that the step still holds. */
  slot?: string | undefined;
}

/**
 * Has the run go on at a step: schedules the workflow's `resume`, and writes into the step's record that it is, so that it can be looked
 * after, called off, and scheduled anew. What is due at once is scheduled as it is, and the pool's watchdog sees to it; what is due later
 * goes through {@link deliver}, because nothing watches while all sleeps. A run that is paused is only told so in its record.
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
  return await ctx.scheduler.runAt(at + LATE_MS, internal.waking.checkLate, { step });
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
  // A run that was to begin later begins in `deliver`, however late that is.
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
  return await ctx.scheduler.runAt(at, internal.entering.deliver, { token, scope, slot });
}

/** The fields of a record that say how it is woken, when it is not to be any more. */
export const ASLEEP = {
  job: undefined,
  reserve: undefined,
  wakeAt: undefined,
  event: undefined,
  isLastTry: undefined,
  dueAt: undefined,
};

/**
 * Enters the workflow, and says what the step's record says. If that fails because of what it executed on the way, once more with nothing
 * executed beside it; if that fails too, the step fails with that error: a scheduled mutation that throws is gone for good.
 */
export const deliver = internalMutation({
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
  const enter = async (fuse: boolean) =>
    await ctx.runMutation(
      run.resume as FunctionHandle<"mutation">,
      { token, stage: step.stage, event, scope, fuse, callsAgain: fuse, slot },
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_COMPLETE) },
    );
  try {
    await enter(true);
  } catch {
    try {
      await enter(false);
    } catch (failure) {
      await otherwise(ctx, step, run, describeThrown(failure), slot);
    }
  }
}

/** The run cannot go on at a step. What an action has reported is kept all the same, so that it can be undone. */
export async function failStep(
  ctx: MutationCtx,
  step: Doc<"steps">,
  { workflow }: Doc<"runs">,
  problem: Problem,
  slot?: string,
): Promise<void> {
  const { event, sensitive } = step;
  const shown = sensitive === true ? withoutValues(problem) : problem;
  const error = { ...shown, workflow, node: nameOf(step), attempt: step.attempt };
  const outcome: Outcome =
    event?.kind === "done"
      ? { kind: "success", output: event.output, ...(await loopAround(ctx, step)) }
      : { kind: "failed", error };
  await settle(ctx, {
    token: tokenOf(step),
    slot,
    outcome,
    fused: [],
    // A deploy may take a function away: then nothing has failed but that.
    next: {
      kind: "fail",
      error,
      stage: step.stage,
      ofCompletion: problem.kind !== "removedNode",
    },
  });
}

/**
 * Has a new run begin at its first stage, and the time that it may take; one that is paused does so when it is resumed.
 * @param how `start`: what becomes of its first work. `childOf`: as in its records. @returns what `start` gives.
 */
export async function beginRun(
  ctx: MutationCtx,
  run: Doc<"runs">,
  first: Stage,
  { start = startWork, childOf }: { start?: typeof startWork; childOf?: Id<"steps"> | undefined },
): Promise<boolean> {
  const { _id, _creationTime: createdAt, generation, plan, paused: held, timeoutMs } = run;
  if (timeoutMs !== undefined) await beginDeadline(ctx, _id, timeoutMs);
  const of = { run: _id, createdAt, generation, plan, held, childOf };
  const known = run.input === undefined ? new Map() : knownInput(run.input);
  if (first.action !== undefined && held !== true)
    return await start(ctx, await beginAction(ctx, of, first.action, first, known));
  await arriveAt(ctx, of, first, known);
  return true;
}

/**
 * Gives a work to the pool. Where a deploy took away its function, its own run fails, and not whoever has made room for it.
 * @returns whether it has not.
 */
export async function startWork(ctx: MutationCtx, work: Work): Promise<boolean> {
  try {
    await enqueueWork(ctx, work, pool);
    return true;
  } catch (error) {
    const step = await ctx.db.get("steps", work.work as Id<"steps">);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    // A transaction that is used up refuses whatever is tried.
    if (step === null || run === null || !(await hasRoom(ctx, ROOM_TO_COMPLETE))) throw error;
    const message = `Its function no longer exists: ${messageOf(error)}`;
    await failStep(ctx, step, run, { kind: "removedNode", message });
    return false;
  }
}

/** The fields that the record of a stage begins with which is still to come. */
function recordToCome(of: RunOf, stage: Stage) {
  const { sensitive, undoable } = stage;
  return {
    ...newRecord(of, stage),
    ...(sensitive === true ? { sensitive } : {}),
    ...(undoable === true ? { undoable, kept: true } : {}),
  };
}

/** Inserts the record of an action that a run goes on with. @returns the work to give to the pool. */
export async function beginAction(
  ctx: MutationCtx,
  of: RunOf,
  action: ActionFunction,
  stage: Stage,
  known: Known,
): Promise<Work> {
  const record = recordToCome(of, stage);
  const step = await ctx.db.insert("steps", { ...record, kind: "action", state: "running" });
  return await actionWork(ctx, { ...record, _id: step }, action, stage, known);
}

/** Inserts the record of any other stage, and has the run go on with it in a transaction of its own. */
export async function arriveAt(
  ctx: MutationCtx,
  of: RunOf & Pick<Doc<"steps">, "held">,
  stage: Stage,
  known: Known,
  { at, ...fields }: { at?: number | undefined } & Partial<Doc<"steps">> = {},
): Promise<void> {
  const record = { ...recordToCome(of, stage), ...fields };
  const step = await ctx.db.insert("steps", {
    ...record,
    kind: "entry",
    state: "pending",
    ...(of.held === true ? { held: true } : {}),
  });
  const scope = await scopeArgument(ctx, of.run, stage, known);
  const isDelivered = stage.afterFailure;
  await wake(ctx, { ...record, _id: step, held: of.held }, { at, scope, isDelivered });
}

/** The work that runs an attempt of an action step. */
export async function actionWork(
  ctx: MutationCtx,
  step: StepOf & Pick<Doc<"steps">, "errors">,
  action: ActionFunction,
  { reads }: Pick<Stage, "reads">,
  known: Known,
): Promise<Work> {
  const scope = await scopeArgument(ctx, step.run, { reads }, known);
  const previousError = step.errors?.at(-1) ?? null;
  return {
    work: step._id,
    ...action,
    args: { token: tokenOf(step), scope, previousError },
  };
}

/** What a stage reads, where it can go along as an argument; null where it is too large, or not to be seen. */
async function scopeArgument(
  ctx: MutationCtx,
  run: Id<"runs">,
  { reads }: Pick<Stage, "reads">,
  known: Known,
): Promise<Record<string, unknown> | null> {
  if (reads.some(({ sensitive }) => sensitive === true)) return null;
  return await smallScope(ctx, run, reads, known, MAX_SCOPE_BYTES);
}

/** A run's input, as what is known of it. */
export function knownInput(input: unknown): Known {
  return new Map([[keyOf({ stage: "input" }), input]]);
}
