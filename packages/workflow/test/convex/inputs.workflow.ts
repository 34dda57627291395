import { defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { z } from "zod";

export const echo = defineWorkflow({ input: z.object({ value: z.any() }) }).step("same", {
  action: async (_ctx, { input }) => input.value,
});

export const parsed = defineWorkflow({
  input: z.object({
    count: z.number().int().min(1).default(3),
    text: z.string().transform((text) => text.length),
  }),
}).step("seen", { action: async (_ctx, { input }) => input });

export const checkedLater = defineWorkflow({
  input: z.object({
    id: z.string().refine((id) => {
      if (id === "throws") throw new Error("no check");
      return Promise.resolve(true);
    }),
  }),
}).step("seen", { action: async (_ctx, { input }) => input });

export const checkedByConvex = defineWorkflow({
  input: v.object({ id: v.string(), note: v.optional(v.string()) }),
}).step("seen", { action: async (_ctx, { input }) => input });
