import { defineWorkflow, retryAfter } from "@stepwise/workflow";
import { z } from "zod";
import { request } from "./server.js";

export const requests = defineWorkflow({ input: z.object({ n: z.number() }) }).step("asked", {
  action: async (_ctx, { input }) => {
    const response = await request(input.n);
    if (response.status === 429) throw retryAfter(response, { holds: "requests" });
  },
  limits: ["requests"],
});
