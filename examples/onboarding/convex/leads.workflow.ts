import { defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { sendMail } from "./services";

/** The mails, in their order. */
const MAILS = ["welcome", "tour", "stories", "offer"];

/** A mail every three days, until the lead becomes a customer or there is no mail left. */
export const drip = defineWorkflow({
  input: v.object({ leadId: v.id("leads"), email: v.string() }),
})
  .loop("mails", {
    initial: () => ({ hasConverted: false }),
    body: (b) =>
      b
        .step("mail", {
          action: async (_ctx, { input, loop }, info) =>
            await sendMail({
              to: input.email,
              template: MAILS[loop.iteration - 1] ?? "offer",
              key: info.idempotencyKey,
            }),
          retry: true,
          timeout: "30s",
        })
        .event("converted", { schema: v.object({ plan: v.string() }), timeout: "3 days" })
        .step("noted", {
          mutation: async (ctx, { input, loop, converted }) => {
            await ctx.db.patch("leads", input.leadId, { mailsSent: loop.iteration });
            return { hasConverted: !converted.timedOut };
          },
        }),
    until: ({ loop }) => loop.state.hasConverted || loop.iteration === MAILS.length,
    maxIterations: MAILS.length,
  })
  .branch("ending", {
    on: ({ mails }) => (mails.hasConverted ? "customer" : "cold"),
    cases: {
      customer: (b) =>
        b.step("thanks", {
          action: async (_ctx, { input }, info) =>
            await sendMail({ to: input.email, template: "thanks", key: info.idempotencyKey }),
          retry: true,
        }),
      cold: (b) =>
        b.step("shelved", {
          mutation: internal.leads.shelve,
          args: ({ input }) => ({ leadId: input.leadId }),
        }),
    },
  });
