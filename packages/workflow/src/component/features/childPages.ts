import { keepSweeping } from "@stepwise/workpool/core";
import { internal } from "../_generated/api.js";
import { continueLater, deleteInPage, untilDone } from "../core/continuations.js";
import type { MutationCtx, StepId } from "../core/documents.js";
import { pool } from "../core/poolHost.js";

/** A deployment refuses to write more within a second; half of it is for others. */
const BYTES_PER_SECOND = { s16: 4 << 20, others: 8 << 20 };

/** Inserts the next page later. @param bytes written here: the wait allows for twice as much. */
export async function insertLater(ctx: MutationCtx, step: StepId, bytes = 0, putOffMs = 0) {
  const { class: name } = await ctx.meta.getDeploymentMetadata();
  const perSecond = name === "s16" ? BYTES_PER_SECOND.s16 : BYTES_PER_SECOND.others;
  const afterMs = putOffMs + Math.ceil((2_000 * bytes) / perSecond);
  const { insertNext } = internal.features.children;
  const job = await ctx.scheduler.runAfter(afterMs, insertNext, { step });
  await ctx.db.patch("steps", step, { job, entersAt: Date.now() + afterMs });
  await keepSweeping(ctx, pool);
}

export async function dropPages(ctx: MutationCtx, step: StepId): Promise<void> {
  if (!(await dropSomePages(ctx, step)))
    await continueLater(ctx, internal.features.childPages.dropMorePages, step);
}

async function dropSomePages(ctx: MutationCtx, step: StepId): Promise<boolean> {
  const pages = ctx.db.query("childPages").withIndex("by_step", (q) => q.eq("step", step));
  return await deleteInPage(ctx, "childPages", pages);
}

export const dropMorePages = untilDone(dropSomePages);
