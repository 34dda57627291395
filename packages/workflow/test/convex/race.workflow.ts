import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/* The first of several. Each case says in the log what it has done, and what is undone of it. */

const takes = async (ms: number) => await new Promise((resolve) => setTimeout(resolve, ms));

const contest = z.object({
  fastMs: z.number().default(100),
  slowMs: z.number().default(200),
  undoMs: z.number().default(0),
  fails: z.array(z.string()).default([]),
});

/** The fast case is one action. The slow one has done something that can be undone, and waits. */
export const contested = defineWorkflow({ input: contest })
  .step("before", {
    mutation: () => "before",
    compensate: {
      mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undo before" })),
    },
  })
  .race("first", {
    cases: {
      fast: (b) =>
        b.step("quick", {
          action: async (_ctx, { input, before }) => {
            await takes(input.fastMs);
            if (input.fails.includes("fast")) throw new Error(`fast after ${before}`);
            return 1;
          },
          compensate: {
            mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undo quick" })),
          },
        }),
      "slow one": (b) =>
        b
          .step("held", {
            mutation: () => "held",
            compensate: {
              action: async (ctx, { input, output, error }) => {
                await takes(input.undoMs);
                await ctx.runMutation(internal.app.log, { text: `undo ${output}: ${error.kind}` });
                if (input.fails.includes("undo")) throw new Error("cannot undo");
              },
            },
          })
          .step("late", {
            action: async (_ctx, { input, held }, info) => {
              await takes(input.slowMs);
              if (input.fails.includes("slow")) throw new Error(`slow when ${held}`);
              return (await info.isCanceled()) ? "too late" : "in time";
            },
            compensate: {
              mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undo late" })),
            },
          }),
    },
  })
  .step("after", {
    mutation: async (ctx, { input, first }) => {
      await ctx.db.insert("log", { text: `then ${first.case}` });
      const mended = (await ctx.db.query("log").collect()).some(({ text }) => text === "mended");
      if (input.fails.includes("then") && !mended) throw new Error("fails then");
      return first;
    },
  });

/** Each case ends in the transaction in which it begins. */
export const raceAtOnce = defineWorkflow({ input: z.object({}) }).race("first", {
  cases: {
    one: (b) =>
      b.step("said", {
        mutation: async (ctx) => void (await ctx.db.insert("log", { text: "one" })),
      }),
    two: (b) =>
      b.step("said", {
        mutation: async (ctx) => void (await ctx.db.insert("log", { text: "two" })),
      }),
  },
});

/** The case that loses has done as much as is said. */
export const wornRace = defineWorkflow({ input: z.object({ rounds: z.number() }) }).race("first", {
  cases: {
    fast: (b) => b.sleep("nap", 60_000),
    slow: (b) =>
      b
        .loop("work", {
          initial: () => 0,
          body: (c) => c.step("round", { mutation: (_ctx, { loop }) => loop.state + 1 }),
          until: ({ input, loop }) => loop.state >= input.rounds,
          maxIterations: 100,
        })
        .sleep("rest", "1h"),
  },
});

/** A child that can be undone. */
export const paysOnce = defineWorkflow({ input: z.object({}) }).step("pay", {
  mutation: async (ctx) => void (await ctx.db.insert("log", { text: "paid" })),
  compensate: { mutation: async (ctx) => void (await ctx.db.insert("log", { text: "refunded" })) },
});

/** What the losing case has done, in its branches and children too, stays done. */
export const keptContest = defineWorkflow({ input: z.object({ fails: z.boolean() }) })
  .race("first", {
    cases: {
      fast: (b) => b.sleep("nap", 300),
      slow: (b) =>
        b
          .step("held", {
            mutation: () => "held",
            compensate: {
              mutation: async (ctx, { error }) =>
                void (await ctx.db.insert("log", { text: `undo held: ${error.message}` })),
            },
          })
          .parallel("both", {
            branches: {
              paid: (c) => c.child("pays", paysOnce, () => ({})).sleep("rest", "1h"),
              waits: (c) => c.sleep("long", "1h"),
            },
          }),
    },
    compensateLosers: false,
  })
  .step("after", {
    mutation: (_ctx, { input, first }) => {
      if (input.fails) throw new Error("fails then");
      return first.case;
    },
  });

/** Takes the first end of any kind. */
export const firstEnd = defineWorkflow({
  input: z.object({ ms: z.number(), fails: z.boolean() }),
}).race("first", {
  cases: {
    works: (b) =>
      b.step("work", {
        action: async (_ctx, { input }) => {
          await takes(input.ms);
          if (input.fails) throw new Error("cannot work");
          return "worked";
        },
      }),
    lapses: (b) => b.sleep("nap", 500),
  },
  first: "any",
});

/** Takes too long, and recovers; in time if that is before the hour. */
export const hurriedRace = defineWorkflow({ input: z.object({ ms: z.number() }) }).race("slow", {
  cases: {
    sleeps: (b) => b.sleep("long", ({ input }) => input.ms).step("woken", { query: () => 1 }),
    holds: (b) =>
      b
        .step("held", {
          mutation: () => "held",
          compensate: {
            action: async (ctx) => {
              await takes(3_000);
              await ctx.runMutation(internal.app.log, { text: "undo held" });
            },
          },
        })
        .sleep("longest", "1 day"),
  },
  timeout: "2s",
  recover: (error) => ({ case: error.kind }),
});

/** Races in a loop, in items, and in one another. */
export const nestedRaces = defineWorkflow({
  input: z.object({ rows: z.array(z.array(z.number())) }),
}).loop("rounds", {
  initial: () => "",
  body: (b) =>
    b
      .each("rows", {
        of: ({ input }) => input.rows,
        body: (row) =>
          row.race("outer", {
            cases: {
              near: (c) =>
                c
                  .sleep("nap", ({ each }) => each.item[0] ?? 0)
                  .step("one", { query: (_ctx, { each, loop }) => `${loop.state}n${each.index}` }),
              far: (c) =>
                c.race("inner", {
                  cases: {
                    left: (d) => d.sleep("nap", ({ each }) => each.item[1] ?? 0),
                    right: (d) =>
                      d
                        .step("held", {
                          mutation: () => "held",
                          compensate: {
                            mutation: async (ctx, { each, loop }) =>
                              void (await ctx.db.insert("log", {
                                text: `undo ${loop.iteration} ${each.index}`,
                              })),
                          },
                        })
                        .sleep("rest", "1h"),
                  },
                }),
            },
          }),
      })
      .step("next", {
        query: (_ctx, { rows }) =>
          rows.map((row) => (row.case === "near" ? row.output : row.output.case)).join(),
      }),
  until: ({ loop }) => loop.iteration === 2,
  maxIterations: 2,
});

/** Bids of two sizes and a deadline; then one more bid of any size. */
export const bidden = defineWorkflow({ input: z.object({ firstMs: z.number() }) })
  .sleep("before", ({ input }) => input.firstMs)
  .race("settled", {
    cases: {
      small: (b) => b.event("bid", { schema: z.number(), match: (cents) => cents < 10 }),
      large: (b) =>
        b.race("inner", {
          cases: {
            bids: (c) => c.event("bid", { schema: z.number(), match: (cents) => cents >= 100 }),
            any: (c) => c.event("stop", { schema: z.string() }).sleep("rest", 100),
          },
        }),
      lapsed: (b) => b.sleep("rest", "1h"),
    },
  })
  .event("later", { anyOf: { bid: z.number() }, timeout: "1h" });

/** Losers with many items, which are canceled in pages: undone at once, or when the run fails. */
export const manyLose = defineWorkflow({ input: z.object({ many: z.number() }) })
  .race("first", {
    cases: {
      nap: (b) => b.sleep("short", "5s"),
      items: (b) =>
        b.each("all", {
          of: ({ input }) => Array.from({ length: input.many }, (_none, n) => n),
          body: (c) =>
            c
              .step("made", {
                mutation: (_ctx, { each }) => each.item,
                compensate: {
                  mutation: async (ctx, { output }) =>
                    void (await ctx.db.insert("log", { text: `undo first ${output}` })),
                },
              })
              .sleep("rest", "1h"),
        }),
    },
  })
  .step("between", {
    mutation: async (ctx) => void (await ctx.db.insert("log", { text: "between" })),
  })
  .race("second", {
    cases: {
      nap: (b) => b.sleep("short", "5s"),
      items: (b) =>
        b.each("all", {
          of: ({ input }) => Array.from({ length: input.many }, (_none, n) => n),
          body: (c) =>
            c
              .step("made", {
                mutation: (_ctx, { each }) => each.item,
                compensate: {
                  mutation: async (ctx, { output }) =>
                    void (await ctx.db.insert("log", { text: `undo second ${output}` })),
                },
              })
              .sleep("rest", "1h"),
        }),
    },
    compensateLosers: false,
  })
  .step("last", {
    mutation: () => {
      throw new Error("fails at the end");
    },
  });

/** A case that may end early; whichever wins, a match goes on with its own output. */
export const endedRace = defineWorkflow({ input: z.object({ early: z.boolean() }) })
  .race("first", {
    cases: {
      asked: (b) =>
        b
          .branch("which", {
            on: ({ input }) => (input.early ? "yes" : "no"),
            cases: { yes: (c) => c.end(() => ({ why: "early" })), no: (c) => c },
          })
          .sleep("long", "1h")
          .step("answered", { query: () => ({ why: "asked" }) }),
      late: (b) => b.sleep("short", "1m").step("minutes", { query: () => 1 }),
    },
  })
  .match("outcome", {
    of: "first",
    by: "case",
    cases: {
      asked: (b) => b.step("said", { query: (_ctx, { first }) => first.output.why }),
      late: (b) => b.end(({ first }) => ({ late: first.output + 1 })),
    },
  })
  .finalize({ query: (_ctx, { outcome }) => ({ said: outcome }) });
