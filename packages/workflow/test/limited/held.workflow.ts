import { defineWorkflow, RetryAfter, retryAfter } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/* Actions that are told to come again later, as a service answers that is asked too often. */

const input = z.object({ name: z.string(), times: z.number().default(0) });

/** Without a retry; `times` times it is refused. */
export const asksOften = defineWorkflow({ input }).step("asked", {
  action: async (ctx, { input }, { attempt }) => {
    await ctx.runMutation(internal.app.log, { text: `begin ${input.name}` });
    if (attempt <= input.times) throw new RetryAfter("20s", { holds: "exports" });
    return attempt;
  },
  limits: ["exports"],
});

/** One attempt that is refused, and others that fail. */
export const asksAndFails = defineWorkflow({ input }).step("asked", {
  action: async (_ctx, _scope, { attempt }) => {
    const headers = { "retry-after": "20" };
    if (attempt === 2)
      throw retryAfter(new Response(null, { status: 429, headers }), { holds: "exports" });
    throw new Error(`attempt ${attempt}`);
  },
  limits: ["exports"],
  retry: { maxAttempts: 3, initialBackoffMs: 10, base: 1 },
});
