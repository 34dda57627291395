import { child, defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { emptyReport, mergeReports, withRecord } from "./importReport";
import { vReport } from "./schema";
import { fetchCustomers, isDeliverable } from "./services";

/** One customer of another system: checked, then written. */
export const importCustomer = defineWorkflow({
  input: v.object({ id: v.string(), name: v.string(), email: v.string() }),
})
  .step("checked", {
    action: async (_ctx, { input }) => {
      if (!(await isDeliverable(input.email))) throw new Error(`No mail arrives at ${input.email}`);
    },
    retry: { maxAttempts: 2, initialBackoffMs: 500, base: 2 },
    timeout: "20s",
  })
  .step("saved", { mutation: internal.customers.save, args: ({ input }) => input });

/**
 * All customers of another system, page by page: those of a page side by side. What is wrong with one stops none of the others; but where half
 * of a page is wrong, so is the source.
 */
export const importCustomers = defineWorkflow({
  input: v.object({ importId: v.id("imports"), source: v.string() }),
})
  .loop("pages", {
    state: v.object({ cursor: v.union(v.string(), v.null()), report: vReport }),
    initial: () => ({ cursor: null, report: emptyReport }),
    body: (b) =>
      b
        .step("page", {
          action: async (_ctx, { input, loop }) =>
            await fetchCustomers(input.source, loop.state.cursor),
          retry: true,
          timeout: "1m",
        })
        .parent("customers", {
          children: ({ page }) => page.records.map((record) => child(importCustomer, record)),
          concurrency: 25,
          tolerate: { percentage: 50 },
          reduce: { initial: emptyReport, step: withRecord },
        })
        .step("progress", {
          mutation: async (ctx, { input, loop, page, customers }) => {
            const report = mergeReports(loop.state.report, customers.children);
            await ctx.db.patch("imports", input.importId, { report });
            return { cursor: page.next, report };
          },
        }),
    until: ({ loop }) => loop.state.cursor === null,
    maxIterations: 1_000,
  })
  .finalize({
    mutation: async (ctx, { input, pages }) => {
      await ctx.db.patch("imports", input.importId, { isDone: true });
      return pages.report;
    },
  });
