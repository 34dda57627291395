import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

const tagged = z.object({
  org: z.string(),
  plan: z.string().optional(),
  seats: z.number().default(1),
});

/** Has tags of its input, and gets more of its steps: a mutation, an action and a branch. */
export const tagging = defineWorkflow({
  input: tagged,
  tags: ({ input }) => ({
    org: input.org,
    plan: input.plan,
    seats: input.seats,
    risk: undefined,
    side: undefined,
  }),
})
  .step("risk", {
    mutation: async (_ctx, { input }, info) => {
      await info.tag("risk", input.org === "evil");
      return input.seats;
    },
  })
  .step("plan", {
    action: async (_ctx, { risk }, info) => await info.tag("plan", risk > 10 ? "large" : "small"),
  })
  .parallel("both", {
    branches: {
      left: (b) =>
        b.step("side", { action: async (_ctx, _scope, info) => await info.tag("side", 1) }),
      right: (b) => b.step("none", { query: () => 1 }),
    },
  });

/** The same without tags. */
export const untagged = defineWorkflow({ input: tagged }).step("count", { query: () => 1 });

/** What is read of what a method gives, the compiler does not see. */
export const tagsSecrets = defineWorkflow({
  input: z.object({ org: z.string(), cards: z.array(z.object({ number: z.string() })) }),
  tags: ({ input }) => ({
    org: input.org,
    ...(input.org === "leaky" && { card: input.cards.at(0)!.number }),
  }),
  sensitive: ["input.cards.number"],
}).step("count", { query: (_ctx, { input }) => input.cards.length });

export const tagsWrongly = defineWorkflow({
  input: z.object({ tags: z.array(z.array(z.any())) }),
  tags: ({ input }) => Object.fromEntries(input.tags),
}).step("count", { query: async (_ctx, _scope, info) => await info.tag("a", 1) });

/** Gives its run a tag more in each iteration. */
export const tagsEach = defineWorkflow({ input: z.object({}) }).loop("more", {
  initial: () => 0,
  maxIterations: 11,
  body: (b) =>
    b.step("next", {
      mutation: async (_ctx, { loop }, info) => {
        await info.tag(`t${loop.state}`, 1);
        return loop.state + 1;
      },
    }),
  until: ({ loop }) => loop.state === 11,
});
