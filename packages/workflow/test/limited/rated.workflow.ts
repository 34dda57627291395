import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/** A limit that says how many start in a time. */
export const rated = defineWorkflow({ input: z.object({ name: z.string() }) }).step("called", {
  action: async (ctx, { input }) => {
    await ctx.runMutation(internal.app.log, { text: `begin ${input.name}` });
  },
  limits: ["api"],
});

/** What it has used is of an output that nobody may see. */
export const countedSecretly = defineWorkflow({ input: z.object({}) }).step("asked", {
  action: async () => "s3cret",
  sensitive: true,
  limits: {
    tokens: {
      estimate: 400,
      spend: ({ output }) => {
        throw new Error(`cannot count ${output}`);
      },
    },
  },
});

/** A limit that counts what its output says. */
export const counted = defineWorkflow({
  input: z.object({ name: z.string(), used: z.number(), fails: z.boolean().default(false) }),
}).step("asked", {
  action: async (ctx, { input }) => {
    await ctx.runMutation(internal.app.log, { text: `begin ${input.name}` });
    if (input.fails) throw new Error("refused");
    return { usage: { total: input.used } };
  },
  limits: { tokens: { estimate: 400, spend: ({ output }) => output.usage.total } },
});

/** The same, which takes half a minute. */
export const countedSlowly = defineWorkflow({ input: z.object({ used: z.number() }) }).step(
  "asked",
  {
    action: async (_ctx, { input }) => {
      await new Promise<void>((resolve) => setTimeout(resolve, 30_000));
      return input.used;
    },
    limits: { tokens: { estimate: 400, spend: ({ output }) => output } },
  },
);

/** One follows in the slot that another step gives back, and one finds no other. */
export const ratedTogether = defineWorkflow({ input: z.object({}) })
  .step("first", { action: async () => null })
  .parallel("both", {
    branches: {
      left: (b) =>
        b.step("called", {
          action: async (ctx) => {
            await ctx.runMutation(internal.app.log, { text: "left" });
            await new Promise<void>((resolve) => setTimeout(resolve, 30_000));
          },
          limits: ["api"],
        }),
      right: (b) =>
        b.step("called", {
          action: async (ctx) => {
            await ctx.runMutation(internal.app.log, { text: "right" });
          },
          limits: ["api"],
        }),
    },
  });
