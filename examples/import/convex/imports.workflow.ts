import { child, defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { MAX_PROBLEMS, nothingYet, save, vReport } from "./importing";
import { fetchCustomers, isDeliverable } from "./services";

/** Imports one customer, if mail to the address arrives. */
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
  .step("saved", { mutation: async (ctx, { input }) => await save(ctx, input) });

/**
 * Imports all customers of another system, page by page, 25 at a time. A bad record fails alone. If
 * more than half of a page is bad, the import fails. The output is a report.
 */
export const importCustomers = defineWorkflow({ input: v.object({ source: v.string() }) })
  .loop("pages", {
    state: v.object({ cursor: v.union(v.string(), v.null()), report: vReport }),
    initial: () => ({ cursor: null, report: nothingYet }),
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
          reduce: {
            initial: nothingYet,
            step: ({ imported, failed, problems }, customer) =>
              customer.ok
                ? { imported: imported + 1, failed, problems }
                : { imported, failed: failed + 1, problems: [...problems, customer.error.message] },
          },
        })
        .step("sum", {
          query: async (_ctx, { loop, page, customers }) => {
            const [before, now] = [loop.state.report, customers.children];
            return {
              cursor: page.next,
              report: {
                imported: before.imported + now.imported,
                failed: before.failed + now.failed,
                problems: [...before.problems, ...now.problems].slice(0, MAX_PROBLEMS),
              },
            };
          },
        }),
    until: ({ loop }) => loop.state.cursor === null,
    maxIterations: 1_000,
  })
  .finalize({ query: async (_ctx, { pages }) => pages.report });
