import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { sleeper } from "./nodes.workflow";

/* Workflows for single promises that only one line of the run time keeps. */

/**
 * Takes a minute to undo what it has done. Where it is canceled at the first event, it has not come
 * to the second.
 */
export const regretted = defineWorkflow({ input: z.object({}) })
  .step("done", {
    mutation: async () => null,
    compensate: {
      action: async () => {
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      },
    },
  })
  .event("first", { schema: z.string() })
  .event("second", { schema: z.string() });

/** Each iteration has a parent with a time of its own. */
export const timedIterations = defineWorkflow({ input: z.object({ ms: z.number() }) }).loop(
  "again",
  {
    initial: () => 0,
    body: (b) =>
      b
        .parent("all", {
          children: ({ input }) => [child(sleeper, { ms: input.ms })],
          timeout: "10m",
        })
        .step("next", { mutation: async (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop }) => loop.state === 3,
    maxIterations: 3,
  },
);

/** Children that sleep for an hour, ten of them at a time. */
export const tenAtOnce = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.of }, () => child(sleeper, { ms: 60 * 60_000 })),
  concurrency: 10,
});

/** Its key is whatever it is started with. */
export const anyKey = defineWorkflow({ input: z.object({ key: z.string() }) }).branch("way", {
  on: ({ input }) => asCase(input.key),
  cases: {
    left: (b) => b.step("wentLeft", { query: async () => "left" }),
    right: (b) => b.step("wentRight", { query: async () => "right" }),
  },
});

/** A boolean is no key, which types do not tell of what is `any`. */
export const flagKey = defineWorkflow({ input: z.object({ flag: z.any() }) }).branch("way", {
  on: ({ input }) => input.flag,
  cases: { true: (b) => b.step("went", { query: async () => "went" }) },
});

/** What the types would have refused. */
function asCase(key: string): "left" | "right" {
  return key as "left" | "right";
}

export const oneAction = defineWorkflow({ input: z.object({}) }).step("a", {
  action: async () => 1,
});
export const twoActions = defineWorkflow({ input: z.object({}) })
  .step("a", { action: async () => 1 })
  .step("b", { action: async (_ctx, { a }) => a + 1 });
export const fiveActions = defineWorkflow({ input: z.object({}) })
  .step("a", { action: async () => 1 })
  .step("b", { action: async (_ctx, { a }) => a + 1 })
  .step("c", { action: async (_ctx, { b }) => b + 1 })
  .step("d", { action: async (_ctx, { c }) => c + 1 })
  .step("e", { action: async (_ctx, { d }) => d + 1 });

/** Has a child of so many steps, or none. */
export const employs = defineWorkflow({
  input: z.object({ steps: z.enum(["none", "one", "two", "five"]) }),
}).branch("how", {
  on: ({ input }) => input.steps,
  cases: {
    none: (b) => b.step("nothing", { query: async () => 0 }),
    one: (b) => b.child("child", oneAction, () => ({})),
    two: (b) => b.child("child", twoActions, () => ({})),
    five: (b) => b.child("child", fiveActions, () => ({})),
  },
});

/** Reads a page of 10 kB in each iteration, and keeps a count. */
export const readsPages = defineWorkflow({ input: z.object({ pages: z.number() }) }).loop("read", {
  initial: () => 0,
  body: (b) =>
    b
      .step("page", { query: async (_ctx, { loop }) => `${loop.iteration}`.padEnd(10_000, "x") })
      .step("counted", { mutation: async (_ctx, { loop, page }) => loop.state + page.length }),
  until: ({ loop, input }) => loop.iteration >= input.pages,
  maxIterations: 100_000,
});

/**
 * Ten iterations that together use more than a transaction has of something, though each takes only
 * a part.
 */
export const uses = defineWorkflow({
  input: z.object({ what: z.enum(["documents read", "documents written", "queries", "jobs"]) }),
})
  .step("filled", {
    mutation: async (ctx) => {
      for (let n = 0; n < 4_000; n++) await ctx.db.insert("ballast", { bytes: "" });
    },
  })
  .loop("again", {
    initial: () => null,
    body: (b) =>
      b.step("use", {
        mutation: async (ctx, { input: { what } }) => {
          const ballast = () => ctx.db.query("ballast");
          if (what === "documents read") await ballast().take(4_000);
          if (what === "documents written")
            for (let n = 0; n < 2_000; n++) await ctx.db.insert("ballast", { bytes: "" });
          if (what === "queries") for (let n = 0; n < 600; n++) await ballast().first();
          if (what === "jobs")
            for (let n = 0; n < 150; n++)
              await ctx.scheduler.runAfter(0, internal.app.log, { text: "scheduled" });
        },
      }),
    until: ({ loop }) => loop.iteration === 10,
    maxIterations: 10,
  });
