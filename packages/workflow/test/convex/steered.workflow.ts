import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { quick } from "./large.workflow";
import { leaf, leaves } from "./parents.workflow";

/* Workflows to be watched, paused, restarted and removed. */

/** Writes down that its nodes ran. `d` fails until the log says that all is mended. */
export const chain = defineWorkflow({
  input: z.object({ fails: z.boolean().default(false) }),
})
  .step("a", {
    action: async (ctx, _scope, info) => {
      await ctx.runMutation(internal.app.log, { text: "a" });
      return info.idempotencyKey;
    },
  })
  .step("b", {
    mutation: async (ctx, { a }) => {
      await ctx.db.insert("log", { text: "b" });
      return `b after ${a}`;
    },
  })
  .step("c", {
    action: async (ctx, { input }) => {
      await ctx.runMutation(internal.app.log, { text: "c" });
      return input.fails;
    },
  })
  .step("d", {
    mutation: async (ctx, { b, c }) => {
      const log = await ctx.db.query("log").collect();
      if (c && !log.some(({ text }) => text === "mended")) throw new Error("d fails");
      await ctx.db.insert("log", { text: "d" });
      return { b, c };
    },
  })
  .finalize({ query: async (_ctx, { d }) => d.b });

/** Of two things that are done, one is undone when the last fails. */
export const booked = defineWorkflow({ input: z.object({ well: z.boolean().default(true) }) })
  .step("look", {
    action: async (ctx) => {
      await ctx.runMutation(internal.app.log, { text: "look" });
      return "seen";
    },
  })
  .branch("how", {
    on: ({ input }) => (input.well ? "well" : "badly"),
    cases: {
      well: (b) =>
        b.step("book", {
          mutation: async (ctx) => {
            await ctx.db.insert("log", { text: "book" });
            return 1;
          },
          compensate: {
            mutation: async (ctx) => void (await ctx.db.insert("log", { text: "unbook" })),
          },
        }),
      badly: (b) => b.step("never", { query: async () => 2 }),
    },
  })
  .step("pay", {
    mutation: async (ctx) => {
      const log = await ctx.db.query("log").collect();
      if (!log.some(({ text }) => text === "mended")) throw new Error("no pay");
      return "paid";
    },
  });

/** Everything that can wait, one after the other. */
export const patient = defineWorkflow({ input: z.object({ leaves }) })
  .step("slow", {
    action: async () => {
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      return "slow";
    },
  })
  .step("noted", { mutation: internal.app.log, args: ({ slow }) => ({ text: `noted ${slow}` }) })
  .sleep("rest", "1h")
  .event("decision", { schema: z.string(), timeout: "2h" })
  .parent("all", {
    children: ({ input }) => input.leaves.map((one) => child(leaf, one)),
    finalize: {
      action: async (_ctx, { children }) => {
        await new Promise((resolve) => setTimeout(resolve, 60_000));
        return children;
      },
    },
  })
  .finalize({ query: async (_ctx, { decision, all }) => ({ decision, all }) });

/**
 * Two nodes of one event with different schemas, in a loop and after it, and one in a case that is
 * not chosen.
 */
export const told = defineWorkflow({
  input: z.object({ iterations: z.number(), loud: z.boolean().default(false) }),
})
  .loop("ask", {
    initial: () => "",
    body: (b) =>
      b
        .event("answer", { schema: z.object({ text: z.string() }) })
        .step("said", { mutation: async (_ctx, { answer }) => answer.text }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 10,
  })
  .branch("how", {
    on: ({ input }) => (input.loud ? "loudly" : "quietly"),
    cases: {
      quietly: (b) => b.sleep("rest", "1h").step("rested", { query: async () => null }),
      loudly: (b) => b.event("shout", { schema: z.string() }),
    },
  })
  .event("last", { anyOf: { answer: z.object({ text: z.string(), n: z.number().default(7) }) } })
  .finalize({ query: async (_ctx, { ask, last }) => ({ ask, last: last.value }) });

/** A secret, read by an action and given by an event. */
export const secretive = defineWorkflow({ input: z.object({}) })
  .step("token", {
    mutation: async () => "s3cret",
    sensitive: true,
  })
  .step("used", { action: async (_ctx, { token }) => token.length, sensitive: true })
  .step("open", { query: async (_ctx, { used }) => used });

/** Pauses itself, and then goes on. */
export const pausesItself = defineWorkflow({ input: z.object({ first: z.boolean() }) })
  .step("before", { action: async () => null })
  .step("paused", {
    mutation: async (ctx, _scope, { runId }) => {
      await ctx.db.insert("log", { text: "pausing" });
      await ctx.runMutation(internal.manager.pause, { runId });
    },
  })
  .step("after", { mutation: internal.app.log, args: () => ({ text: "after" }) });

/** Keeps more than one query can read. */
export const hoards = defineWorkflow({ input: z.object({}) })
  .step("one", { action: async () => "x".repeat(900_000) })
  .step("two", { action: async () => "x".repeat(900_000) })
  .step("three", { action: async () => "x".repeat(900_000) })
  .step("four", { action: async () => "x".repeat(900_000) })
  .step("five", { action: async () => "x".repeat(900_000) })
  .step("six", { action: async () => "x".repeat(900_000) })
  .step("seven", { action: async () => "x".repeat(900_000) })
  .step("eight", { action: async () => "x".repeat(900_000) });

/** A node of each kind that reads the input alone, between two that do not. */
export const varied = defineWorkflow({ input: z.object({ n: z.number() }) })
  .step("first", { mutation: internal.app.log, args: () => ({ text: "first" }) })
  .branch("route", {
    on: ({ input }) => (input.n > 0 ? "up" : "down"),
    cases: {
      up: (b) => b.step("x", { mutation: internal.app.log, args: () => ({ text: "x" }) }),
      down: (b) => b.sleep("rest", "1s"),
    },
  })
  .loop("count", {
    initial: () => 0,
    body: (b) =>
      b.step("add", {
        mutation: async (ctx, { loop }) => {
          await ctx.db.insert("log", { text: "add" });
          return loop.state + 1;
        },
      }),
    until: ({ loop }) => loop.state === 2,
    maxIterations: 5,
  })
  .child("one", leaf, ({ input }) => ({ n: input.n }))
  .parent("gathered", { children: ({ input }) => [child(leaf, { n: input.n })] })
  .parent("handled", {
    action: async (ctx) => void (await ctx.runMutation(internal.app.log, { text: "handled" })),
    children: ({ input }) => [child(leaf, { n: input.n })],
    finalize: { action: async (_ctx, { children }) => children },
  })
  .parent("reduced", {
    children: ({ input }) => [child(leaf, { n: input.n })],
    reduce: { initial: 0, step: (sum, n) => sum + n },
  })
  .step("acted", {
    action: async (ctx) => void (await ctx.runMutation(internal.app.log, { text: "acted" })),
  })
  .finalize({
    query: async (_ctx, { first, count, one, gathered, handled, reduced }) => ({
      first,
      count,
      one,
      gathered,
      handled,
      reduced,
    }),
  });

/** Runs of it are kept for ten minutes. */
export const brief = defineWorkflow({
  input: z.object({ leaves, ms: z.number().default(0) }),
  retention: "10m",
})
  .sleep("rest", ({ input }) => input.ms)
  .parent("all", { children: ({ input }) => input.leaves.map((one) => child(leaf, one)) });

/** Each iteration has children. */
export const crowded = defineWorkflow({
  input: z.object({ iterations: z.number(), of: z.number() }),
}).loop("count", {
  initial: () => 0,
  body: (b) =>
    b
      .parent("all", {
        children: ({ input }) => Array.from({ length: input.of }, (_, n) => child(quick, { n })),
      })
      .step("next", { mutation: async (_ctx, { loop }) => loop.state + 1 }),
  until: ({ loop, input }) => loop.iteration >= input.iterations,
  maxIterations: 1_000,
});

/** Fails, and takes a minute to undo what it has done. */
export const slowlyUndone = defineWorkflow({ input: z.object({}) })
  .step("done", {
    mutation: async () => null,
    compensate: {
      action: async () => {
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      },
    },
  })
  .step("fails", {
    action: async (): Promise<null> => {
      throw new Error("it fails");
    },
  });

export const lenient = defineWorkflow({ input: z.object({}) }).parent("some", {
  children: () => [child(slowlyUndone, {})],
  tolerate: "all",
  finalize: {
    mutation: async (_ctx, { children }) =>
      children.map((one) => (one.ok ? "ok" : one.error.message)),
  },
});

/** A parent that may take ten minutes in all, from its handler on. */
export const timed = defineWorkflow({ input: z.object({ n: z.number() }) }).parent("all", {
  action: async () => null,
  timeout: "10m",
  children: ({ input }) => [child(leaf, { n: input.n })],
});

/** All of it is skipped in one transaction: no node of it leaves a record but the branch. */
export const unmoved = defineWorkflow({ input: z.object({ n: z.number().default(1) }) }).branch(
  "route",
  {
    on: ({ input }) => (input.n > 0 ? "up" : "down"),
    cases: {
      up: (b) => b.sleep("none", 0),
      down: (b) => b.sleep("some", 1),
    },
  },
);

/** A parent with a time of its own, in a run that has one. */
export const watched = defineWorkflow({ input: z.object({}), timeout: "1h" }).parent("all", {
  children: () => [child(dozes, {})],
  timeout: "10m",
});

export const dozes = defineWorkflow({ input: z.object({}) }).sleep("doze", "1d");
