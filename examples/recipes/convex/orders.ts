import { v } from "convex/values";
import { mutation } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";

/** A customer orders. */
export const place = mutation({
  args: {
    productId: v.id("products"),
    quantity: v.number(),
    email: v.string(),
    card: v.string(),
  },
  returns: v.id("orders"),
  handler: async (ctx, order) => {
    const orderId = await ctx.db.insert("orders", { ...order, state: "placed" });
    const runId = await workflow.start(ctx, workflows.fulfilOrder, { orderId }, { key: orderId });
    await ctx.db.patch("orders", orderId, { runId });
    return orderId;
  },
});

/** The warehouse has packed it. */
export const packed = mutation({
  args: { orderId: v.id("orders"), by: v.string() },
  returns: v.null(),
  handler: async (ctx, { orderId, by }) => {
    await workflow.sendEvent(ctx, workflows.fulfilOrder, { key: orderId }, "packed", { by });
    return null;
  },
});

/** The customer thinks better of it. @returns false where it is too late. */
export const cancel = mutation({
  args: { orderId: v.id("orders") },
  returns: v.boolean(),
  handler: async (ctx, { orderId }) => {
    const order = await ctx.db.get("orders", orderId);
    return order?.runId !== undefined && (await workflow.cancel(ctx, order.runId));
  },
});
