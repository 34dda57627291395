import { v } from "convex/values";
import { internalMutation } from "./_generated/server";
import { vAnalysis } from "./schema";

/** Stores the report of one document. Run by the workflow, which runs it exactly once. */
export const save = internalMutation({
  args: {
    title: v.string(),
    storageId: v.id("_storage"),
    sections: v.number(),
    analysis: vAnalysis,
  },
  returns: v.id("reports"),
  handler: async (ctx, report) => await ctx.db.insert("reports", report),
});
