import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/* Events that are meant for one run, one iteration or one node, and not for each that could take them. */

const Payment = z.object({ order: z.string(), cents: z.number() });

/** Two nodes of one name: the first takes what is for its order, the second what is left. */
export const paid = defineWorkflow({ input: z.object({ order: z.string() }) })
  .event("payment", {
    schema: Payment,
    match: ({ order, cents }, { input }) => {
      if (cents < 0) throw new Error(`${cents} cents`);
      return order === input.order;
    },
  })
  .event("tip", {
    anyOf: { payment: Payment, refund: z.object({ cents: z.number() }) },
    match: { payment: ({ cents }) => cents < 100 },
    timeout: "1d",
  })
  .finalize({ query: async (_ctx, { payment, tip }) => ({ payment, tip }) });

/** One node alone, and what it matches with is an output. */
export const answeredTo = defineWorkflow({ input: z.object({}) })
  .step("question", { mutation: async () => "q7" })
  .event("answer", {
    schema: z.object({ to: z.string(), text: z.string() }),
    match: ({ to }, { question }) => to === question,
  })
  .step("text", { query: async (_ctx, { answer }) => answer.text });

/** Each iteration takes what is for it, in whatever order they come. */
export const numbered = defineWorkflow({ input: z.object({ of: z.number() }) }).loop("parts", {
  initial: (): string[] => [],
  body: (b) =>
    b
      .event("part", {
        schema: z.object({ number: z.number(), text: z.string() }),
        match: ({ number }, { loop }) => number === loop.state.length,
      })
      .step("add", { query: async (_ctx, { loop, part }) => [...loop.state, part.text] }),
  until: ({ loop, input }) => loop.state.length === input.of,
  maxIterations: 500,
});

/** In each iteration a race waits, and another in one of its cases. */
export const heard = defineWorkflow({ input: z.object({}) }).loop("lines", {
  initial: (): (string | number | null)[] => [],
  body: (b) =>
    b
      .race("next", {
        cases: {
          said: (c) => c.event("line", { schema: z.string() }),
          counted: (c) =>
            c.race("of", {
              cases: {
                part: (d) =>
                  d.event("part", {
                    schema: z.number(),
                    match: (number, { loop }) => number === loop.iteration,
                  }),
                none: (d) => d.sleep("silence", "1h"),
              },
            }),
        },
      })
      .step("add", {
        query: async (_ctx, { loop, next }) => [
          ...loop.state,
          next.case === "said" ? next.output : next.output.output,
        ],
      }),
  until: ({ loop }) => loop.iteration === 3,
  maxIterations: 3,
});

/** What it matches by is no boolean. */
export const unsure = defineWorkflow({ input: z.object({}) }).event("word", {
  schema: z.string(),
  match: () => Promise.resolve(true) as unknown as boolean,
});

/** Neither the payload nor what its `match` says of it is told. */
export const hushed = defineWorkflow({ input: z.object({}) }).event("word", {
  schema: z.string(),
  match: (word) => {
    throw new Error(`not ${word}`);
  },
  sensitive: true,
});
