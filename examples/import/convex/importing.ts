import { v, type Infer } from "convex/values";
import type { MutationCtx } from "./_generated/server";
import type { CustomerRecord } from "./services";

/** The report of an import. */
export const vReport = v.object({
  imported: v.number(),
  failed: v.number(),
  /** Why records failed. Only the first ones are listed. */
  problems: v.array(v.string()),
});

/** How many problems a report lists at most. */
export const MAX_PROBLEMS = 20;

export const nothingYet: Infer<typeof vReport> = { imported: 0, failed: 0, problems: [] };

/** Adds a customer, or updates the one with the same id. */
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
