import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

/** The analysis of one section or of a whole document. */
export const vAnalysis = v.object({
  words: v.number(),
  sentences: v.number(),
  longestSentence: v.object({ words: v.number(), text: v.string() }),
  frequentWords: v.array(v.object({ word: v.string(), count: v.number() })),
});

export default defineSchema({
  // Written once per document, by the workflow's "save"; read by the app.
  reports: defineTable({
    title: v.string(),
    storageId: v.id("_storage"),
    sections: v.number(),
    analysis: vAnalysis,
  }).index("by_storageId", ["storageId"]),
});
