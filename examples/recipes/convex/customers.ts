import { v } from "convex/values";
import { internalMutation } from "./_generated/server";

/** Writes a customer of another system, over what is known of it. */
export const save = internalMutation({
  args: { id: v.string(), name: v.string(), email: v.string() },
  returns: v.id("customers"),
  handler: async (ctx, { id: externalId, ...customer }) => {
    const known = await ctx.db
      .query("customers")
      .withIndex("by_externalId", (q) => q.eq("externalId", externalId))
      .unique();
    if (known === null) return await ctx.db.insert("customers", { externalId, ...customer });
    await ctx.db.patch("customers", known._id, customer);
    return known._id;
  },
});
