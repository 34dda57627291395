import { v } from "convex/values";
import { internalMutation, internalQuery, mutation } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import { requireUser } from "./users";

/** An employee hands in an expense. */
export const submit = mutation({
  args: { what: v.string(), cents: v.number(), employee: v.string(), manager: v.string() },
  returns: v.id("expenses"),
  handler: async (ctx, expense) => {
    await requireUser(ctx);
    const expenseId = await ctx.db.insert("expenses", { ...expense, state: "open" });
    await workflow.start(ctx, workflows.approveExpense, { expenseId }, { key: expenseId });
    return expenseId;
  },
});

/** The manager decides. */
export const decide = mutation({
  args: { expenseId: v.id("expenses"), approved: v.boolean() },
  returns: v.null(),
  handler: async (ctx, { expenseId, approved }) => {
    await requireUser(ctx);
    const which = { key: expenseId };
    await workflow.sendEvent(ctx, workflows.approveExpense, which, "decision", { approved });
    return null;
  },
});

/** An expense, as the workflow needs it. */
export const get = internalQuery({
  args: { expenseId: v.id("expenses") },
  returns: v.object({
    what: v.string(),
    cents: v.number(),
    employee: v.string(),
    manager: v.string(),
  }),
  handler: async (ctx, { expenseId }) => {
    const expense = await ctx.db.get("expenses", expenseId);
    if (expense === null) throw new Error(`There is no expense ${expenseId}`);
    const { what, cents, employee, manager } = expense;
    return { what, cents, employee, manager };
  },
});

const vSettled = v.union(v.literal("approved"), v.literal("rejected"), v.literal("escalated"));

/** Writes what was decided, if anything was. Run by the workflow. */
export const settle = internalMutation({
  args: { expenseId: v.id("expenses"), isDecided: v.boolean(), isApproved: v.boolean() },
  returns: vSettled,
  handler: async (ctx, { expenseId, isDecided, isApproved }) => {
    const state = isApproved ? "approved" : isDecided ? "rejected" : "escalated";
    await ctx.db.patch("expenses", expenseId, { state });
    return state;
  },
});
