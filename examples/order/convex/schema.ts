import { vRunId } from "@stepwise/workflow";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  products: defineTable({ name: v.string(), cents: v.number(), inStock: v.number() }),
  orders: defineTable({
    customer: v.string(),
    productId: v.id("products"),
    quantity: v.number(),
    email: v.string(),
    card: v.string(),
    state: v.union(v.literal("placed"), v.literal("shipped"), v.literal("canceled")),
    /** The run that fulfils it. */
    runId: v.optional(vRunId),
  }),
});
