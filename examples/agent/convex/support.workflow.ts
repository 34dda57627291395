import { defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { askModel, refund, type Message } from "./services";

/** How many turns the model gets. */
const MAX_TURNS = 8;

const vMessage = v.object({
  role: v.union(v.literal("user"), v.literal("model"), v.literal("tool")),
  text: v.string(),
});

/** Answers a customer's question with tools. A person approves each refund. */
export const support = defineWorkflow({
  input: v.object({ ticketId: v.id("tickets"), question: v.string() }),
  timeout: "3 days",
})
  .loop("turns", {
    state: v.object({ messages: v.array(vMessage), isDone: v.boolean() }),
    initial: ({ input }) => ({
      messages: [{ role: "user" as const, text: input.question }],
      isDone: false,
    }),
    body: (b) =>
      b
        .step("reply", {
          action: async (_ctx, { loop }, { signal }) => await askModel(loop.state.messages, signal),
          retry: { maxAttempts: 4, initialBackoffMs: 1_000, base: 2 },
          timeout: "2m",
        })
        .branch("next", {
          on: ({ reply }) => reply.tool?.name ?? "answer",
          cases: {
            answer: (b) => b.step("said", { query: async (_ctx, { reply }) => reply.text }),
            findOrder: (b) =>
              b.step("order", {
                query: internal.tickets.findOrder,
                args: ({ reply }) => ({ number: reply.tool?.orderId ?? "" }),
              }),
            refund: (b) =>
              b
                .event("approval", {
                  schema: v.object({ approved: v.boolean() }),
                  timeout: "1 day",
                })
                .step("refunded", {
                  action: async (_ctx, { reply, approval }, { idempotencyKey }) =>
                    reply.tool !== null && !approval.timedOut && approval.event.approved
                      ? await refund({ orderId: reply.tool.orderId, key: idempotencyKey })
                      : "nobody has approved this refund",
                  retry: true,
                  recover: (error) => `the refund failed: ${error.message}`,
                }),
          },
        })
        .step("turn", {
          query: async (_ctx, { loop, reply, next }) => {
            const said: Message = { role: "model", text: reply.text };
            const isDone = reply.tool === null;
            const result: Message[] = isDone ? [] : [{ role: "tool", text: next }];
            return { messages: [...loop.state.messages, said, ...result], isDone };
          },
        }),
    until: ({ loop }) => loop.state.isDone,
    maxIterations: MAX_TURNS,
  })
  .finalize({
    mutation: async (ctx, { input, turns }) => {
      const answer = turns.messages.at(-1)?.text ?? "";
      await ctx.db.patch("tickets", input.ticketId, { answer });
      return answer;
    },
  });
