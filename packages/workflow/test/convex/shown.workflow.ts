import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { leaf } from "./parents.workflow";

/** Works for so long at each attempt, of which the first ones fail. */
export const labours = defineWorkflow({
  input: z.object({ ms: z.number(), goodAttempt: z.number().default(1) }),
}).step("work", {
  action: async (_ctx, { input }, { attempt }) => {
    await new Promise((resolve) => setTimeout(resolve, input.ms));
    if (attempt < input.goodAttempt) throw new Error("not yet");
    return attempt;
  },
  retry: { maxAttempts: 3, initialBackoffMs: 100, base: 1 },
});

/** What an agent's child asks. */
export const asks = defineWorkflow({ input: z.object({ question: z.string() }) })
  .event("answer", { anyOf: { yes: z.string(), no: z.string() }, timeout: "1h" })
  .finalize({ query: (_ctx, { answer }) => (answer.timedOut ? "nothing" : answer.event.value) });

export const asksQuietly = defineWorkflow({ input: z.object({}) }).event("answer", {
  anyOf: { yes: z.string(), no: z.string() },
  sensitive: true,
});

export const agent = defineWorkflow({
  input: z.object({
    questions: z.array(z.string()),
    rounds: z.number().default(1),
    /** How long each question is made. */
    length: z.number().default(0),
  }),
}).loop("turns", {
  initial: () => 0,
  body: (b) =>
    b
      .parent("research", {
        children: ({ input }) =>
          input.questions.map((one) => child(asks, { question: one.padEnd(input.length, "?") })),
        tolerate: "all",
      })
      .child("sure", asks, () => ({ question: "Are you sure?" }))
      .step("next", { mutation: (_ctx, { loop }) => loop.state + 1 }),
  until: ({ loop, input }) => loop.iteration >= input.rounds,
  maxIterations: 10,
});

/** Children by key, each of which starts an agent. */
export const desk = defineWorkflow({ input: z.object({ note: z.string() }) }).parent("rooms", {
  children: () => ({
    left: child(agent, { questions: ["Left?"] }),
    right: child(agent, { questions: ["Right?", "Really?"] }),
  }),
});

const word = { schema: z.string(), timeout: "1h" } as const;

/** Waits in a branch, a case and an item, each of which is a run of its own. */
export const asksInside = defineWorkflow({
  input: z.object({ question: z.string(), pin: z.string() }),
  sensitive: ["input.pin"],
}).parallel("all", {
  branches: {
    left: (b) => b.event("first", word),
    right: (b) =>
      b.race("either", {
        cases: { ask: (c) => c.event("second", word), rest: (c) => c.sleep("nap", "2h") },
      }),
    list: (b) => b.each("items", { of: () => ["a"], body: (c) => c.event("third", word) }),
  },
});

/** One child fails at once, and stops its siblings: those that work, and those that wait. */
export const stopped = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_, n) =>
      child(leaf, { n, ms: n === 1 ? 100 : 60_000, fails: n === 1 }),
    ),
  concurrency: 3,
});
