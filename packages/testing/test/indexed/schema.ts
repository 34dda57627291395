import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

/** Of the app and of its component alike. */
export default defineSchema({
  things: defineTable({
    kind: v.string(),
    text: v.string(),
    vector: v.array(v.float64()),
    a: v.optional(v.any()),
    b: v.optional(v.any()),
    nested: v.optional(v.any()),
    ts: v.optional(v.commitTs()),
  })
    .index("by_kind", ["kind"])
    .index("by_a", ["a"])
    .index("by_kind_a_b", ["kind", "a", "b"])
    .index("by_nested", ["nested.x", "nested.y.z"])
    .index("by_ts", ["ts", "kind"])
    .searchIndex("by_text", { searchField: "text", filterFields: ["kind"] })
    .vectorIndex("by_vector", { vectorField: "vector", dimensions: 2, filterFields: ["kind"] }),
  others: defineTable({ a: v.optional(v.any()) }).index("by_a", ["a"]),
});
