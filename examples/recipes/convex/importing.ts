import type { Settled } from "@stepwise/workflow";
import type { Infer } from "convex/values";
import type { Id } from "./_generated/dataModel";
import type { MutationCtx } from "./_generated/server";
import type { vReport } from "./schema";
import type { CustomerRecord } from "./services";

type Report = Infer<typeof vReport>;

/** Customers that can be taken in, and what was wrong with the others. */
export interface Batch {
  good: CustomerRecord[];
  problems: string[];
}

/** Of an import, so many problems are kept: enough to see what is wrong. */
const MAX_PROBLEMS = 20;

export const emptyReport: Report = { imported: 0, failed: 0, problems: [] };

export const emptyBatch: Batch = { good: [], problems: [] };

/** A batch with one more customer, or one more problem. */
export function withCustomer({ good, problems }: Batch, customer: Settled<CustomerRecord>): Batch {
  return customer.ok
    ? { good: [...good, customer.output], problems }
    : { good, problems: [...problems, customer.error.message] };
}

/** Writes a batch of customers, over what is known of them, and what became of it into the import's report. */
export async function takeIn(
  ctx: MutationCtx,
  importId: Id<"imports">,
  { good, problems }: Batch,
): Promise<void> {
  for (const customer of good) await save(ctx, customer);
  const report = (await ctx.db.get("imports", importId))?.report ?? emptyReport;
  await ctx.db.patch("imports", importId, {
    report: {
      imported: report.imported + good.length,
      failed: report.failed + problems.length,
      problems: [...report.problems, ...problems].slice(0, MAX_PROBLEMS),
    },
  });
}

async function save(
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
