import { mutationGeneric } from "convex/server";
import { v } from "convex/values";

/** The component: one mark per call. */
export const mark = mutationGeneric({
  args: { of: v.string() },
  handler: async (ctx, { of }) => {
    await ctx.db.insert("marks", { of });
    return null;
  },
});
