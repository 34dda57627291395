import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { transcode } from "./server.js";

const Video = z.object({ tenant: z.string(), n: z.number() });

export const videos = defineWorkflow({ input: Video }).step("transcoded", {
  action: async (_ctx, { input }) => await transcode(input),
  limits: { tenant: ({ input }) => input.tenant },
});
