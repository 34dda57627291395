import { continuation, hasRoomInPage } from "../core/continuations.js";
import type { Id, MutationCtx, RunId, StepId } from "../core/documents.js";
import { isTurn } from "../core/kinds.js";
import { workflowOf } from "../core/runs.js";
import { hasNotEnded } from "../core/steps.js";
import { holderOf, type Turn, turnsIn } from "../core/turns.js";
import { cancelRun } from "./ending.js";
import { beginIfFree } from "./passTurn.js";

/* What a `one` cancels: a run that is skipped, or those whose place another takes. */

/** The key of a run that would begin is taken, and its `one` says that it does not wait. */
export const skip = continuation<StepId>(async (ctx, id) => {
  const step = await ctx.db.get("steps", id);
  // It may have been canceled, and be another generation.
  const run =
    step !== null && isTurn(step) && hasNotEnded(step) ? await ctx.db.get("runs", step.run) : null;
  if (step === null || run?.one === undefined) return null;
  const holder = await holderOf(ctx, { workflow: run.workflow, key: run.one.key });
  // It may have ended since.
  if (holder === null && (await beginIfFree(ctx, { run, step }))) return null;
  const because = `Another run of "${workflowOf(run)}" with the same key goes on: ${holder?.run}`;
  await cancelRun(ctx, run, undefined, because);
  return null;
});

/** A run takes the place of those that wait longer, and perhaps of the one that has the turn. */
export const replace = continuation<Id<"turns">>(async (ctx, id) => {
  const turn = await ctx.db.get("turns", id);
  const run = turn === null ? null : await ctx.db.get("runs", turn.run);
  if (turn === null || run?.one === undefined) return null;
  const newest = await turnsIn(ctx, turn, "waits").order("desc").first();
  // A newer one does it.
  if (newest?.replaces === true && isBefore(turn, newest)) return null;
  for (const state of ["waits", "paused"] as const)
    for await (const other of turnsIn(ctx, turn, state)) {
      if (!isBefore(other, turn)) break;
      if (!(await hasRoomInPage(ctx))) return id;
      await cancelFor(ctx, turn.run, other.run);
    }
  const holder = await holderOf(ctx, turn);
  const isOld = run.one.otherwise === "cancelOld" && holder !== null && isBefore(holder, turn);
  if (!isOld) return null;
  // The callback of a run that was canceled here may have left too little.
  if (!(await hasRoomInPage(ctx))) return id;
  await cancelFor(ctx, turn.run, holder.run);
  return null;
});

const isBefore = (one: Turn, other: Turn): boolean =>
  one.at < other.at || (one.at === other.at && one._creationTime < other._creationTime);

async function cancelFor(ctx: MutationCtx, newer: RunId, id: RunId): Promise<void> {
  const run = await ctx.db.get("runs", id);
  if (run === null) return;
  const because = `A newer run of "${workflowOf(run)}" with the same key takes its place: ${newer}`;
  await cancelRun(ctx, run, undefined, because);
}
