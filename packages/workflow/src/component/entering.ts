import { enqueueWork, keepLooking, leaveRoom, ROOM_TO_RECORD, type Work } from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { getConvexSize, v, type Value } from "convex/values";
import { describeThrown } from "../errors/failure.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { beginDeadline } from "./deadlines.js";
import { pool } from "./line.js";
import { keyOf, loadScope, type Known } from "./scope.js";
import { isActive, settle } from "./settle.js";
import { vEvent, vToken, type ActionFunction, type Event, type Stage, type Token } from "./validators.js";

/**
 * Up to this size a scope goes along as arguments; beyond, it is loaded by the function that needs it. Arguments are kept for a week
 * in `_scheduled_functions`, and are read whenever such a row is.
 */
const MAX_SCOPE_BYTES = 256 * 1024;

/** A run, and how often it was restarted: what every record of it begins with. */
export type RunOf = Pick<Doc<"steps">, "run" | "generation">;
type StepOf = Pick<Doc<"steps">, "_id" | "run" | "attempt" | "pass" | "generation">;

/** The token of the next transaction or attempt of a step. */
export function tokenOf({ _id, run, attempt, pass, generation }: StepOf): Token {
  return {
    run,
    step: _id,
    attempt,
    ...(pass === undefined ? {} : { pass }),
    ...(generation === undefined ? {} : { generation }),
  };
}

/** What the fields of a record hold besides for being woken: what is said then, if it does not follow from the record. */
export interface Waking {
  event?: Event;
  /** In ms since the epoch. Default: now. */
  at?: number;
  scope?: Record<string, unknown> | null;
}

/**
 * Has the run go on at a step: schedules the workflow's `resume`, and writes into the step's record that it is, so that it can be looked
 * after, called off, and scheduled anew. A run that is paused is only told so in its record.
 */
export async function wake(
  ctx: MutationCtx,
  step: StepOf & Pick<Doc<"steps">, "stage" | "held">,
  { event, at = Date.now(), scope = null }: Waking,
  fields: Partial<Doc<"steps">> = {},
): Promise<void> {
  const token = tokenOf({ ...step, ...fields });
  const said = event ?? { kind: "arrive" as const };
  const isHeld = fields.held ?? step.held;
  const job = isHeld
    ? undefined
    : await ctx.scheduler.runAt(at, internal.entering.deliver, { token, event: said, scope });
  await ctx.db.patch("steps", step._id, {
    ...fields,
    job,
    wakeAt: at,
    event: said.kind === "arrive" ? undefined : said,
  });
  if (!isHeld && at <= Date.now()) await keepLooking(ctx, pool);
}

/** The fields of a record that say how it is woken, when it is not to be any more. */
export const ASLEEP = { job: undefined, wakeAt: undefined, event: undefined, dueAt: undefined };

/**
 * Enters the workflow. If that fails because of what it executed on the way, once more with nothing executed beside it; if that fails too, the
 * step fails with that error: a scheduled mutation that throws is gone for good.
 */
export const deliver = internalMutation({
  args: { token: vToken, event: vEvent, scope: v.any() },
  returns: v.null(),
  handler: async (ctx, { token, event, scope }) => {
    await enterRun(ctx, token, event, scope);
    return null;
  },
});

/** The same, inside the transaction of whoever calls. */
export async function enterRun(
  ctx: MutationCtx,
  token: Token,
  event: Event,
  scope: Record<string, unknown> | null = null,
): Promise<void> {
  const id = ctx.db.normalizeId("steps", token.step);
  const step = id === null ? null : await ctx.db.get("steps", id);
  const run = step === null ? null : await ctx.db.get("runs", step.run);
  if (step === null || run === null || !isActive(step, token)) return;
  if (run.state === "pending") {
    await ctx.db.patch("runs", run._id, { state: "running", startedAt: Date.now() });
    if (run.timeoutMs !== undefined) await beginDeadline(ctx, run._id, run.timeoutMs);
  }
  const enter = async (fuse: boolean) =>
    await ctx.runMutation(
      run.resume as FunctionHandle<"mutation">,
      { token, stage: step.stage, event, scope, fuse },
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_RECORD) },
    );
  try {
    await enter(true);
  } catch {
    try {
      await enter(false);
    } catch (failure) {
      const at = { workflow: run.workflow, node: step.stage, attempt: step.attempt };
      const error = { ...describeThrown(failure), ...at };
      await settle(ctx, {
        token,
        outcome: { kind: "failed", error },
        fused: [],
        next: { kind: "fail", error },
      });
    }
  }
}

/** Has a new run begin at its first stage: now, or at a time in ms since the epoch. */
export async function beginRun(
  ctx: MutationCtx,
  run: Pick<Doc<"runs">, "_id" | "generation">,
  first: Stage,
  known: Known,
  at?: number,
): Promise<void> {
  const of = { run: run._id, generation: run.generation };
  if (first.action === undefined || at !== undefined) await arriveAt(ctx, of, first, known, { at });
  else await enqueueWork(ctx, await beginAction(ctx, of, first.action, first, known), pool);
}

/** The fields that a new record of a stage begins with. */
function recordOf({ run, generation }: RunOf, { stage, pass, sensitive, undoable }: Stage) {
  return {
    run,
    stage,
    attempt: 1,
    startedAt: Date.now(),
    ...(generation === undefined ? {} : { generation }),
    ...(pass === undefined || pass.length === 0 ? {} : { pass }),
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
  const record = recordOf(of, stage);
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
  const record = { ...recordOf(of, stage), ...fields };
  const step = await ctx.db.insert("steps", {
    ...record,
    kind: "entry",
    state: "pending",
    ...(of.held === true ? { held: true } : {}),
  });
  const scope = await scopeArgument(ctx, of.run, stage, known);
  await wake(ctx, { ...record, _id: step, held: of.held }, { at, scope });
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
    args: { token: tokenOf(step), scope, reads: scope === null ? reads : [], previousError },
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
  const scope = await loadScope(ctx, run, reads, known);
  return getConvexSize(scope as Value) > MAX_SCOPE_BYTES ? null : scope;
}

/** A run's input, as what is known of it. */
export function knownInput(input: unknown): Known {
  return new Map([[keyOf({ stage: "input" }), input]]);
}
