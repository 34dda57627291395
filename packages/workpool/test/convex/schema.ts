import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  /** What the jobs and callbacks did, in order. */
  events: defineTable({
    what: v.string(),
    label: v.string(),
    at: v.number(),
    data: v.optional(v.any()),
  }).index("by_label", ["label"]),
});
