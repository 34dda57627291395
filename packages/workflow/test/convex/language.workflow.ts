import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf } from "./parents.workflow";

/* Options that every kind of node takes alike: references, recover, timeouts. */

/** Its finalizes are functions of the app, of every kind. */
export const referencedFinalize = defineWorkflow({ input: z.object({ n: z.number() }) })
  .parent("byMutation", {
    children: ({ input }) => [child(leaf, { n: input.n }), child(leaf, { n: input.n + 1 })],
    finalize: { mutation: internal.totals.noted, args: ({ children }) => ({ values: children }) },
  })
  .parent("byAction", {
    action: async (_ctx, { input }) => input.n * 100,
    children: ({ output }) => [child(leaf, { n: output })],
    finalize: {
      action: internal.totals.slowly,
      args: ({ output, children }, info) => ({
        values: [output, ...children],
        key: info.idempotencyKey,
      }),
      retry: { maxAttempts: 2, initialBackoffMs: 10, base: 1 },
    },
  })
  .parent("byQuery", {
    children: ({ input }) => [child(leaf, { n: input.n })],
    finalize: {
      query: internal.totals.counted,
      args: ({ children }) => ({ count: children.length }),
    },
  })
  .finalize({
    mutation: internal.totals.noted,
    args: ({ byMutation, byAction, byQuery }) => ({ values: [byMutation, byAction, byQuery] }),
  });

/** How long it waits depends on what came before. */
export const patiently = defineWorkflow({
  input: z.object({ wait: z.union([z.number(), z.string()]), until: z.number().optional() }),
})
  .step("before", { query: async (_ctx, { input }) => input.wait })
  .event("answer", {
    schema: z.string(),
    timeout: ({ input, before }) =>
      input.until === undefined ? (before as number) : new Date(input.until),
  })
  .finalize({ query: async (_ctx, { answer }) => (answer.timedOut ? "late" : answer.event) });

export const recovered = defineWorkflow({ input: z.object({ fails: z.boolean() }) })
  .child("alone", leaf, ({ input }) => ({ n: 1, fails: input.fails }), {
    recover: (error, { input }) => ({ kind: error.kind, cause: error.cause?.message, ...input }),
  })
  .step("after", { query: async (_ctx, { alone }) => alone });

export const where = z.enum([
  "handler",
  "children",
  "input",
  "child",
  "finalize",
  "recover",
  "time",
]);

/** A parent that fails where the input says. */
export const recoveredParent = defineWorkflow({
  input: z.object({ at: where.optional() }),
  retry: true,
})
  .parent("all", {
    mutation: async (ctx, { input }) => {
      await ctx.db.insert("log", { text: "handled" });
      if (input.at === "handler") throw new Error("the handler fails");
      return 2;
    },
    recover: (error, { input }) => {
      if (input.at === "recover") throw new Error("the recover fails");
      return `${error.kind} at ${error.node}`;
    },
    timeout: "1h",
    children: ({ input, output }) => {
      if (input.at === "children") throw new Error("there are no children");
      return [
        child(leaf, { n: input.at === "input" ? ("none" as never) : output }),
        child(leaf, {
          n: 1,
          fails: input.at === "child" || input.at === "recover",
          ms: input.at === "time" ? 2 * 60 * 60_000 : 1_000,
        }),
        child(leaf, { n: 3, ms: 5_000 }),
      ];
    },
    finalize: {
      mutation: async (_ctx, { input, children }) => {
        if (input.at === "finalize") throw new Error("the finalize fails");
        return children.length;
      },
    },
  })
  .step("after", { query: async (_ctx, { all }) => ({ all }) });

/** The same with actions, which report in transactions of their own. */
export const recoveredActions = defineWorkflow({ input: z.object({ at: where.optional() }) }).loop(
  "iterations",
  {
    initial: () => "",
    body: (b) =>
      b
        .parent("all", {
          action: async (_ctx, { input }) => {
            if (input.at === "handler") throw new Error("the handler fails");
            if (input.at === "time") await new Promise((done) => setTimeout(done, 60 * 60_000));
          },
          recover: (error, { loop }) => `${loop.state}${error.kind} at ${error.node};`,
          timeout: "10m",
          children: ({ input }) => [child(leaf, { n: 1, fails: input.at === "child" })],
          finalize: {
            action: async (_ctx, { input }) => {
              if (input.at === "finalize") throw new Error("the finalize fails");
              return "well";
            },
          },
        })
        .step("kept", { query: async (_ctx, { all }) => all }),
    until: ({ loop }) => loop.iteration === 2,
    maxIterations: 2,
  },
);

/** What children did before their parent recovered is undone with the run. */
export const recoveredThenUndone = defineWorkflow({ input: z.object({}) })
  .parent("orders", {
    children: () => [child(bookedOrder, { fails: false }), child(bookedOrder, { fails: true })],
    recover: () => null,
  })
  .step("fails", {
    mutation: () => {
      throw new Error("too bad");
    },
  });

export const bookedOrder = defineWorkflow({ input: z.object({ fails: z.boolean() }) })
  .step("book", {
    mutation: async (ctx) => void (await ctx.db.insert("log", { text: "booked" })),
    compensate: { mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undone" })) },
  })
  .step("work", {
    action: async (_ctx, { input }) => {
      await new Promise((done) => setTimeout(done, 1_000));
      if (input.fails) throw new Error("it fails");
    },
  });

/** Iterations of a minute each, and an hour for all of them. */
export const limitedLoop = defineWorkflow({
  input: z.object({ iterations: z.number(), inChild: z.boolean().default(false) }),
})
  .step("first", {
    mutation: async () => null,
    compensate: { mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undone" })) },
  })
  .loop("poll", {
    initial: () => 0,
    body: (b) =>
      b
        .branch("how", {
          on: ({ input }) => (input.inChild ? "child" : "sleep"),
          cases: {
            child: (c) => c.child("work", leaf, () => ({ n: 1, ms: 70_000 })),
            sleep: (c) => c.sleep("pause", "1m"),
          },
        })
        .step("count", { query: async (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop, input }) => loop.iteration === input.iterations,
    maxIterations: 1_000,
    timeout: "1h",
  })
  .sleep("long", "2h");
