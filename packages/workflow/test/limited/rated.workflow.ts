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
