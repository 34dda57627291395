import { v } from "convex/values";
import { internalMutation, mutation } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import { requireUser } from "./users";

/** Adds a lead, and starts the mails. */
export const signUp = mutation({
  args: { email: v.string() },
  returns: v.id("leads"),
  handler: async (ctx, { email }) => {
    await requireUser(ctx);
    const leadId = await ctx.db.insert("leads", { email, state: "warm", mailsSent: 0 });
    await workflow.start(ctx, workflows.drip, { leadId, email }, { key: leadId });
    return leadId;
  },
});

/** A lead chooses a plan: the mails stop, except for a thank-you. */
export const convert = mutation({
  args: { leadId: v.id("leads"), plan: v.string() },
  returns: v.null(),
  handler: async (ctx, { leadId, plan }) => {
    await requireUser(ctx);
    const lead = await ctx.db.get("leads", leadId);
    if (lead === null) throw new Error(`There is no lead ${leadId}`);
    if (lead.state === "warm")
      await workflow.sendEvent(ctx, workflows.drip, { key: leadId }, "converted", { plan });
    await ctx.db.patch("leads", leadId, { state: "customer" });
    return null;
  },
});

/** Shelves a lead who got all mails and did not become a customer. The workflow calls it. */
export const shelve = internalMutation({
  args: { leadId: v.id("leads") },
  returns: v.null(),
  handler: async (ctx, { leadId }) => {
    await ctx.db.patch("leads", leadId, { state: "cold" });
    return null;
  },
});
