import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  videos: defineTable({ tenant: v.string(), n: v.number(), runs: v.boolean() }).index("by_tenant", [
    "tenant",
    "runs",
  ]),
  orders: defineTable({ customer: v.string(), n: v.number(), runs: v.boolean() }).index(
    "by_customer",
    ["customer", "runs"],
  ),
});
