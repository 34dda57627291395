import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import {
  continuation,
  continueLater,
  hasRoomInPage,
  voidMutation,
} from "../core/continuations.js";
import type { Id, MutationCtx, RunId } from "../core/documents.js";
import { workflowOf } from "../core/runs.js";
import { turnsIn } from "../core/turns.js";
import { cancelRun } from "./ending.js";

/* A run begins to wait for its turn, whose `one` says that some run is canceled then. */

/** Cancels that run if it would have been skipped; else those whose place it takes. */
export const replace = voidMutation({ turn: v.id("turns") }, async (ctx, { turn }) => {
  if (!(await replacePage(ctx, turn)))
    await continueLater(ctx, internal.features.replacing.replaceMore, turn);
});

export const replaceMore = continuation<Id<"turns">>(async (ctx, turn) =>
  (await replacePage(ctx, turn)) ? null : turn,
);

/** @returns whether all is done. */
async function replacePage(ctx: MutationCtx, id: Id<"turns">): Promise<boolean> {
  const turn = await ctx.db.get("turns", id);
  const run = turn === null ? null : await ctx.db.get("runs", turn.run);
  if (turn === null || run?.one === undefined || turn.state === "has it") return true;
  const { otherwise } = run.one;
  const holder = await turnsIn(ctx, turn, "has it").first();
  if (otherwise === "skip") {
    const because = `Another run of "${workflowOf(run)}" with the same key goes on: ${holder?.run}`;
    await cancelRun(ctx, run, undefined, because);
    return true;
  }
  for (const state of ["waits", "paused"] as const)
    for await (const other of turnsIn(ctx, turn, state)) {
      if (other._id === id) break;
      if (!(await hasRoomInPage(ctx))) return false;
      await cancelFor(ctx, turn.run, other.run);
    }
  // Nobody waits before the new one, so the turn goes to that.
  if (otherwise === "cancelOld" && holder !== null) await cancelFor(ctx, turn.run, holder.run);
  return true;
}

async function cancelFor(ctx: MutationCtx, newer: RunId, id: RunId): Promise<void> {
  const run = await ctx.db.get("runs", id);
  if (run === null) return;
  const because = `A newer run of "${workflowOf(run)}" with the same key takes its place: ${newer}`;
  await cancelRun(ctx, run, undefined, because);
}
