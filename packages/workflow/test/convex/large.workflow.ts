import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf } from "./parents.workflow";

/* Runs of a size that meets the platform's limits. */

export const quick = defineWorkflow({ input: z.object({ n: z.number() }) }).step("n", {
  query: (_ctx, { input }) => input.n,
});

export const tenThousand = defineWorkflow({
  input: z.object({ of: z.number(), concurrency: z.number() }),
}).parent("all", {
  children: ({ input }) => Array.from({ length: input.of }, (_, n) => child(leaf, { n })),
  concurrency: 200,
  finalize: {
    mutation: (_ctx, { children }) => ({
      count: children.length,
      inOrder: children.every((output, n) => output === n * 10),
    }),
  },
});

export const reduces = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("all", {
  children: ({ input }) => Array.from({ length: input.of }, (_, n) => child(quick, { n })),
  reduce: {
    initial: { sum: 0, last: -1 },
    step: ({ sum, last }, n) => ({ sum: sum + n, last: last === n - 1 ? n : NaN }),
  },
});

export const weighty = defineWorkflow({ input: z.object({ text: z.string() }) }).step("n", {
  mutation: internal.app.log,
  args: ({ input }) => ({ text: `weighty ${input.text.length}` }),
});

/** Too much for one transaction: its children come in pages, and begin one after the other. */
export const weightyInTurn = defineWorkflow({
  input: z.object({ of: z.number(), characters: z.number().optional() }),
}).parent("all", {
  children: ({ input }) => {
    const text = "x".repeat(input.characters ?? 800_000);
    return Array.from({ length: input.of }, () => child(weighty, { text }));
  },
  concurrency: 1,
  finalize: { query: (_ctx, { children }) => children.length },
});

export const longLoop = defineWorkflow({ input: z.object({ iterations: z.number() }) })
  .loop("count", {
    initial: () => ({ n: 0 }),
    body: (b) => b.step("add", { mutation: (_ctx, { loop }) => ({ n: loop.state.n + 1 }) }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 100_000,
  })
  .finalize({ query: (_ctx, { count }) => count.n });

export const longActionLoop = defineWorkflow({ input: z.object({ iterations: z.number() }) }).loop(
  "count",
  {
    initial: () => ({ n: 0 }),
    body: (b) => b.step("add", { action: (_ctx, { loop }) => ({ n: loop.state.n + 1 }) }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 100_000,
  },
);
