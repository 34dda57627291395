import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  /** What the steps under test did, in the order of their commits. */
  log: defineTable({ text: v.string() }),
  /** Ballast, for transactions that are to become too large. */
  ballast: defineTable({ bytes: v.string() }),
});
