import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/** Takes as long, and ends as, its input says. */
export const leaf = defineWorkflow({
  input: z.object({ n: z.number(), ms: z.number().default(0), fails: z.boolean().default(false) }),
}).step("work", {
  action: async (_ctx, { input }) => {
    if (input.ms > 0) await new Promise((resolve) => setTimeout(resolve, input.ms));
    if (input.fails) throw new Error(`leaf ${input.n} fails`);
    return input.n * 10;
  },
});

export const leaves = z.array(
  z.object({ n: z.number(), ms: z.number().optional(), fails: z.boolean().optional() }),
);

export const list = defineWorkflow({ input: z.object({ leaves }) })
  .parent("all", {
    children: ({ input }) => input.leaves.map((one) => child(leaf, one)),
    finalize: { mutation: async (_ctx, { children }) => children },
  })
  .step("after", { action: async (_ctx, { all }) => all });

export const twoAtOnce = defineWorkflow({ input: z.object({ leaves }) }).parent("all", {
  children: ({ input }) => input.leaves.map((one) => child(leaf, one)),
  concurrency: 2,
  finalize: { query: async (_ctx, { children }) => children.length },
});

export const record = defineWorkflow({ input: z.object({ n: z.number() }) }).parent("pair", {
  children: ({ input }) => ({
    left: child(leaf, { n: input.n, ms: 50 }),
    right: child(leaf, { n: input.n + 1 }),
    third: input.n > 1 ? child(leaf, { n: input.n + 2 }) : undefined,
  }),
});

/**
 * With a handler of its own, which fails on its first attempt, and a finalize that is an action.
 */
export const handled = defineWorkflow({ input: z.object({ n: z.number() }) })
  .parent("all", {
    action: async (_ctx, { input }, { attempt }) => {
      if (attempt === 1) throw new Error("not yet");
      return { count: input.n };
    },
    retry: { maxAttempts: 2, initialBackoffMs: 100, base: 1 },
    children: ({ output }) =>
      Array.from({ length: output.count }, (_none, n) => child(leaf, { n })),
    finalize: {
      action: async (_ctx, { input, output, children }) => ({ n: input.n, output, children }),
    },
  })
  .finalize({ query: async (_ctx, { all }) => all });

export const gathered = defineWorkflow({ input: z.object({ n: z.number() }) }).parent("all", {
  mutation: async (_ctx, { input }) => input.n,
  children: ({ output }) => Array.from({ length: output }, (_none, n) => child(leaf, { n })),
});

/** Children that are parents, and a failure deep below. */
export const grandparent = defineWorkflow({
  input: z.object({ leaves, ms: z.number().default(0) }),
}).parent("lists", {
  children: ({ input }) => ({
    first: child(list, { leaves: input.leaves }),
    second: child(list, { leaves: [{ n: 100, ms: input.ms }] }),
  }),
  finalize: { mutation: async (_ctx, { children }) => [...children.first, ...children.second] },
});

export const badChild = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(leaf, { n: 1 }), child(leaf, { n: "two" as unknown as number })],
});

const isOpen = (): boolean => false;

export const childrenThrow = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => {
    if (!isOpen()) throw new Error("no children today");
    return [child(leaf, { n: 1 })];
  },
});

export const finalizeFails = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(leaf, { n: 1 })],
  finalize: {
    mutation: async (): Promise<null> => {
      throw new Error("cannot merge");
    },
  },
});
