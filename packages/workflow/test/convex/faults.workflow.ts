import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/* Workflows for what goes wrong on the way: a report that is not taken in, a wake-up that fails. */

/** An action that takes effect, and can be undone. */
export const pays = defineWorkflow({ input: z.object({}) })
  .step("pay", {
    action: async (ctx) => {
      await ctx.runMutation(internal.app.log, { text: "paid" });
      return "receipt";
    },
    retry: true,
    compensate: {
      mutation: async (ctx, { output }) => {
        await ctx.db.insert("log", { text: `refunded ${output}` });
      },
    },
  })
  .finalize({ query: (_ctx, { pay }) => pay });

/** Pays, and waits before it pays once more. An action undoes it. */
export const paysTwice = defineWorkflow({ input: z.object({}) })
  .step("pay", {
    action: async (ctx) => void (await ctx.runMutation(internal.app.log, { text: "paid" })),
    compensate: {
      action: async (ctx) => void (await ctx.runMutation(internal.app.log, { text: "refunded" })),
    },
  })
  .sleep("nap", "1h")
  .step("again", {
    action: async (ctx) => void (await ctx.runMutation(internal.app.log, { text: "paid again" })),
  });

/** The same in each iteration of a loop; what undoes it asks which iteration that was. */
export const paysOften = defineWorkflow({ input: z.object({}) }).loop("again", {
  initial: () => 0,
  body: (b) =>
    b.step("pay", {
      action: async (_ctx, { loop }) => loop.state + 1,
      compensate: {
        mutation: async (ctx, { output, loop }) => {
          await ctx.db.insert("log", { text: `refunded ${output} of iteration ${loop.iteration}` });
        },
      },
    }),
  until: ({ loop }) => loop.iteration === 3,
  maxIterations: 3,
});

/** Asks before it pays, and pauses until it is told to go on. */
export const asksOften = defineWorkflow({ input: z.object({}) }).loop("again", {
  initial: () => "nothing yet",
  body: (b) =>
    b
      .step("ask", {
        action: async (ctx, _scope, { runId }) =>
          void (await ctx.runMutation(internal.manager.pause, { runId })),
      })
      .step("pay", { action: async () => "receipt" }),
  until: ({ loop }) => loop.iteration === 2,
  maxIterations: 2,
});

/** Pays from two accounts in each iteration. */
export const paysInBranches = defineWorkflow({ input: z.object({}) }).loop("again", {
  initial: () => 0,
  body: (b) =>
    b
      .parallel("both", {
        branches: {
          card: (c) =>
            c.step("pay", {
              action: async (_ctx, { loop }) => `card ${loop.iteration}`,
              compensate: {
                mutation: async (ctx, { output, loop }) => {
                  const text = `refunded ${output} of iteration ${loop.iteration}`;
                  await ctx.db.insert("log", { text });
                },
              },
            }),
          points: (p) =>
            p.step("take", {
              mutation: async (_ctx, { loop }) => `points ${loop.state}`,
              compensate: {
                mutation: async (ctx, { output }) => {
                  await ctx.db.insert("log", { text: `gave back ${output}` });
                },
              },
            }),
        },
      })
      .step("next", { query: (_ctx, { loop }) => loop.state + 1 }),
  until: ({ loop }) => loop.iteration === 3,
  maxIterations: 3,
});

/** Books when it is told to; a booking can be undone. */
export const books = defineWorkflow({ input: z.object({ n: z.number() }) })
  .event("go", { schema: z.string() })
  .step("book", {
    mutation: internal.app.log,
    args: ({ input }) => ({ text: `booked ${input.n}` }),
    compensate: {
      mutation: internal.app.log,
      args: ({ input }) => ({ text: `canceled ${input.n}` }),
    },
  });

/** Three parts that do not depend on each other. */
export const travels = defineWorkflow({ input: z.object({}) })
  .parent("out", { children: () => [child(books, { n: 1 })] })
  .step("pay", {
    mutation: internal.app.log,
    args: () => ({ text: "paid" }),
    compensate: { mutation: internal.app.log, args: () => ({ text: "refunded" }) },
  })
  .parent("back", { children: () => [child(books, { n: 2 }), child(books, { n: 3 })] });

/** What it makes is not to be seen. */
export const whispered = defineWorkflow({ input: z.object({}) })
  .step("whisper", { action: async () => "s3cret", sensitive: true })
  .finalize({ query: (_ctx, { whisper }) => whisper.length });

/** Sleeps, and then does something. */
export const naps = defineWorkflow({ input: z.object({}) })
  .sleep("nap", "1h")
  .step("after", { mutation: internal.app.log, args: () => ({ text: "after" }) });

export const napping = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("all", {
  children: ({ input }) => Array.from({ length: input.of }, () => child(naps, {})),
  finalize: { query: (_ctx, { children }) => children.length },
});
