import { v } from "convex/values";
import {
  cancelPending,
  hasRoom,
  isSetAside,
  leaveLineCanceled,
  messageOf,
  setAside,
} from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { cancelWork } from "./cancel.js";
import { HALF_OF_A_TRANSACTION } from "./continuations.js";
import { countWithoutSlot } from "./tallies.js";

/**
 * Cancels works, one after the other. One that cannot be canceled is set aside, and harms no other.
 * @param failures how often the page that does it has failed before; see `goOnWith`. One that has done so twice sets its first work aside, as
 * nobody can catch what that fails by.
 * @returns how many of them, from the first, it came to: fewer than all where their callbacks needed much of the transaction.
 */
export async function cancelMany(
  ctx: MutationCtx,
  works: readonly Doc<"works">[],
  failures = 0,
): Promise<number> {
  const [first] = works;
  if (first === undefined) return 0;
  if (failures >= 2) {
    await leaveUncanceled(ctx, first, "its page has failed again and again");
    return 1;
  }
  const ids = works.map((work) => work._id);
  try {
    return await ctx.runMutation(internal.cancelMany.each, { ids });
  } catch {
    // One of them is to blame: which, is found out one by one.
  }
  let done = 0;
  for (const work of works) {
    try {
      if ((await ctx.runMutation(internal.cancelMany.each, { ids: [work._id] })) === 0) return done;
    } catch (error) {
      await leaveUncanceled(ctx, work, error);
    }
    done += 1;
  }
  return done;
}

/** Cancels works in a nested transaction: if one of them cannot be canceled, none is. @returns how many it came to. */
export const each = internalMutation({
  args: { ids: v.array(v.id("works")) },
  returns: v.number(),
  handler: async (ctx, { ids }): Promise<number> => {
    let done = 0;
    let ended = 0;
    for (const id of ids) {
      if (!(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) break;
      const work = await ctx.db.get("works", id);
      if (work !== null && (await cancelWork(ctx, work))) ended += 1;
      done += 1;
    }
    await countWithoutSlot(ctx, "canceled", ended);
    return done;
  },
});

/** Takes a work that cannot be canceled from where it would start, and sets it aside. One that has a slot goes on, and is not tried again. */
async function leaveUncanceled(
  ctx: MutationCtx,
  { _id, due }: Doc<"works">,
  error: unknown,
): Promise<void> {
  if (due?.job !== undefined) await cancelPending(ctx, due.job);
  const wasWaiting = await leaveLineCanceled(ctx, _id);
  if (wasWaiting || due !== undefined) {
    await ctx.db.patch("works", _id, { due: undefined });
    await setAside(ctx, _id, `It could not be canceled: ${messageOf(error)}`);
  } else if (!(await isSetAside(ctx, _id))) {
    await ctx.db.patch("works", _id, { canceled: true });
  }
}
