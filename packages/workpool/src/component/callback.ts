import type { FunctionHandle } from "convex/server";
import type { Value } from "convex/values";
import { leaveRoom, messageOf, ROOM_TO_RECORD, type RunResult } from "../core/index.js";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";

/**
 * Calls a work's callback, if it has one for this kind of result. To be called last, when nothing of the work is left: it runs in a nested
 * transaction, so whatever it throws undoes its own writes only, and it is not repeated.
 */
export async function callBack(
  ctx: MutationCtx,
  work: Doc<"works">,
  context: Value | undefined,
  result: RunResult,
): Promise<void> {
  const { onComplete, name } = work;
  if (onComplete === undefined) {
    // Nobody is told of this failure, so the log is its only trace.
    if (result.kind === "failed") console.error(`"${name ?? work.fn}" failed: ${result.error}`);
    return;
  }
  if (onComplete.excludeKinds?.includes(result.kind)) return;
  try {
    await ctx.runMutation(
      onComplete.fn as FunctionHandle<"mutation">,
      { workId: work._id, ...(context === undefined ? {} : { context }), result },
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_RECORD) },
    );
  } catch (error) {
    const message = messageOf(error);
    console.error(
      `The onComplete of "${name ?? work.fn}" threw; its writes are rolled back. ${message}`,
    );
    await ctx.db.insert("failedCallbacks", {
      workId: work._id,
      name,
      fn: onComplete.fn,
      resultKind: result.kind,
      error: message,
    });
  }
}
