import { leaveRoom, messageOf, ROOM_TO_RECORD } from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { outputOf } from "./scope.js";

/**
 * Calls the run's `onComplete`, once, in a nested transaction: what it throws rolls back its own writes only, and is kept in the run.
 */
export async function announceEnd(ctx: MutationCtx, run: Doc<"runs">): Promise<void> {
  if (run.onComplete === undefined) return;
  const kept = await ctx.db
    .query("contexts")
    .withIndex("by_run", (q) => q.eq("run", run._id))
    .first();
  try {
    const result =
      run.state === "completed"
        ? { state: run.state, output: (await outputOf(ctx, run)) ?? null }
        : { state: run.state, error: run.error };
    await ctx.runMutation(
      run.onComplete as FunctionHandle<"mutation">,
      { runId: run._id, context: kept?.context ?? null, result },
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_RECORD) },
    );
  } catch (error) {
    const message = messageOf(error);
    console.error(`The onComplete of a run of "${run.workflow}" failed: ${message}`);
    await ctx.db.patch("runs", run._id, { onCompleteError: message.slice(0, 8_000) });
  }
}
