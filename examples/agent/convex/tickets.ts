import { ConvexError, v } from "convex/values";
import { internalQuery, mutation, query } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import { requireColleague, requireUser } from "./users";

/** Starts the agent on a customer's question. */
export const ask = mutation({
  args: { question: v.string() },
  returns: v.id("tickets"),
  handler: async (ctx, { question }) => {
    const { subject: customer } = await requireUser(ctx);
    const ticketId = await ctx.db.insert("tickets", { customer, question });
    await workflow.start(ctx, workflows.support, { ticketId, question }, { key: ticketId });
    return ticketId;
  },
});

/** A colleague approves or refuses the refund that the agent wants to make. */
export const decide = mutation({
  args: { ticketId: v.id("tickets"), approved: v.boolean() },
  returns: v.null(),
  handler: async (ctx, { ticketId, approved }) => {
    await requireColleague(ctx);
    await workflow.sendEvent(ctx, workflows.support, { key: ticketId }, "approval", { approved });
    return null;
  },
});

/** The answer to a customer's question, and whether a refund waits for a colleague. */
export const progress = query({
  args: { ticketId: v.id("tickets") },
  returns: v.object({ answer: v.union(v.string(), v.null()), waitsForApproval: v.boolean() }),
  handler: async (ctx, { ticketId }) => {
    const { subject } = await requireUser(ctx);
    const ticket = await ctx.db.get("tickets", ticketId);
    if (ticket?.customer !== subject) throw new ConvexError("This is not your question");
    const status = await workflow.status(ctx, workflows.support, { key: ticketId });
    const waitsForApproval = (status?.active ?? []).some(({ events }) => events !== undefined);
    return { answer: ticket.answer ?? null, waitsForApproval };
  },
});

/** A tool of the agent. Looks up an order. */
export const findOrder = internalQuery({
  args: { number: v.string() },
  returns: v.string(),
  handler: async (ctx, { number }) => {
    const order = await ctx.db
      .query("orders")
      .withIndex("by_number", (q) => q.eq("number", number))
      .unique();
    return order === null ? `there is no order ${number}` : `${order.what}: ${order.state}`;
  },
});
