import { v, type Infer } from "convex/values";
import type { MutationCtx } from "./_generated/server";
import type { CustomerRecord } from "./services";

/** What became of an import. */
export const vReport = v.object({
  imported: v.number(),
  failed: v.number(),
  /** What was wrong with the first of those that failed. */
  problems: v.array(v.string()),
});

/** Of an import, so many problems are kept: enough to see what is wrong. */
export const MAX_PROBLEMS = 20;

export const nothingYet: Infer<typeof vReport> = { imported: 0, failed: 0, problems: [] };

/** Writes a customer, over what is known of it. */
export async function save(
  ctx: MutationCtx,
  { id: externalId, name, email }: CustomerRecord,
): Promise<void> {
  const known = await ctx.db
    .query("customers")
    .withIndex("by_externalId", (q) => q.eq("externalId", externalId))
    .unique();
  if (known === null) await ctx.db.insert("customers", { externalId, name, email });
  else await ctx.db.patch("customers", known._id, { name, email });
}
