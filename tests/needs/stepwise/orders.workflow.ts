import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { charge, ship } from "./server.js";

const Order = z.object({ customer: z.string(), n: z.number() });

export const orders = defineWorkflow({
  input: Order,
  one: { key: ({ input }) => input.customer, otherwise: "wait" },
  retry: { maxAttempts: 3 },
})
  .step("charged", { action: async (_ctx, { input }) => await charge(input) })
  .step("shipped", { action: async (_ctx, { input }) => await ship(input) });
