import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { poolTables } from "../../src/core/index.js";

/**
 * The smallest host of a pool: chains of works, each of which starts the next of its chain as it
 * ends.
 */
export default defineSchema({
  ...poolTables,
  runs: defineTable({ chain: v.string(), link: v.number(), slot: v.id("slots"), at: v.number() }),
  events: defineTable({ what: v.string(), label: v.string(), at: v.number() }),
  /** Things of the host's own, that are to be seen to at a time. */
  chores: defineTable({ label: v.string(), at: v.number() }).index("by_at", ["at"]),
  gone: defineTable({ work: v.string(), message: v.string() }),
});
