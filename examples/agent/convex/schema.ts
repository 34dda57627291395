import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  orders: defineTable({ number: v.string(), what: v.string(), state: v.string() }).index(
    "by_number",
    ["number"],
  ),
  tickets: defineTable({
    customer: v.string(),
    question: v.string(),
    answer: v.optional(v.string()),
  }),
});
