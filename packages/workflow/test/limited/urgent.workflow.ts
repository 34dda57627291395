import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

const Input = z.object({ name: z.string(), priority: z.string().optional() });

/** Its actions wait for a limit of one, and may go before others. */
export const urgent = defineWorkflow({
  input: Input,
  priority: ({ input }) => input.priority as "30s" | undefined,
}).step("called", {
  action: async (ctx, { input }) => {
    await ctx.runMutation(internal.app.log, { text: input.name });
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    if (input.name === "fails") throw new Error("failed");
  },
  limits: ["single"],
  retry: { maxAttempts: 2, initialBackoffMs: 100 },
  recover: () => undefined,
});

/** Says nothing itself. */
export const plain = defineWorkflow({ input: Input }).step("called", {
  action: async (ctx, { input }) => {
    await ctx.runMutation(internal.app.log, { text: input.name });
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  },
  limits: ["single"],
});

/** Its children have its priority, unless they have their own. */
export const parent = defineWorkflow({ input: Input, priority: "1m" }).parent("both", {
  children: ({ input }) => [
    child(plain, { name: `${input.name} plain` }),
    child(urgent, { name: `${input.name} own`, priority: "2s" }),
  ],
});

/** Without a limit: the slots of the pool are shared by names. */
export const owned = defineWorkflow({
  input: Input,
  fairness: { key: ({ input }) => input.name, weight: ({ input }) => input.name.length },
}).step("called", {
  action: async (ctx, { input }) => {
    await ctx.runMutation(internal.app.log, { text: input.name });
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  },
});
