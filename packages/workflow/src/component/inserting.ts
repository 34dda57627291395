import { keepLooking } from "@stepwise/workpool/core";
import type { WithoutSystemFields } from "convex/server";
import { getConvexSize, v, type Value } from "convex/values";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { goOn, goOnWith } from "./continuations.js";
import { deleteInPage } from "./page.js";
import { pool } from "./line.js";
import { noteRefused } from "./tolerance.js";
import type { Beginning, NewChild, Stage } from "./validators.js";
import { continuationArgs } from "./validators.js";

/**
 * Inserts a page of children; one whose input was refused has failed already.
 * @param runningBelow those before this place are inserted as running: the caller has them begin in the same transaction. @returns these.
 */
export async function insertPage(
  ctx: MutationCtx,
  id: Id<"steps">,
  page: { from: number; begins: readonly Beginning[]; children: readonly NewChild[] },
  runningBelow = 0,
): Promise<{ run: Id<"runs">; first: Stage }[]> {
  const running: { run: Id<"runs">; first: Stage }[] = [];
  const parent = await ctx.db.get("steps", id);
  const above = parent === null ? null : await ctx.db.get("runs", parent.run);
  if (parent === null || above === null || parent.joined === true) return running;
  const now = Date.now();
  for (const [offset, { begin, key, input, error }] of page.children.entries()) {
    const beginning = page.begins[begin];
    if (beginning === undefined) throw new Error(`A child of "${parent.stage}" has no workflow`);
    const { workflow, plan, resume, first, timeoutMs } = beginning;
    const index = page.from + offset;
    const state = error !== undefined ? "failed" : index < runningBelow ? "running" : "pending";
    const child = {
      workflow,
      ...(plan === undefined ? {} : { plan }),
      resume,
      state,
      parentRun: above._id,
      parentStep: id,
      index,
      ...(key === undefined ? {} : { childKey: key }),
      root: above.root ?? above._id,
      startedAt: now,
      ...(state === "pending" ? { first } : {}),
      ...(error === undefined ? {} : { error, endedAt: now }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    } as const;
    const run = await insertRun(ctx, child, input);
    if (state === "running") running.push({ run, first });
  }
  const refused = page.children.filter(({ error }) => error !== undefined);
  await noteRefused(ctx, parent, refused.length);
  return running;
}

/** A larger input has a record of its own: runs are read by the hundred where they are counted or listed. */
const MAX_INPUT_IN_RUN_BYTES = 1024;

/** Inserts a run, and its input. */
export async function insertRun(
  ctx: MutationCtx,
  fields: WithoutSystemFields<Doc<"runs">>,
  input: unknown,
): Promise<Id<"runs">> {
  const isSmall = getConvexSize(input as Value) <= MAX_INPUT_IN_RUN_BYTES;
  const run = await ctx.db.insert("runs", isSmall ? { ...fields, input } : fields);
  if (isSmall) return run;
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
  return run;
}

/** What a child writes beside its input: its run, with the entries of its indexes. */
const BYTES_BESIDE_INPUT = 2 * 1024;
/** A deployment refuses mutations that begin within a second in which so much was written; half of it is left to others. */
const BYTES_PER_SECOND = { s16: 4 << 20, others: 8 << 20 };

/** What is written as these children are inserted. */
export function bytesOf(pages: readonly (readonly NewChild[])[]): number {
  const children = pages.flat();
  return getConvexSize(children as Value) + children.length * BYTES_BESIDE_INPUT;
}

/**
 * The next page is inserted in a transaction of its own.
 * @param bytes how much this one has written: it comes when the deployment has had time for twice as much.
 */
export async function insertLater(ctx: MutationCtx, step: Id<"steps">, bytes = 0): Promise<void> {
  const { class: name } = await ctx.meta.getDeploymentMetadata();
  const perSecond = name === "s16" ? BYTES_PER_SECOND.s16 : BYTES_PER_SECOND.others;
  const afterMs = Math.ceil((2_000 * bytes) / perSecond);
  const job = await ctx.scheduler.runAfter(afterMs, internal.children.insertNext, { step });
  await ctx.db.patch("steps", step, { job, wakeAt: Date.now() + afterMs });
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
