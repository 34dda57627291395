import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

export const keepsSecret = defineWorkflow({ input: z.object({}) }).step("token", {
  mutation: async () => "s3cret",
  sensitive: true,
});

/** A secret that a child gives, read by an action. */
export const confides = defineWorkflow({ input: z.object({}) })
  .child("kept", keepsSecret, () => ({}))
  .step("used", { action: async (_ctx, { kept }) => kept.length });
