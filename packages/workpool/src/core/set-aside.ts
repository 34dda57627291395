import type { Doc, HostCtx, HostQueryCtx } from "./context.js";
import { messageOf } from "./result.js";

/** Keeps a work that cannot be processed, with the error, for an operator. The others go on. */
export async function setAside(ctx: HostCtx, work: string, error: unknown): Promise<void> {
  const message = messageOf(error);
  console.error(`The pool has set the work "${work}" aside: ${message}`);
  await ctx.db.insert("setAside", { work, error: message, at: Date.now() });
}

/** Makes a work that was set aside an ordinary one again. @returns whether it was set aside. */
export async function takeBack(ctx: HostCtx, work: string): Promise<boolean> {
  const row = await setAsideRow(ctx, work);
  if (row !== null) await ctx.db.delete("setAside", row._id);
  return row !== null;
}

/** Says whether the work was set aside. */
export async function isSetAside(ctx: HostQueryCtx, work: string): Promise<boolean> {
  return (await setAsideRow(ctx, work)) !== null;
}

async function setAsideRow(ctx: HostQueryCtx, work: string): Promise<Doc<"setAside"> | null> {
  return await ctx.db
    .query("setAside")
    .withIndex("by_work", (q) => q.eq("work", work))
    .first();
}
