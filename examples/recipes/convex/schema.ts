import { vRunId } from "@stepwise/workflow";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  leads: defineTable({
    email: v.string(),
    state: v.union(v.literal("warm"), v.literal("cold"), v.literal("customer")),
    mailsSent: v.number(),
  }),

  customers: defineTable({ externalId: v.string(), name: v.string(), email: v.string() }).index(
    "by_externalId",
    ["externalId"],
  ),

  expenses: defineTable({
    what: v.string(),
    cents: v.number(),
    employee: v.string(),
    manager: v.string(),
    state: v.union(
      v.literal("open"),
      v.literal("approved"),
      v.literal("rejected"),
      v.literal("escalated"),
    ),
  }),

  articles: defineTable({
    topic: v.string(),
    text: v.string(),
    sources: v.array(v.string()),
    /** Whether the reviewer was content in the end. */
    isGood: v.boolean(),
  }),

  products: defineTable({ name: v.string(), cents: v.number(), inStock: v.number() }),
  orders: defineTable({
    productId: v.id("products"),
    quantity: v.number(),
    email: v.string(),
    card: v.string(),
    state: v.union(v.literal("placed"), v.literal("shipped"), v.literal("canceled")),
    /** The run that fulfils it. */
    runId: v.optional(vRunId),
  }),
});
