import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { answer } from "./server.js";

export const answers = defineWorkflow({ input: z.object({ n: z.number() }) }).step("answered", {
  action: async (_ctx, { input }) => await answer(input.n),
  limits: [{ tokens: { estimate: 500, spend: ({ output }) => output.tokens } }],
});
