import { vOnCompleteArgs } from "@stepwise/workflow";
import { ConvexError, v } from "convex/values";
import { internal } from "./_generated/api";
import { internalMutation, mutation } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import { requireUser } from "./users";

/** Places an order, and starts the run that fulfils it. */
export const place = mutation({
  args: {
    productId: v.id("products"),
    quantity: v.number(),
    email: v.string(),
    card: v.string(),
  },
  returns: v.id("orders"),
  handler: async (ctx, order) => {
    const { subject: customer } = await requireUser(ctx);
    const orderId = await ctx.db.insert("orders", { ...order, customer, state: "placed" });
    const runId = await workflow.start(
      ctx,
      workflows.fulfilOrder,
      { orderId },
      { key: orderId, onComplete: { fn: internal.orders.ended, context: { orderId } } },
    );
    await ctx.db.patch("orders", orderId, { runId });
    return orderId;
  },
});

/** The warehouse reports that the order is packed. */
export const packed = mutation({
  args: { orderId: v.id("orders"), by: v.string() },
  returns: v.null(),
  handler: async (ctx, { orderId, by }) => {
    await requireUser(ctx);
    await workflow.sendEvent(ctx, workflows.fulfilOrder, { key: orderId }, "packed", { by });
    return null;
  },
});

/** The customer cancels the order. @returns false if it is too late. */
export const cancel = mutation({
  args: { orderId: v.id("orders") },
  returns: v.boolean(),
  handler: async (ctx, { orderId }) => {
    const { subject } = await requireUser(ctx);
    const order = await ctx.db.get("orders", orderId);
    if (order?.customer !== subject) throw new ConvexError("This is not your order");
    return order.runId !== undefined && (await workflow.cancel(ctx, order.runId));
  },
});

/** Runs when the run has ended: the order is shipped, or everything is undone. */
export const ended = internalMutation({
  args: vOnCompleteArgs(v.object({ orderId: v.id("orders") })),
  returns: v.null(),
  handler: async (ctx, { context, result }) => {
    const state = result.state === "completed" ? "shipped" : "canceled";
    await ctx.db.patch("orders", context.orderId, { state });
    return null;
  },
});
