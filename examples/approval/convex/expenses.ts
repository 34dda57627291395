import type { Status, TimelineEntry } from "@stepwise/workflow";
import { ConvexError, v } from "convex/values";
import type { Id } from "./_generated/dataModel";
import {
  internalMutation,
  internalQuery,
  mutation,
  query,
  type QueryCtx,
} from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import { requireUser } from "./users";

/** An employee submits an expense, and the manager is asked. */
export const submit = mutation({
  args: { what: v.string(), cents: v.number(), manager: v.string() },
  returns: v.id("expenses"),
  handler: async (ctx, given) => {
    const { subject: employee } = await requireUser(ctx);
    const expense = { ...given, employee, state: "open" as const };
    const expenseId = await ctx.db.insert("expenses", expense);
    await workflow.start(ctx, workflows.approveExpense, { expenseId }, { key: expenseId });
    return expenseId;
  },
});

/** The manager approves or rejects. */
export const decide = mutation({
  args: { expenseId: v.id("expenses"), approved: v.boolean() },
  returns: v.null(),
  handler: async (ctx, { expenseId, approved }) => {
    const { subject } = await requireUser(ctx);
    const expense = await ctx.db.get("expenses", expenseId);
    if (expense?.manager !== subject) throw new ConvexError("Only the manager decides");
    const which = { key: expenseId };
    await workflow.sendEvent(ctx, workflows.approveExpense, which, "decision", { approved });
    return null;
  },
});

/** The newest expenses that the user has submitted, or `decides` on. */
export const list = query({
  args: {},
  handler: async (ctx) => {
    const { subject } = await requireUser(ctx);
    const own = await ctx.db
      .query("expenses")
      .withIndex("by_employee", (q) => q.eq("employee", subject))
      .order("desc")
      .take(20);
    const toDecide = await ctx.db
      .query("expenses")
      .withIndex("by_manager", (q) => q.eq("manager", subject))
      .order("desc")
      .take(20);
    return [...own, ...toDecide]
      .sort((a, b) => b._creationTime - a._creationTime)
      .map((expense) => ({ ...expense, decides: expense.manager === subject }));
  },
});

/** The status of an expense's run, for `useRun`. */
export const status = query({
  args: { expenseId: v.id("expenses") },
  handler: async (ctx, { expenseId }): Promise<Status<typeof workflows.approveExpense> | null> => {
    await requireInvolved(ctx, expenseId);
    return await workflow.status(ctx, workflows.approveExpense, { key: expenseId });
  },
});

/** The steps of a run, for `<RunTimeline>` and `<WorkflowGraph>`, without their outputs. */
export const timeline = query({
  args: { expenseId: v.id("expenses") },
  handler: async (ctx, { expenseId }): Promise<Omit<TimelineEntry, "output">[]> => {
    await requireInvolved(ctx, expenseId);
    const status = await workflow.status(ctx, workflows.approveExpense, { key: expenseId });
    if (status === null) return [];
    const first = { numItems: 50, cursor: null };
    const { page } = await workflow.steps(ctx, workflows.approveExpense, status.runId, first);
    return page.map(({ output: _output, ...shown }) => shown);
  },
});

/** Only the employee and the manager may see an expense. */
async function requireInvolved(ctx: QueryCtx, expenseId: Id<"expenses">) {
  const { subject } = await requireUser(ctx);
  const expense = await ctx.db.get("expenses", expenseId);
  if (expense?.employee !== subject && expense?.manager !== subject)
    throw new ConvexError("This is not your expense");
}

/** The parts of an expense that the workflow needs. */
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

/** Records the decision. The workflow calls it. */
export const settle = internalMutation({
  args: { expenseId: v.id("expenses"), isDecided: v.boolean(), isApproved: v.boolean() },
  returns: vSettled,
  handler: async (ctx, { expenseId, isDecided, isApproved }) => {
    const state = isApproved ? "approved" : isDecided ? "rejected" : "escalated";
    await ctx.db.patch("expenses", expenseId, { state });
    return state;
  },
});
