import { keepLooking } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import type { Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { goOn, goOnWith } from "./continuations.js";
import { deleteInPage } from "./page.js";
import { pool } from "./line.js";
import { noteRefused } from "./tolerance.js";
import type { Beginning, NewChild } from "./validators.js";
import { continuationArgs } from "./validators.js";

/** Inserts a page of children; one whose input was refused has failed already. */
export async function insertPage(
  ctx: MutationCtx,
  id: Id<"steps">,
  page: { from: number; begins: readonly Beginning[]; children: readonly NewChild[] },
): Promise<void> {
  const parent = await ctx.db.get("steps", id);
  const above = parent === null ? null : await ctx.db.get("runs", parent.run);
  if (parent === null || above === null || parent.joined === true) return;
  const now = Date.now();
  for (const [offset, { begin, key, input, error }] of page.children.entries()) {
    const beginning = page.begins[begin];
    if (beginning === undefined) throw new Error(`A child of "${parent.stage}" has no workflow`);
    const { workflow, plan, resume, first, timeoutMs } = beginning;
    const child = await ctx.db.insert("runs", {
      workflow,
      ...(plan === undefined ? {} : { plan }),
      resume,
      state: error === undefined ? "pending" : "failed",
      parentRun: above._id,
      parentStep: id,
      index: page.from + offset,
      ...(key === undefined ? {} : { childKey: key }),
      root: above.root ?? above._id,
      startedAt: now,
      ...(error === undefined ? { first } : { error, endedAt: now }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    await insertInput(ctx, child, input);
  }
  const refused = page.children.filter(({ error }) => error !== undefined);
  await noteRefused(ctx, parent, refused.length);
}

/** The record of a run's input. */
export async function insertInput(
  ctx: MutationCtx,
  run: Id<"runs">,
  input: unknown,
): Promise<void> {
  const now = Date.now();
  await ctx.db.insert("steps", {
    run,
    createdAt: now,
    stage: "input",
    kind: "input",
    state: "completed",
    attempt: 1,
    startedAt: now,
    endedAt: now,
    output: input,
    kept: true,
  });
}

/** The next page is inserted in a transaction of its own. */
export async function insertLater(ctx: MutationCtx, step: Id<"steps">): Promise<void> {
  const job = await ctx.scheduler.runAfter(0, internal.children.insertNext, { step });
  await ctx.db.patch("steps", step, { job, wakeAt: Date.now() });
  await keepLooking(ctx, pool);
}

/** Deletes what is still to be inserted: as much as fits into this transaction, the rest in others. */
export async function dropPages(ctx: MutationCtx, step: Id<"steps">): Promise<void> {
  if (!(await dropSomePages(ctx, step))) await goOn(ctx, internal.inserting.dropMorePages, step);
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
