import { child, defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { searchWeb } from "./services";
import { answerFrom, planQuestions, review, write } from "./writer";

/** How many drafts there are at most. */
const MAX_DRAFTS = 3;

/** One question: pages are looked for, and read. */
export const research = defineWorkflow({
  input: v.object({ question: v.string() }),
  retry: { maxAttempts: 3, initialBackoffMs: 1_000, base: 2 },
})
  .step("pages", { action: async (_ctx, { input }) => await searchWeb(input.question) })
  .step("answer", {
    action: async (_ctx, { input, pages }, { signal }) =>
      await answerFrom(pages, input.question, signal),
    timeout: "2m",
  })
  .finalize({ query: async (_ctx, { answer, pages }) => ({ text: answer, sources: pages }) });

/** An article: planned, its questions researched side by side, then written and revised until a reviewer is content. */
export const writeArticle = defineWorkflow({
  input: v.object({ topic: v.string() }),
  retry: { maxAttempts: 3, initialBackoffMs: 1_000, base: 2 },
  timeout: "1h",
})
  .step("questions", {
    action: async (_ctx, { input }, { signal }) => await planQuestions(input.topic, signal),
    timeout: "2m",
  })
  .parent("findings", {
    children: ({ questions }) => questions.map((question) => child(research, { question })),
    concurrency: 4,
    tolerate: { percentage: 50 },
    finalize: {
      query: async (_ctx, { children }) => children.flatMap((one) => (one.ok ? [one.output] : [])),
    },
  })
  .loop("draft", {
    initial: () => ({ text: "", notes: "", isGood: false }),
    body: (b) =>
      b
        .step("text", {
          action: async (_ctx, { input, findings, loop }, { signal }) => {
            const { text, notes } = loop.state;
            return await write({ topic: input.topic, findings, text, notes }, signal);
          },
          timeout: "5m",
        })
        .step("reviewed", {
          action: async (_ctx, { input, text }, { signal }) => ({
            text,
            ...(await review({ topic: input.topic, text }, signal)),
          }),
          timeout: "2m",
        }),
    until: ({ loop }) => loop.state.isGood || loop.iteration === MAX_DRAFTS,
    maxIterations: MAX_DRAFTS,
  })
  .finalize({
    mutation: async (ctx, { input, findings, draft }) =>
      await ctx.db.insert("articles", {
        topic: input.topic,
        text: draft.text,
        sources: findings.flatMap(({ sources }) => sources),
        isGood: draft.isGood,
      }),
  });
