import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/* Workflows with an `.end`. */

const Lead = z.object({
  score: z.number().default(20),
  tries: z.number().default(9),
  fails: z.boolean().default(false),
  secret: z.string().default(""),
});

/** Ends in a case, in an iteration inside of another branch, or not before its finalize. */
export const lead = defineWorkflow({
  input: Lead,
  onEnd: {
    mutation: async (ctx, { run }) => {
      await ctx.db.insert("log", { text: `${run.state} ${JSON.stringify(run.output)}` });
    },
  },
})
  .step("taken", {
    mutation: (_ctx, { input }) => input.score,
    compensate: {
      mutation: async (ctx) => {
        await ctx.db.insert("log", { text: "undo taken" });
      },
    },
  })
  .branch("early", {
    on: ({ taken }) => (taken < 10 ? "low" : "high"),
    cases: {
      low: (b) =>
        b.end(({ taken, input }) => {
          if (input.fails) throw new Error("no end");
          return { state: "low", taken };
        }),
      high: (b) => b.step("checked", { action: (_ctx, { taken }) => taken + 1 }),
    },
  })
  .loop("search", {
    initial: () => ({ n: 0 }),
    body: (b) =>
      b
        .sleep("rest", "1m")
        .branch("enough", {
          on: ({ loop, input }) => (loop.state.n >= input.tries ? "stop" : "next"),
          cases: {
            stop: (c) => c.end(({ loop, early }) => ({ state: "tried", n: loop.state.n, early })),
            next: (c) => c,
          },
        })
        .step("made", { mutation: (_ctx, { loop }) => ({ n: loop.state.n + 1 }) }),
    until: ({ loop }) => loop.state.n === 3,
    maxIterations: 9,
    timeout: "1h",
  })
  .step("after", {
    mutation: async (ctx, { early, search }) => {
      await ctx.db.insert("log", { text: "after" });
      return [early, search.n];
    },
  })
  .finalize({ query: (_ctx, { after }) => ({ state: "found", after }) });

/** A branch and an item end by themselves; the run goes on. */
export const parted = defineWorkflow({ input: z.object({ tags: z.array(z.string()) }) })
  .parallel("both", {
    branches: {
      short: (b) =>
        b
          .branch("at", {
            on: ({ input }) => (input.tags.length > 1 ? "many" : "few"),
            cases: { many: (c) => c.end(({ input }) => input.tags.length), few: (c) => c },
          })
          .sleep("rest", "1h")
          .step("one", { query: () => "one" }),
      long: (b) => b.sleep("settle", "1m").step("two", { query: () => "two" }),
    },
  })
  .each("tagged", {
    of: ({ input }) => input.tags,
    body: (b) =>
      b
        .branch("empty", {
          on: ({ each }) => (each.item === "" ? "yes" : "no"),
          cases: { yes: (c) => c.end(({ each }) => `none at ${each.index}`), no: (c) => c },
        })
        .step("tag", { query: (_ctx, { each }) => each.item }),
  })
  .finalize({ query: (_ctx, { both, tagged }) => ({ both, tagged }) });

/** Its own end, and what that reads is sensitive. */
export const endsWithSecret = defineWorkflow({ input: Lead, sensitive: ["input.secret"] })
  .step("before", { query: () => "before" })
  .end(({ before, input }) => [before, input.secret]);

/** What it ends with is too large for its record, or a promise. */
export const misended = defineWorkflow({ input: z.object({ how: z.enum(["large", "late"]) }) })
  .step("taken", {
    mutation: () => 1,
    compensate: {
      mutation: async (ctx) => {
        await ctx.db.insert("log", { text: "undo taken" });
      },
    },
  })
  .branch("which", {
    on: ({ input }) => input.how,
    cases: {
      large: (b) => b.end(() => "x".repeat(1_100_000)),
      // The types refuse it, so does the compiler where it sees it, and so does the run time.
      late: (b) => b.end([async () => 1].at(0) as never),
    },
  });

/** So much is done before its end that this comes in a transaction of its own. */
export const filled = defineWorkflow({ input: z.object({ rest: z.number().default(0) }) })
  .loop("fill", {
    initial: () => 0,
    body: (b) => b.step("more", { query: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop }) => loop.state === 19,
    maxIterations: 20,
  })
  .branch("full", {
    on: () => "yes",
    cases: { yes: (b) => b.end(({ fill }) => `filled by ${fill}`) },
  });

/** A loop whose state is what a branch ends with, which reads that loop. */
export const spun = defineWorkflow({ input: z.object({}) }).loop("rounds", {
  state: z.object({ both: z.object({ one: z.number() }) }),
  initial: () => ({ both: { one: 0 } }),
  body: (b) =>
    b
      .parallel("both", { branches: { one: (c) => c.end(({ loop }) => loop.state.both.one + 1) } })
      .parallel("again", {
        branches: {
          both: (c) =>
            c.parallel("inner", {
              branches: { one: (d) => d.end(({ loop, both }) => loop.state.both.one + both.one) },
            }),
        },
      }),
  until: ({ loop }) => loop.iteration === 2,
  maxIterations: 3,
});
