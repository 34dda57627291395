import { v } from "convex/values";
import { internalMutation } from "./_generated/server";

/** Takes the ordered quantity out of stock. */
export const reserve = internalMutation({
  args: { orderId: v.id("orders") },
  returns: v.object({
    product: v.string(),
    quantity: v.number(),
    cents: v.number(),
    email: v.string(),
    card: v.string(),
  }),
  handler: async (ctx, { orderId }) => {
    const order = await ctx.db.get("orders", orderId);
    const product = order && (await ctx.db.get("products", order.productId));
    if (!order || !product) throw new Error(`There is no order ${orderId}`);
    const { quantity, email, card } = order;
    if (product.inStock < quantity)
      throw new Error(`Only ${product.inStock} of "${product.name}" are left`);
    await ctx.db.patch("products", product._id, { inStock: product.inStock - quantity });
    return { product: product.name, quantity, cents: product.cents * quantity, email, card };
  },
});

/** Puts it back. */
export const release = internalMutation({
  args: { orderId: v.id("orders") },
  returns: v.null(),
  handler: async (ctx, { orderId }) => {
    const order = await ctx.db.get("orders", orderId);
    const product = order && (await ctx.db.get("products", order.productId));
    if (!order || !product) throw new Error(`There is no order ${orderId}`);
    await ctx.db.patch("products", product._id, { inStock: product.inStock + order.quantity });
    return null;
  },
});
