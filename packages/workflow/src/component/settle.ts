import { completeWork, type SlotId } from "@stepwise/workpool/core";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { setDeadline } from "./deadlines.js";
import { startWork } from "./entering.js";
import { foldedFurther } from "./folding.js";
import { forgetPasses } from "./forgetting.js";
import { pool } from "./line.js";
import { logRetrying } from "./log.js";
import { beginNext } from "./next.js";
import { recordFused, recordOutcome, type Progress } from "./recording.js";
import { isOwnJob } from "./scheduled.js";
import { keyOf } from "./scope.js";
import { ACTIVE_STATES, type Fused, type Next, type Settlement, type Token } from "./validators.js";

/**
 * Records what happened and starts what comes next, in one transaction. A token that is stale or repeated changes nothing, but gives
 * back the slot that its work held. It is not called stale where this very transaction has ended the run: a step may cancel the run
 * that it belongs to, and then what it did stays.
 * @throws where the run is paused and stages were executed besides: the caller reports again without them.
 */
export async function settle(
  ctx: MutationCtx,
  settlement: Settlement,
): Promise<{ stale: boolean }> {
  const { token, slot, outcome, fused, next } = settlement;
  const found = await stepNamed(ctx, token);
  const ended = { work: token.step, slot: slot as SlotId | undefined };
  if (found === null || !isActive(found, token)) {
    // An attempt that another has followed gave its slot back then; by now the other may hold it.
    if (found === null || found.attempt === token.attempt) await completeWork(ctx, pool, ended);
    const isOwn = found !== null && (await isOwnJob(ctx, found.job));
    return { stale: !isOwn || hasDoneMore(fused) };
  }
  if (found.held === true && (await hasStarted(ctx, found, fused)))
    throw new Error(`The run is paused: nothing of it starts`);
  const plan = planOf(found, settlement);
  const step = { ...found, plan };
  if (plan !== found.plan) await ctx.db.patch("steps", found._id, { plan });
  const progress: Progress = {
    step,
    ids: new Map([[keyOf(step), step._id]]),
    known: new Map(),
    loops: [],
  };
  await recordOutcome(ctx, progress, settlement);
  if (settlement.reduced !== undefined) await foldedFurther(ctx, step.run, settlement.reduced);
  for (const stage of fused) await recordFused(ctx, progress, stage, settlement);
  for (const deadline of settlement.deadlines ?? []) await setDeadline(ctx, step.run, deadline);
  const successor = await beginNext(ctx, progress, settlement);
  if (slot !== undefined) await completeWork(ctx, pool, ended, successor);
  else if (successor !== undefined) await startWork(ctx, successor);
  if (outcome.kind === "retry") await logRetrying(ctx, step, outcome.error, outcome.dueAt);
  for (const loop of progress.loops) await forgetPasses(ctx, loop);
  const isEntry = outcome.kind === "open" && step.kind === "entry";
  if (isEntry && !isRecorded(step, fused, next)) await pass(ctx, step);
  return { stale: false };
}

/**
 * Whether functions of the app were executed though the run is paused. Not where one of them has paused it, in this very transaction: a pause
 * from elsewhere would have called that off.
 */
async function hasStarted(
  ctx: MutationCtx,
  { job }: Doc<"steps">,
  fused: readonly Fused[],
): Promise<boolean> {
  const isOfApp = fused.some(({ kind }) => kind === "mutation" || kind === "query");
  return isOfApp && !(await isOwnJob(ctx, job));
}

/**
 * Whether something that can be undone was executed before the last function: where that has ended the run, nobody would undo it. It is
 * executed again by itself, and recorded.
 */
function hasDoneMore(fused: readonly Fused[]): boolean {
  const ofApp = fused.filter(({ kind }) => kind === "mutation" || kind === "query");
  return ofApp.slice(0, -1).some(({ undoable }) => undoable === true);
}

/** The plan that a run has gone by from its beginning. One that has gone by several goes by none, also where a deploy brings the first back. */
function planOf({ plan }: Doc<"steps">, settlement: Settlement): string | undefined {
  return plan === undefined || plan === settlement.plan ? plan : NO_PLAN;
}

const NO_PLAN = "";

/** The step of a token; null where it is gone. */
export async function stepNamed(ctx: MutationCtx, token: Token): Promise<Doc<"steps"> | null> {
  const id = ctx.db.normalizeId("steps", token.step);
  return id === null ? null : await ctx.db.get("steps", id);
}

/** Whether the token is that of the step's present attempt, and something of the step is still to come. */
export function isActive(step: Doc<"steps">, token: Token): boolean {
  return step.attempt === token.attempt && ACTIVE_STATES.some((state) => state === step.state);
}

/** Whether the record with which the run arrived is that of something which happened here, or begins here. */
function isRecorded(step: Doc<"steps">, fused: readonly Fused[], next: Next): boolean {
  if (next.kind === "fail" || next.kind === "undone") return true;
  const own = keyOf(step);
  const begun =
    next.kind === "children" ? next.children : next.kind === "stage" ? next.stage : next;
  const isNext =
    "stage" in begun &&
    begun.stage !== null &&
    keyOf({ pass: [], ...begun, stage: begun.stage }) === own;
  return isNext || fused.some((stage) => keyOf(stage) === own);
}

/** The run has only passed by here: at a node that has kept its result, say. */
async function pass(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  await ctx.db.delete("steps", step._id);
}
