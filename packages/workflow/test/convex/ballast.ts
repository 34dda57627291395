import { v } from "convex/values";
import { internalMutation } from "./_generated/server";

/** Writes 3 MB. */
export const add = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    for (let i = 0; i < 4; i++) await ctx.db.insert("ballast", { bytes: "b".repeat(750_000) });
    return null;
  },
});
