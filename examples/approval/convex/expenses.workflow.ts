import { defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { payOut, sendMail } from "./services";

/** How often the manager is asked. */
const TIMES_ASKED = 3;

/**
 * A manager approves or rejects an expense, with a reminder every two days. After six days the
 * expense is escalated.
 */
export const approveExpense = defineWorkflow({
  input: v.object({ expenseId: v.id("expenses") }),
})
  .step("expense", {
    query: internal.expenses.get,
    args: ({ input }) => input,
  })
  .loop("asked", {
    initial: () => ({ isDecided: false, isApproved: false }),
    body: (b) =>
      b
        .step("mail", {
          action: async (_ctx, { expense, loop }, info) =>
            await sendMail({
              to: expense.manager,
              template: loop.iteration === 1 ? "please-decide" : "still-open",
              about: expense.what,
              key: info.idempotencyKey,
            }),
          retry: true,
        })
        .event("decision", { schema: v.object({ approved: v.boolean() }), timeout: "2 days" })
        .step("answer", {
          query: async (_ctx, { decision }) => ({
            isDecided: !decision.timedOut,
            isApproved: !decision.timedOut && decision.event.approved,
          }),
        }),
    until: ({ loop }) => loop.state.isDecided || loop.iteration === TIMES_ASKED,
    maxIterations: TIMES_ASKED,
  })
  .step("settled", {
    mutation: internal.expenses.settle,
    args: ({ input, asked }) => ({ ...input, ...asked }),
  })
  .branch("consequence", {
    on: ({ settled }) => settled,
    cases: {
      approved: (b) =>
        b.step("payment", {
          action: async (_ctx, { expense }, info) =>
            await payOut({ to: expense.employee, cents: expense.cents, key: info.idempotencyKey }),
          retry: true,
        }),
      rejected: (b) =>
        b.step("refusal", {
          action: async (_ctx, { expense }, info) =>
            await sendMail({
              to: expense.employee,
              template: "rejected",
              about: expense.what,
              key: info.idempotencyKey,
            }),
          retry: true,
        }),
      escalated: (b) =>
        b.step("escalation", {
          action: async (_ctx, { expense }, info) =>
            await sendMail({
              to: "finance@example.com",
              template: "nobody-decides",
              about: expense.what,
              key: info.idempotencyKey,
            }),
          retry: true,
        }),
    },
  });
