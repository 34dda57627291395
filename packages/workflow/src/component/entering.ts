import { enqueueWork, type Work } from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { pool } from "./line.js";
import { loadScope, type Known } from "./scope.js";
import type { ActionFunction, Event, Stage, Token } from "./validators.js";

/**
 * Up to this size a scope goes along as arguments; beyond, it is loaded by the function that needs it. Arguments are kept for a week
 * in `_scheduled_functions`, and are read whenever such a row is.
 */
const MAX_SCOPE_BYTES = 256 * 1024;

/** The token of the next transaction or attempt of a step. */
export function tokenOf(step: Pick<Doc<"steps">, "_id" | "run" | "attempt">): Token {
  return { run: step.run, step: step._id, attempt: step.attempt };
}

/**
 * Schedules the workflow's `resume` at a step.
 * @param at when, in ms since the epoch. Default: now.
 */
export async function enter(
  ctx: MutationCtx,
  run: Doc<"runs">,
  step: Pick<Doc<"steps">, "_id" | "run" | "attempt" | "stage">,
  event: Event,
  at: number = Date.now(),
  scope: Record<string, unknown> | null = null,
): Promise<Id<"_scheduled_functions">> {
  return await ctx.scheduler.runAt(at, run.resume as FunctionHandle<"mutation">, {
    token: tokenOf(step),
    stage: step.stage,
    event,
    scope,
  });
}

/** Has a new run begin at its first stage. */
export async function beginRun(
  ctx: MutationCtx,
  run: Doc<"runs">,
  first: Stage,
  known: Known,
): Promise<void> {
  if (first.action === undefined) await arriveAt(ctx, run, first, known);
  else await enqueueWork(ctx, await beginAction(ctx, run._id, first.action, first, known), pool);
}

/** Inserts the record of an action that a run goes on with. @returns the work to give to the pool. */
export async function beginAction(
  ctx: MutationCtx,
  run: Id<"runs">,
  action: ActionFunction,
  stage: Stage,
  known: Known,
): Promise<Work> {
  const record = { run, stage: stage.stage, attempt: 1, startedAt: Date.now() };
  const step = await ctx.db.insert("steps", { ...record, kind: "action", state: "running" });
  return await actionWork(ctx, { ...record, _id: step }, action, stage, known);
}

/** Inserts the record of any other stage, and has the run go on with it in a transaction of its own. */
export async function arriveAt(
  ctx: MutationCtx,
  run: Doc<"runs">,
  stage: Stage,
  known: Known,
): Promise<void> {
  const record = { run: run._id, stage: stage.stage, attempt: 1, startedAt: Date.now() };
  const step = await ctx.db.insert("steps", { ...record, kind: "entry", state: "pending" });
  const scope = await scopeArgument(ctx, run._id, stage, known);
  const job = await enter(
    ctx,
    run,
    { ...record, _id: step },
    { kind: "arrive" },
    Date.now(),
    scope,
  );
  await ctx.db.patch("steps", step, { job });
}

/** The work that runs an attempt of an action step. */
export async function actionWork(
  ctx: MutationCtx,
  step: Pick<Doc<"steps">, "_id" | "run" | "attempt" | "errors">,
  action: ActionFunction,
  stage: Stage,
  known: Known,
): Promise<Work> {
  const scope = await scopeArgument(ctx, step.run, stage, known);
  const previousError = step.errors?.at(-1) ?? null;
  return {
    work: step._id,
    ...action,
    args: { token: tokenOf(step), scope, reads: scope === null ? stage.reads : [], previousError },
  };
}

async function scopeArgument(
  ctx: MutationCtx,
  run: Id<"runs">,
  stage: Stage,
  known: Known,
): Promise<Record<string, unknown> | null> {
  const scope = await loadScope(ctx, run, stage.reads, known);
  return getConvexSize(scope as Value) > MAX_SCOPE_BYTES ? null : scope;
}
