import { child, defineWorkflow } from "@stepwise/workflow";
import { ConvexError } from "convex/values";
import { z } from "zod";
import { internal } from "./_generated/api";
import { pause } from "./adversarial.workflow";
import { leaf } from "./parents.workflow";

/* Workflows that are undone, with what they had under them, at a bad moment. */

/** Does something, which takes a minute to undo, and then goes on for as long as it is told. */
export const booking = defineWorkflow({
  input: z.object({ n: z.number(), ms: z.number().default(0), fails: z.boolean().default(false) }),
})
  .step("book", {
    mutation: async (ctx, { input }) => {
      await ctx.db.insert("log", { text: `book ${input.n}` });
      return input.n;
    },
    compensate: {
      action: async (ctx, { output }) => {
        await ctx.runMutation(internal.app.log, { text: `unbooking ${output}` });
        await pause(60_000);
        await ctx.runMutation(internal.app.log, { text: `unbooked ${output}` });
      },
    },
  })
  .sleep("wait", ({ input }) => input.ms)
  .step("after", {
    query: (_ctx, { input }) => {
      if (input.fails) throw new Error(`booking ${input.n} fails`);
      return input.n;
    },
  });

export const bookings = z.array(
  z.object({ n: z.number(), ms: z.number().optional(), fails: z.boolean().optional() }),
);

/** Does something itself, then has children that do. */
export const tour = defineWorkflow({
  input: z.object({
    bookings,
    concurrency: z.number().default(1_000),
    fails: z.boolean().default(false),
  }),
})
  .step("own", {
    mutation: async (ctx) => void (await ctx.db.insert("log", { text: "own" })),
    compensate: {
      mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undo own" })),
    },
  })
  .parent("all", {
    children: ({ input }) => input.bookings.map((one) => child(booking, one)),
    finalize: { query: (_ctx, { children }) => children.length },
  })
  .step("last", {
    query: (_ctx, { input }) => {
      if (input.fails) throw new Error("the tour fails");
      return null;
    },
  });

/** A tour as a child, in every iteration of a loop. */
export const season = defineWorkflow({ input: z.object({ iterations: z.number() }) })
  .loop("again", {
    initial: () => 0,
    body: (b) =>
      b
        .child("one", tour, ({ loop }) => ({ bookings: [{ n: 10 * loop.iteration }] }))
        .parent("two", {
          children: ({ loop }) => [
            child(booking, { n: 10 * loop.iteration + 1 }),
            child(booking, { n: 10 * loop.iteration + 2, ms: 1_000 }),
          ],
        })
        .step("n", { query: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 100,
  })
  .step("last", {
    query: (): null => {
      throw new Error("the season fails");
    },
  });

/** One booking, and very many children that take an hour, two at a time; one of them fails. */
export const crowd = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_, n) =>
      n === 0
        ? child(booking, { n })
        : child(leaf, { n, fails: n === 1, ms: n === 1 ? 10_000 : 3_600_000 }),
    ),
  concurrency: 2,
  finalize: { query: (_ctx, { children }) => children.length },
});

/** As many things as it is told cannot be undone, and the reasons are long. */
export const stubborn = defineWorkflow({
  input: z.object({
    iterations: z.number(),
    bytes: z.number(),
    in: z.enum(["action", "mutation"]),
  }),
})
  .loop("again", {
    initial: () => 0,
    body: (b) =>
      b.branch("how", {
        on: ({ input }) => input.in,
        cases: {
          action: (c) =>
            c.step("a", {
              query: (_ctx, { loop }) => loop.iteration,
              compensate: {
                action: (_ctx, { output, input }): null => {
                  throw new ConvexError({ output, text: "x".repeat(input.bytes) });
                },
              },
            }),
          mutation: (c) =>
            c.step("m", {
              query: (_ctx, { loop }) => loop.iteration,
              compensate: {
                mutation: (_ctx, { output, input }): null => {
                  throw new ConvexError({ output, text: "x".repeat(input.bytes) });
                },
              },
            }),
        },
      }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 100,
  })
  .step("last", {
    query: (): null => {
      throw new Error("it fails");
    },
  });

/** What is undone of an iteration reads what else the iteration has made. */
export const manyIterations = defineWorkflow({ input: z.object({ iterations: z.number() }) })
  .loop("again", {
    initial: () => "start",
    body: (b) =>
      b.step("a", { query: (_ctx, { loop }) => `a${loop.iteration}` }).step("b", {
        query: (_ctx, { loop }) => `b${loop.iteration}`,
        compensate: {
          mutation: async (ctx, { a, output }) => {
            await ctx.db.insert("log", { text: `${a} ${output}` });
          },
        },
      }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 1_000,
  })
  .step("last", {
    query: (): null => {
      throw new Error("it fails");
    },
  });

/** Many tours, each a run with runs under it. */
export const tours = defineWorkflow({ input: z.object({ of: z.number(), bookings }) }).parent(
  "all",
  {
    children: ({ input }) =>
      Array.from({ length: input.of }, () => child(plainTour, { bookings: input.bookings })),
    concurrency: 1_000,
  },
);
export const plainTour = defineWorkflow({ input: z.object({ bookings }) }).parent("all", {
  children: ({ input }) => input.bookings.map((one) => child(booking, one)),
});

/** Is undone, which takes a minute, or is over after an hour. */
export const timedBooking = defineWorkflow({ input: z.object({}), timeout: "1h" })
  .step("book", {
    mutation: () => null,
    compensate: { action: async () => await pause(60_000) },
  })
  .sleep("wait", "1 day");
