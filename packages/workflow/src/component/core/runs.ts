import { v, type Infer } from "convex/values";
import type { Doc, Id } from "../_generated/dataModel.js";
import type { QueryCtx } from "../_generated/server.js";
import type { Token } from "../validators.js";

/** Which run: by its id, or by the key that it was started with. */
export const vRunOrKey = v.union(v.object({ runId: v.string() }), v.object({ key: v.string() }));

/** How others name a run. Keys are per workflow, so with a key the workflow is required. */
export const whichRun = { run: vRunOrKey, workflow: v.optional(v.string()) };

/** @returns null for an unknown run, and for one of another workflow. */
export async function findRun(
  ctx: QueryCtx,
  which: Infer<typeof vRunOrKey>,
  workflow: string | undefined,
): Promise<Doc<"runs"> | null> {
  if ("key" in which)
    return workflow === undefined ? null : await runWithKey(ctx, workflow, which.key);
  const run = await runWithId(ctx, which.runId);
  return workflow === undefined || run?.workflow === workflow ? run : null;
}

/** @returns null for an unknown run. */
export async function runWithId(ctx: QueryCtx, runId: string): Promise<Doc<"runs"> | null> {
  const id = ctx.db.normalizeId("runs", runId);
  return id === null ? null : await ctx.db.get("runs", id);
}

/**
 * The run that a key names: the one that has not ended, else the one that ended last. At most one run of a key has not ended:
 * `start` and `restart` see to it.
 */
export async function runWithKey(
  ctx: QueryCtx,
  workflow: string,
  key: string,
): Promise<Doc<"runs"> | null> {
  const current = await unendedWithKey(ctx, workflow, key);
  if (current !== null) return current;
  return await ctx.db
    .query("runs")
    .withIndex("by_key", (q) => q.eq("workflow", workflow).eq("startKey", key))
    .order("desc")
    .first();
}

/** The run of a key that has not ended. */
export async function unendedWithKey(
  ctx: QueryCtx,
  workflow: string,
  key: string,
): Promise<Doc<"runs"> | null> {
  return await ctx.db
    .query("runs")
    .withIndex("by_key", (q) =>
      q.eq("workflow", workflow).eq("startKey", key).eq("endedAt", undefined),
    )
    .first();
}

/** Whether a run of the top level has ended, and nothing under it is being undone any more. */
export async function hasEnded(ctx: QueryCtx, run: Doc<"runs">): Promise<boolean> {
  return run.endedAt !== undefined && !(await isUndoneBelow(ctx, run._id));
}

async function isUndoneBelow(ctx: QueryCtx, run: Id<"runs">): Promise<boolean> {
  const compensating = await ctx.db
    .query("runs")
    .withIndex("by_root_state", (q) => q.eq("root", run).eq("state", "compensating"))
    .first();
  return compensating !== null;
}

/** Up to so many children are canceled by the transaction that cancels their parent: they can hardly be in its way. */
const FEW = 10;

/** Whether a parent's children are canceled in transactions that follow. */
export function isCanceledLater({ total = 0 }: Pick<Doc<"steps">, "total">): boolean {
  return total > FEW;
}

/** Whether what it is of does not begin, though it was not canceled yet: its parent waits no more, and cancels its children in pages. */
export async function isCalledOff(ctx: QueryCtx, { childOf }: Token): Promise<boolean> {
  const id = childOf === undefined ? null : ctx.db.normalizeId("steps", childOf);
  if (id === null) return false;
  const parent = await ctx.db.get("steps", id);
  return parent?.state !== "waiting" || parent.joined === true;
}
