import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
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
  })
    .index("by_employee", ["employee"])
    .index("by_manager", ["manager"]),
});
