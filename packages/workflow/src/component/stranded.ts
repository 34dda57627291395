import {
  isWaiting,
  leaveRoom,
  messageOf,
  ROOM_TO_COMPLETE,
  slotOf,
  takeBack,
} from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx, type QueryCtx } from "./_generated/server.js";
import { attemptFailed } from "./line.js";
import { logStuck } from "./log.js";

/* Actions that the pool has lost sight of: it could not recover them, and has set them aside. */

/** How many of them one look sees to. */
const PAGE = 20;
/** How long after a look there is another, in ms, while there are any. */
const LOOK_AGAIN_MS = 60_000;

/** Whether an action that should run is neither in the queue nor in a slot, and nothing will tell its run so. */
export async function isStranded(ctx: QueryCtx, step: Doc<"steps">): Promise<boolean> {
  const { kind, state, held, wakeAt, _id } = step;
  if (kind !== "action" || state !== "running" || held === true || wakeAt !== undefined)
    return false;
  return !(await isWaiting(ctx, _id)) && (await slotOf(ctx, _id)) === null;
}

/** For the watchdog: counts what was set aside as failed attempts. @returns when to look again; null where there is nothing. */
export async function lookAfterSetAside(ctx: MutationCtx): Promise<number | null> {
  const rows = await ctx.db.query("setAside").take(PAGE);
  for (const { work } of rows) {
    const id = ctx.db.normalizeId("steps", work);
    const step = id === null ? null : await ctx.db.get("steps", id);
    if (step === null) await takeBack(ctx, work);
    else await recoverStranded(ctx, step);
  }
  return rows.length === 0 ? null : Date.now() + LOOK_AGAIN_MS;
}

/** Tells a run that its action is lost, if it is. Where that throws, another look or repair tries it again. */
export async function recoverStranded(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  try {
    const transactionLimits = await leaveRoom(ctx, ROOM_TO_COMPLETE);
    await ctx.runMutation(internal.stranded.recover, { step: step._id }, { transactionLimits });
  } catch (error) {
    const run = await ctx.db.get("runs", step.run);
    if (run !== null) await logStuck(ctx, run, step, messageOf(error));
  }
}

export const recover = internalMutation({
  args: { step: v.id("steps") },
  returns: v.null(),
  handler: async (ctx, { step: id }: { step: Id<"steps"> }) => {
    const step = await ctx.db.get("steps", id);
    if (step !== null && (await isStranded(ctx, step)))
      await attemptFailed(ctx, id, "lost", "Its action was lost: the pool could not recover it");
    await takeBack(ctx, id);
    return null;
  },
});
