import { defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { bookParcel, chargeCard, refundCharge, sendMail } from "./services";

/**
 * Reserves, charges, packs and ships an order. If that fails, is canceled or takes too long, the
 * order is rolled back, newest step first.
 */
export const fulfilOrder = defineWorkflow({
  input: v.object({ orderId: v.id("orders") }),
  timeout: "14 days",
})
  .step("reserved", {
    mutation: internal.stock.reserve,
    args: ({ input }) => input,
    compensate: { mutation: internal.stock.release, args: ({ input }) => input },
  })
  .step("charged", {
    action: async (_ctx, { reserved }, info) =>
      await chargeCard({
        card: reserved.card,
        cents: reserved.cents,
        key: info.idempotencyKey,
      }),
    retry: true,
    timeout: "30s",
    compensate: {
      action: async (_ctx, { output }, info) =>
        await refundCharge({ chargeId: output.chargeId, key: info.idempotencyKey }),
      retry: { maxAttempts: 20, initialBackoffMs: 1_000, base: 2, maxBackoffMs: 3_600_000 },
    },
  })
  .event("packed", { schema: v.object({ by: v.string() }) })
  .step("shipped", {
    action: async (_ctx, { reserved }, info) =>
      await bookParcel({
        email: reserved.email,
        product: reserved.product,
        quantity: reserved.quantity,
        key: info.idempotencyKey,
      }),
    retry: true,
  })
  .step("told", {
    action: async (_ctx, { reserved, shipped }, info) =>
      await sendMail({
        to: reserved.email,
        template: "shipped",
        about: shipped.tracking,
        key: info.idempotencyKey,
      }),
    retry: true,
    // The parcel is on its way: a failed mail must not roll the order back.
    recover: () => null,
  })
  .finalize({ query: async (_ctx, { shipped }) => ({ tracking: shipped.tracking }) });
