import { cancelPending } from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { StepError } from "../../definition/step-error.js";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import { callOff, goOn, goOnWith } from "../core/continuations.js";
import { isCanceledLater } from "../core/runs.js";
import { childrenIn, nameOf } from "../core/steps.js";
import { wake } from "../engine/entry.js";
import { continuationArgs } from "../validators.js";
import { dropPages } from "./childPages.js";

/** Fails a parent of whose children more have ended badly than it lets pass, for the first of them. @returns whether it did. */
export async function failIfTooManyBad(ctx: MutationCtx, parent: Doc<"steps">): Promise<boolean> {
  for (const state of ["failed", "canceled", "timedOut"] as const) {
    const bad = await childrenIn(ctx, parent._id, state).first();
    if (bad === null) continue;
    if (!(await areTooManyBad(ctx, parent))) return false;
    await failParent(ctx, parent, bad);
    return true;
  }
  return false;
}

/** The first bad end decides: the error does not change when others end. */
export async function failParent(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  child: Doc<"runs">,
): Promise<void> {
  const run = await ctx.db.get("runs", parent.run);
  if (run === null) throw new Error(`The run of the parent "${parent._id}" is gone`);
  const key = child.childKey ?? String(child.index);
  const which = parent.single === true ? "The child" : `Child ${key}`;
  // What of the child could not be undone is listed once, by the run at the top.
  const { compensationErrors, ...cause }: StepError = child.error ?? {
    message: `The child was ${child.state}`,
    kind: "canceled",
    workflow: child.workflow,
    node: "",
    attempt: 1,
  };
  const error: StepError = {
    message: `${which} of "${nameOf(parent)}" (${child.workflow}) failed: ${cause.message}`,
    kind: "childFailed",
    workflow: run.workflow,
    node: parent.stage,
    attempt: 1,
    ...(parent.single === true ? {} : { key }),
    cause: withCauses(cause, MAX_CAUSES),
    ...(compensationErrors === undefined ? {} : { compensationErrors }),
  };
  await failWith(ctx, parent, error);
}

/** Fails a parent: its run is told so, and its other children are canceled. */
export async function failWith(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  error: StepError,
): Promise<void> {
  if (parent.job !== undefined) await cancelPending(ctx, parent.job);
  if (parent.inserting === true) await dropPages(ctx, parent._id);
  await endCounting(ctx, parent);
  const fields = { joined: true, inserting: undefined };
  await wake(ctx, parent, { event: { kind: "failed", error } }, fields);
  if (isCanceledLater(parent))
    await goOn(ctx, internal.features.ending.cancelMoreChildren, parent._id);
  else await ctx.runMutation(internal.features.ending.cancelFewChildren, { parent: parent._id });
}

/** How many causes stand inside each other: a document may be nested 16 deep, and the innermost has data. */
const MAX_CAUSES = 6;

/** The error with its causes; of a longer chain the innermost stands in the place of those between. */
function withCauses(error: StepError, most: number): StepError {
  if (error.cause === undefined) return error;
  if (most > 1) return { ...error, cause: withCauses(error.cause, most - 1) };
  let innermost = error.cause;
  while (innermost.cause !== undefined) innermost = innermost.cause;
  return innermost;
}

/*
 * How many children of a parent have ended badly. Only bad ends pay for being counted: one inserts a row of its own, and a recount, a second
 * later and in a transaction of its own, makes one number of the rows, its sum. No bad end writes what another one writes, but that the first
 * of a burst has the recount scheduled; and no row is read again after it was added to the sum.
 *
 * None is missed: a bad end leaves itself to a recount only where it has read, in its own transaction, that one is still to come. Where
 * the sum leaves room for few more, a bad end counts the rows itself, so that a small limit holds at once, and so does a large one that is
 * reached slowly.
 */

/**
 * Where a parent lets pass no more than so many beside the sum, each bad end counts. Those that end together fight over that, and a
 * completion is repeated four times only: so it is few, for when one more has ended the parent has failed, and there is nothing to count.
 */
const COUNTED_AT_ONCE = 2;

/** How long after a bad end the recount comes, in ms: a burst has one, and it conflicts with few of those who read that it is to come. */
const RECOUNT_AFTER_MS = 1_000;

/** How many rows a recount adds to the sum at most; the rest in another transaction. One that finds so many reads nothing that is being added. */
const ROWS_AT_ONCE = 100;

type Parent = Pick<Doc<"steps">, "_id" | "tolerate" | "total">;

/** How many bad ends a parent lets pass. */
function limitOf({ tolerate = { failures: 0 }, total = 0 }: Parent): number {
  if (tolerate === "all") return Infinity;
  const { failures, percentage = 0 } = tolerate as { failures?: number; percentage?: number };
  // A share such as 18.4 % of 375 comes out as a little less than the whole number that it is.
  return Math.floor(failures ?? ((total * percentage) / 100) * (1 + 4 * Number.EPSILON));
}

/** Whether it depends on their number if bad ends are let pass: neither none is, nor are all. */
function isCounted(parent: Parent): boolean {
  const limit = limitOf(parent);
  return limit > 0 && limit < (parent.total ?? 0);
}

/**
 * To be told of each bad end of a child, while its parent waits.
 * @returns whether the parent lets it pass. Where it does, a recount may still find that there were too many.
 */
export async function letsPass(ctx: MutationCtx, parent: Parent): Promise<boolean> {
  if (!isCounted(parent)) return limitOf(parent) > 0;
  await ctx.db.insert("badEnds", { parent: parent._id });
  const sum = await sumOf(ctx, parent._id);
  if (limitOf(parent) - (sum?.count ?? 0) <= COUNTED_AT_ONCE)
    return !(await areTooManyBad(ctx, parent));
  if (sum?.recount === undefined) await recountLater(ctx, parent._id, sum);
  return true;
}

/** Counts children that were inserted as failed; their parent is looked at when the page of them is. */
export async function noteRefused(
  ctx: MutationCtx,
  parent: Parent,
  refused: number,
): Promise<void> {
  if (refused === 0 || !isCounted(parent)) return;
  const sum = await sumOf(ctx, parent._id);
  if (sum === null) await ctx.db.insert("badEnds", { parent: parent._id, count: refused });
  else await ctx.db.patch("badEnds", sum._id, { count: (sum.count ?? 0) + refused });
}

/** Whether a parent does not let pass what has ended badly until now, which is one child at least. Exact. */
export async function areTooManyBad(ctx: QueryCtx, parent: Parent): Promise<boolean> {
  const limit = limitOf(parent);
  if (!isCounted(parent)) return limit === 0;
  const { count = 0 } = (await sumOf(ctx, parent._id)) ?? {};
  const rest = limit - count;
  return rest < 0 || (await rowsOf(ctx, parent._id, rest + 1)).length > rest;
}

async function recountLater(
  ctx: MutationCtx,
  parent: Id<"steps">,
  sum: Doc<"badEnds"> | null,
): Promise<void> {
  const recount = await goOn(ctx, internal.features.failing.recount, parent, RECOUNT_AFTER_MS);
  if (sum === null) await ctx.db.insert("badEnds", { parent, count: 0, recount });
  else await ctx.db.patch("badEnds", sum._id, { recount });
}

/** Adds to the sum what has ended badly meanwhile, and fails the parent where that is too much. */
export const recount = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Id<"steps">>(ctx, continuation, async (parent) =>
      (await addUp(ctx, parent)) ? null : parent,
    ),
});

/** @returns whether nothing is left to add. */
async function addUp(ctx: MutationCtx, id: Id<"steps">): Promise<boolean> {
  const parent = await ctx.db.get("steps", id);
  const sum = await sumOf(ctx, id);
  if (parent === null || sum === null || parent.state !== "waiting" || parent.joined === true)
    return true;
  const { count: before = 0 } = sum;
  const limit = limitOf(parent);
  const most = Math.min(ROWS_AT_ONCE, limit + 1 - before);
  const rows = await rowsOf(ctx, id, most);
  for (const { _id } of rows) await ctx.db.delete("badEnds", _id);
  const count = before + rows.length;
  const isDone = count > limit || rows.length < most;
  await ctx.db.patch("badEnds", sum._id, { count, ...(isDone ? { recount: undefined } : {}) });
  if (count > limit) await failIfTooManyBad(ctx, parent);
  return isDone;
}

/** The parent waits for its children no more: no recount is to come. */
export async function endCounting(ctx: MutationCtx, parent: Parent): Promise<void> {
  if (!isCounted(parent)) return;
  const sum = await sumOf(ctx, parent._id);
  if (sum?.recount === undefined) return;
  await callOff(ctx, sum.recount);
  await ctx.db.patch("badEnds", sum._id, { recount: undefined });
}

async function sumOf(ctx: QueryCtx, parent: Id<"steps">): Promise<Doc<"badEnds"> | null> {
  return await ctx.db
    .query("badEnds")
    .withIndex("by_parent", (q) => q.eq("parent", parent).gt("count", undefined))
    .unique();
}

/** Bad ends that are not in the sum yet, the oldest first. */
async function rowsOf(ctx: QueryCtx, parent: Id<"steps">, most: number): Promise<Doc<"badEnds">[]> {
  return await ctx.db
    .query("badEnds")
    .withIndex("by_parent", (q) => q.eq("parent", parent).eq("count", undefined))
    .take(most);
}
