import { child, defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { emptyBatch, takeIn, withCustomer } from "./importing";
import { fetchCustomers, isDeliverable } from "./services";

/** One customer of another system: whether it can be taken. */
export const checkCustomer = defineWorkflow({
  input: v.object({ id: v.string(), name: v.string(), email: v.string() }),
}).step("checked", {
  action: async (_ctx, { input }) => {
    if (!(await isDeliverable(input.email))) throw new Error(`No mail arrives at ${input.email}`);
    return input;
  },
  retry: { maxAttempts: 2, initialBackoffMs: 500, base: 2 },
  timeout: "20s",
});

/**
 * All customers of another system, page by page: those of a page are checked side by side. What is wrong with one stops none of the others;
 * but where half of a page is wrong, so is the source.
 */
export const importCustomers = defineWorkflow({
  input: v.object({ importId: v.id("imports"), source: v.string() }),
})
  .loop("pages", {
    state: v.object({ cursor: v.union(v.string(), v.null()) }),
    initial: () => ({ cursor: null }),
    body: (b) =>
      b
        .step("page", {
          action: async (_ctx, { input, loop }) =>
            await fetchCustomers(input.source, loop.state.cursor),
          retry: true,
          timeout: "1m",
        })
        .parent("customers", {
          children: ({ page }) => page.records.map((record) => child(checkCustomer, record)),
          concurrency: 25,
          tolerate: { percentage: 50 },
          reduce: { initial: emptyBatch, step: (batch, customer) => withCustomer(batch, customer) },
        })
        .step("taken", {
          mutation: async (ctx, { input, page, customers }) => {
            await takeIn(ctx, input.importId, customers.children);
            return { cursor: page.next };
          },
        }),
    until: ({ loop }) => loop.state.cursor === null,
    maxIterations: 1_000,
  })
  .finalize({
    mutation: async (ctx, { input }) => {
      await ctx.db.patch("imports", input.importId, { isDone: true });
      return (await ctx.db.get("imports", input.importId))?.report;
    },
  });
