import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  customers: defineTable({ externalId: v.string(), name: v.string(), email: v.string() }).index(
    "by_externalId",
    ["externalId"],
  ),
});
