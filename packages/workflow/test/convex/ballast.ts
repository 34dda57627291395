import { v } from "convex/values";
import { internalMutation } from "./_generated/server";

/** Writes 3 MB, or as many as it is told. */
export const add = internalMutation({
  args: { megabytes: v.optional(v.number()) },
  returns: v.null(),
  handler: async (ctx, { megabytes = 3 }) => {
    for (let i = 0; i < megabytes * 2; i++)
      await ctx.db.insert("ballast", { bytes: "b".repeat(500_000) });
    return null;
  },
});
