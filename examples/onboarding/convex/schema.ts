import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  leads: defineTable({
    email: v.string(),
    state: v.union(v.literal("warm"), v.literal("cold"), v.literal("customer")),
    mailsSent: v.number(),
  }),
});
