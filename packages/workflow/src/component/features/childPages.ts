import { keepLooking } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "../_generated/server.js";
import { deleteInPage, goOn, goOnWith } from "../core/continuations.js";
import { pool } from "../core/pool.js";
import { continuationArgs } from "../validators.js";

/** A deployment refuses mutations that begin within a second in which so much was written; half of it is left to others. */
const BYTES_PER_SECOND = { s16: 4 << 20, others: 8 << 20 };

/**
 * The next page is inserted in a transaction of its own.
 * @param bytes how much this one has written: it comes when the deployment has had time for twice as much.
 * @param putOffMs how much later than that it comes.
 */
export async function insertLater(
  ctx: MutationCtx,
  step: Id<"steps">,
  bytes = 0,
  putOffMs = 0,
): Promise<void> {
  const { class: name } = await ctx.meta.getDeploymentMetadata();
  const perSecond = name === "s16" ? BYTES_PER_SECOND.s16 : BYTES_PER_SECOND.others;
  const afterMs = putOffMs + Math.ceil((2_000 * bytes) / perSecond);
  const job = await ctx.scheduler.runAfter(afterMs, internal.features.children.insertNext, {
    step,
  });
  await ctx.db.patch("steps", step, { job, wakeAt: Date.now() + afterMs });
  await keepLooking(ctx, pool);
}

/** Deletes what is still to be inserted: as much as fits into this transaction, the rest in others. */
export async function dropPages(ctx: MutationCtx, step: Id<"steps">): Promise<void> {
  if (!(await dropSomePages(ctx, step)))
    await goOn(ctx, internal.features.childPages.dropMorePages, step);
}

/** @returns whether all are deleted. */
async function dropSomePages(ctx: MutationCtx, step: Id<"steps">): Promise<boolean> {
  const pages = ctx.db.query("childPages").withIndex("by_step", (q) => q.eq("step", step));
  return await deleteInPage(ctx, "childPages", pages);
}

/** The next page of {@link dropPages}. */
export const dropMorePages = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Id<"steps">>(ctx, continuation, async (step) =>
      (await dropSomePages(ctx, step)) ? null : step,
    ),
});
