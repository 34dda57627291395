import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/*
 * Workflows that somebody has written who did not write the run time, to see what it does not
 * expect.
 */

/** What it was told it tells itself once more. */
export const echoes = defineWorkflow({ input: z.object({}) })
  .event("word", { schema: z.number() })
  .step("said", {
    mutation: async (ctx, { word }, { runId }) => {
      await ctx.runMutation(internal.app.log, { text: `said ${word}` });
      await ctx.runMutation(internal.manager.sendEvent, {
        name: "echoes",
        run: runId,
        event: "word",
        payload: word + 1,
      });
    },
  })
  .event("again", { anyOf: { word: z.number() } })
  .finalize({ query: async (_ctx, { again }) => again.value });

/** Two of them throw a ball to each other, an iteration of each at a time. */
export const player = defineWorkflow({ input: z.object({ name: z.string(), throws: z.number() }) })
  .loop("game", {
    initial: () => 0,
    body: (b) =>
      b.event("ball", { schema: z.array(z.string()) }).step("thrown", {
        mutation: async (ctx, { ball, input, loop }) => {
          await ctx.runMutation(internal.app.log, { text: `${input.name} ${ball.length}` });
          const [to, ...rest] = ball;
          if (to !== undefined)
            await ctx.runMutation(internal.manager.sendEvent, {
              name: "player",
              run: to,
              event: "ball",
              payload: rest,
            });
          return loop.state + 1;
        },
      }),
    until: ({ loop, input }) => loop.state >= input.throws,
    maxIterations: 100,
  })
  .finalize({ query: async (_ctx, { game }) => game });

/** In its chosen case stands a branch whose chosen case is empty. */
export const choosy = defineWorkflow({ input: z.object({ asks: z.boolean() }) })
  .branch("outer", {
    on: () => "only" as const,
    cases: {
      only: (b) =>
        b
          .branch("inner", {
            on: ({ input }) => (input.asks ? "asks" : "none"),
            cases: {
              asks: (c) => c.event("answer", { schema: z.string() }),
              none: (c) => c,
            },
          })
          .sleep("rest", "1h"),
    },
  })
  .finalize({ query: async () => "done" });

/** Waits for a word; when none comes it says one itself. */
export const impatient = defineWorkflow({ input: z.object({}) })
  .event("word", { schema: z.string(), timeout: "1h" })
  .step("said", {
    mutation: async (ctx, { word }, { runId }) => {
      await ctx.runMutation(internal.app.log, { text: `said ${word.timedOut}` });
      await ctx.runMutation(internal.manager.sendEvent, {
        name: "impatient",
        run: runId,
        event: "word",
        payload: "own",
      });
    },
  })
  .event("again", { anyOf: { word: z.string() }, timeout: "1h" })
  .finalize({ query: async (_ctx, { word, again }) => ({ word, again }) });
