import { leaveRoom, messageOf, ROOM_TO_RECORD } from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { withoutValues } from "../errors/without-values.js";
import { logOnCompleteFailed } from "./log.js";

/**
 * Calls the run's `onComplete`, once, in a nested transaction: what it throws rolls back its own writes only, and is kept in the run.
 * @param of `sensitive`: what the run's error says is not to be logged.
 */
export async function announceEnd(
  ctx: MutationCtx,
  run: Doc<"runs">,
  of: { sensitive: boolean },
): Promise<void> {
  if (run.onComplete === undefined) return;
  const kept = await ctx.db
    .query("contexts")
    .withIndex("by_run", (q) => q.eq("run", run._id))
    .first();
  let { sensitive } = of;
  try {
    const last = run.outputStep === undefined ? null : await ctx.db.get("steps", run.outputStep);
    sensitive ||= last?.sensitive === true;
    const result =
      run.state === "completed"
        ? { state: run.state, output: last?.output ?? null }
        : { state: run.state, error: run.error };
    await ctx.runMutation(
      run.onComplete as FunctionHandle<"mutation">,
      { runId: run._id, context: kept?.context ?? null, result },
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_RECORD) },
    );
  } catch (error) {
    const message = messageOf(error);
    await logOnCompleteFailed(ctx, run, message, sensitive);
    const { message: told } = sensitive ? withoutValues({ kind: "thrown", message }) : { message };
    await ctx.db.patch("runs", run._id, { onCompleteError: told.slice(0, 8_000) });
  }
}
