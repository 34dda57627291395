import { cancelContinuation, cancelPending, PAGE } from "@stepwise/workpool/core";
import type { StepError } from "../../definition/context.js";
import { internal } from "../_generated/api.js";
import { continuation, continueLater } from "../core/continuations.js";
import type { Doc, MutationCtx, QueryCtx, Run, Step, StepId } from "../core/documents.js";
import { errorOf, runOf, workflowOf } from "../core/runs.js";
import { childrenIn, hasManyChildren, isWaitingForChildren, keyShown } from "../core/childRuns.js";
import { nameOf } from "../core/steps.js";
import { scheduleEntry } from "../engine/entry.js";
import { dropPages } from "./childPages.js";

/** Fails a parent if too many of its children have failed. @returns whether it did. */
export async function failIfTooMany(ctx: MutationCtx, parent: Step): Promise<boolean> {
  for (const state of ["failed", "canceled", "timedOut"] as const) {
    const bad = await childrenIn(ctx, parent._id, state).first();
    if (bad === null) continue;
    if (!(await hasTooManyFailed(ctx, parent))) return false;
    await failParent(ctx, parent, bad);
    return true;
  }
  return false;
}

export async function failParent(ctx: MutationCtx, parent: Step, child: Run) {
  const run = await runOf(ctx, parent);
  const key = child.childKey ?? String(child.index);
  const which = parent.single === true ? "The child" : `Child ${keyShown(child) ?? key}`;
  // Errors of compensations are listed once, by the run at the top.
  const { compensationErrors, ...cause }: StepError =
    child.error ?? errorOf(child, "canceled", `The child was ${child.state}`);
  const message = `${which} of "${nameOf(parent)}" (${workflowOf(child)}) failed: ${cause.message}`;
  const error: StepError = {
    ...errorOf(run, "childFailed", message, parent.stage),
    key: parent.single === true ? undefined : key,
    cause: withCauses(cause),
    compensationErrors,
  };
  await failWith(ctx, parent, error);
}

export async function failWith(ctx: MutationCtx, parent: Step, error: StepError) {
  if (parent.job !== undefined) await cancelPending(ctx, parent.job);
  if (parent.inserting === true) await dropPages(ctx, parent._id);
  await endRecount(ctx, parent);
  const fields = { settled: true, inserting: undefined };
  await scheduleEntry(ctx, parent, { event: { kind: "failed", error } }, fields);
  if (hasManyChildren(parent))
    await continueLater(ctx, internal.features.ending.cancelMoreChildren, parent._id);
  else await ctx.runMutation(internal.features.ending.cancelFewChildren, { parent: parent._id });
}

/** A document may be nested 16 deep, and the innermost error has data. */
const MAX_CAUSES = 6;

/** The error with its causes; of a longer chain the first ones and the innermost. */
export function withCauses({ causes, ...of }: StepError, most = MAX_CAUSES): StepError {
  // They stand two levels deeper, one for the record of them.
  const each = Object.entries(causes ?? {}).map(([key, one]) => [key, withCauses(one, most - 2)]);
  const error = causes && most > 2 ? { ...of, causes: Object.fromEntries(each) } : of;
  if (error.cause === undefined) return error;
  if (most > 1) return { ...error, cause: withCauses(error.cause, most - 1) };
  let innermost = error.cause;
  while (innermost.cause !== undefined) innermost = innermost.cause;
  return innermost;
}

/* Each failed child inserts a row, and a recount sums them up: no two write one document. */

/** Near the limit each child reads the rows. These conflict, and retries are limited. */
const READ_AT_ONCE = 2;
/** How long after a failed child the recount comes, in ms. */
const RECOUNT_AFTER_MS = 1_000;

type Parent = Pick<Step, "_id" | "tolerate" | "total">;

function limitOf({ tolerate = { failures: 0 }, total = 0 }: Parent): number {
  if (tolerate === "all") return Infinity;
  const { failures, percentage = 0 } = tolerate as { failures?: number; percentage?: number };
  // A share such as 18.4 % of 375 comes out as a little less than the whole number that it is.
  return Math.floor(failures ?? ((total * percentage) / 100) * (1 + 4 * Number.EPSILON));
}

function hasLimit(parent: Parent): boolean {
  const limit = limitOf(parent);
  return limit > 0 && limit < (parent.total ?? 0);
}

/** Records a failed child. @returns whether it is tolerated; a recount may still find too many. */
export async function isTolerated(ctx: MutationCtx, parent: Parent): Promise<boolean> {
  if (!hasLimit(parent)) return limitOf(parent) > 0;
  await ctx.db.insert("failedChildren", { parent: parent._id });
  const sum = await sumOf(ctx, parent._id);
  if (limitOf(parent) - (sum?.count ?? 0) <= READ_AT_ONCE)
    return !(await hasTooManyFailed(ctx, parent));
  if (sum?.recount !== undefined) return true;
  const { recount: fn } = internal.features.failing;
  const recount = await continueLater(ctx, fn, parent._id, RECOUNT_AFTER_MS);
  if (sum === null)
    await ctx.db.insert("failedChildren", { parent: parent._id, count: 0, recount });
  else await ctx.db.patch("failedChildren", sum._id, { recount });
  return true;
}

export async function addRefused(ctx: MutationCtx, parent: Parent, refused: number): Promise<void> {
  if (refused === 0 || !hasLimit(parent)) return;
  const sum = await sumOf(ctx, parent._id);
  if (sum === null) await ctx.db.insert("failedChildren", { parent: parent._id, count: refused });
  else await ctx.db.patch("failedChildren", sum._id, { count: (sum.count ?? 0) + refused });
}

/** Says whether more children have failed than a parent tolerates, if one has. Exact. */
async function hasTooManyFailed(ctx: QueryCtx, parent: Parent): Promise<boolean> {
  const limit = limitOf(parent);
  if (!hasLimit(parent)) return limit === 0;
  const { count = 0 } = (await sumOf(ctx, parent._id)) ?? {};
  const rest = limit - count;
  return rest < 0 || (await rowsOf(ctx, parent._id, rest + 1)).length > rest;
}

export const recount = continuation<StepId>(async (ctx, id) => {
  const parent = await ctx.db.get("steps", id);
  const sum = await sumOf(ctx, id);
  if (sum === null || !isWaitingForChildren(parent)) return null;
  const { count: before = 0 } = sum;
  const limit = limitOf(parent);
  const most = Math.min(PAGE, limit + 1 - before);
  const rows = await rowsOf(ctx, id, most);
  for (const { _id } of rows) await ctx.db.delete("failedChildren", _id);
  const count = before + rows.length;
  const isDone = count > limit || rows.length < most;
  await ctx.db.patch("failedChildren", sum._id, isDone ? { count, recount: undefined } : { count });
  if (count > limit) await failIfTooMany(ctx, parent);
  return isDone ? null : id;
});

export async function endRecount(ctx: MutationCtx, parent: Parent): Promise<void> {
  if (!hasLimit(parent)) return;
  const sum = await sumOf(ctx, parent._id);
  if (sum?.recount === undefined) return;
  await cancelContinuation(ctx, sum.recount);
  await ctx.db.patch("failedChildren", sum._id, { recount: undefined });
}

async function sumOf(ctx: QueryCtx, parent: StepId): Promise<Doc<"failedChildren"> | null> {
  return await ctx.db
    .query("failedChildren")
    .withIndex("by_parent", (q) => q.eq("parent", parent).gt("count", undefined))
    .unique();
}

async function rowsOf(ctx: QueryCtx, parent: StepId, most: number) {
  return await ctx.db
    .query("failedChildren")
    .withIndex("by_parent", (q) => q.eq("parent", parent).eq("count", undefined))
    .take(most);
}
