import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";

/** How many runs one transaction removes on its way. */
const PAGE = 100;

/**
 * Removes the children of a parent whose record is to be forgotten, with what is under them.
 * @returns false where they can be undone, or are too many for one go: then they stay.
 */
export async function removeChildren(ctx: MutationCtx, parent: Id<"steps">): Promise<boolean> {
  const undo = await ctx.db
    .query("undos")
    .withIndex("by_step", (q) => q.eq("step", parent))
    .first();
  if (undo !== null) return false;
  const children = await ctx.db
    .query("runs")
    .withIndex("by_parent", (q) => q.eq("parentStep", parent))
    .take(PAGE + 1);
  if (children.length > PAGE || children.some(({ endedAt }) => endedAt === undefined)) return false;
  for (const child of children) await removeRun(ctx, child);
  return true;
}

async function removeRun(ctx: MutationCtx, run: Doc<"runs">): Promise<void> {
  const steps = ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", run._id));
  for await (const step of steps) {
    if (step.kind === "children") await removeChildren(ctx, step._id);
    await ctx.db.delete("steps", step._id);
  }
  await ctx.db.delete("runs", run._id);
}
