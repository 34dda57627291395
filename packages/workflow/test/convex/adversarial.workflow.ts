import { child, defineWorkflow } from "@stepwise/workflow";
import { ConvexError } from "convex/values";
import { z } from "zod";
import { internal } from "./_generated/api";
import { quick } from "./large.workflow";
import { leaf } from "./parents.workflow";

/* Workflows that meet each other, or the limits of the platform, at a bad moment. */

export async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits for an event for some weeks, then for another. */
export const answered = defineWorkflow({ input: z.object({}) })
  .event("first", { schema: z.string(), timeout: "20 days" })
  .event("second", { anyOf: { first: z.string(), second: z.string() }, timeout: "1h" })
  .finalize({ query: (_ctx, { first, second }) => ({ first, second }) });

/** What its children make is reduced to so many bytes. */
export const bulkyFold = defineWorkflow({
  input: z.object({ bytes: z.number(), finalize: z.enum(["none", "query", "action"]) }),
}).branch("how", {
  on: ({ input }) => input.finalize,
  cases: {
    none: (b) =>
      b.parent("all", {
        children: () => [child(quick, { n: 1 })],
        reduce: { initial: "", step: (text) => text.padEnd(600_000, "x") },
      }),
    query: (b) =>
      b.parent("all", {
        children: () => [child(quick, { n: 1 })],
        reduce: { initial: "", step: (text) => text.padEnd(600_000, "x") },
        finalize: { query: (_ctx, { children }) => children },
      }),
    action: (b) =>
      b.parent("all", {
        children: () => [child(quick, { n: 1 })],
        reduce: { initial: "", step: (text) => text.padEnd(600_000, "x") },
        finalize: { action: (_ctx, { children }) => children },
      }),
  },
});

/** Waits to be told, then tells the run that it is told of. */
export const messenger = defineWorkflow({ input: z.object({}) })
  .event("message", { schema: z.array(z.string()) })
  .step("passed", {
    mutation: async (ctx, { message }) => {
      const [next, ...rest] = message;
      await ctx.runMutation(internal.app.log, { text: `message for ${rest.length} more` });
      if (next !== undefined)
        await ctx.runMutation(internal.manager.sendEvent, {
          name: "messenger",
          run: next,
          event: "message",
          payload: rest,
        });
    },
  });

/** Small by themselves, together too much for one transaction; no action before them. */
export const fullTransaction = defineWorkflow({ input: z.object({}) })
  .step("one", { query: () => "x".repeat(950_000) })
  .step("two", { query: () => "x".repeat(950_000) })
  .step("three", { query: () => "x".repeat(950_000) })
  .step("four", { query: () => "x".repeat(950_000) })
  .step("heavy", { mutation: internal.ballast.add, args: () => ({ megabytes: 14 }) })
  .step("after", { query: () => "done" });

/**
 * As many inputs as one transaction may write, after mutations that have written already; each is
 * read by an action.
 */
export const bulkyInputs = defineWorkflow({
  input: z.object({ of: z.number(), bytes: z.number(), megabytes: z.number() }),
})
  .step("heavy", {
    mutation: internal.ballast.add,
    args: ({ input }) => ({ megabytes: input.megabytes }),
  })
  .parent("all", {
    children: ({ input }) =>
      Array.from({ length: input.of }, () => child(bulkyRead, { text: "x".repeat(input.bytes) })),
    finalize: { query: (_ctx, { children }) => children.length },
  });
export const bulkyRead = defineWorkflow({ input: z.object({ text: z.string() }) }).step("length", {
  action: (_ctx, { input }) => input.text.length,
});

/** Its children fail with so many bytes of reasons; half of them may. */
export const badReasons = defineWorkflow({
  input: z.object({ of: z.number(), bad: z.number(), bytes: z.number() }),
}).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_, n) =>
      child(reason, { bytes: n >= input.of - input.bad ? input.bytes : 0 }),
    ),
  tolerate: { percentage: 50 },
  reduce: { initial: 0, step: (count, one) => count + (one.ok ? 1 : 0) },
});
export const reason = defineWorkflow({ input: z.object({ bytes: z.number() }) }).step("fails", {
  query: (_ctx, { input }) => {
    if (input.bytes > 0) throw new ConvexError({ text: "x".repeat(input.bytes) });
    return null;
  },
});

/** Some of its children are refused for their inputs. */
export const refused = defineWorkflow({
  input: z.object({
    of: z.number(),
    bad: z.array(z.number()),
    tolerate: z.boolean().default(true),
  }),
}).branch("how", {
  on: ({ input }) => (input.tolerate ? "tolerant" : "strict"),
  cases: {
    tolerant: (b) =>
      b.parent("all", {
        children: ({ input }) =>
          Array.from({ length: input.of }, (_, n) =>
            child(quick, { n: input.bad.includes(n) ? ("bad" as never) : n }),
          ),
        tolerate: { failures: 2 },
        reduce: { initial: 0, step: (count, one) => count + (one.ok ? 1 : 0) },
      }),
    strict: (b) =>
      b.parent("all", {
        children: ({ input }) =>
          Array.from({ length: input.of }, (_, n) =>
            child(quick, { n: input.bad.includes(n) ? ("bad" as never) : n }),
          ),
        finalize: { query: (_ctx, { children }) => children.length },
      }),
  },
});

/** Lets every failure pass, two at a time. */
export const patientPairs = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_, n) => child(leaf, { n, ms: 60_000 })),
  concurrency: 2,
  tolerate: "all",
  finalize: { query: (_ctx, { children }) => children.map(({ ok }) => ok) },
});

/** A part of a failure cannot be let pass, but somebody may write it. */
export const oddTolerance = defineWorkflow({ input: z.object({ bad: z.number() }) }).parent("all", {
  children: ({ input }) =>
    Array.from({ length: 4 }, (_, n) => child(leaf, { n, fails: n < input.bad })),
  tolerate: { failures: Number("1.5") },
  finalize: { query: (_ctx, { children }) => children.filter(({ ok }) => ok).length },
});

/** Secrets that are what a branch, a loop and a workflow come to. */
export const secrets = defineWorkflow({ input: z.object({}) })
  .branch("chosen", {
    on: () => "a" as const,
    cases: {
      a: (b) => b.step("token", { query: () => "s3cret", sensitive: true }).sleep("rest", "1s"),
    },
  })
  .loop("looped", {
    initial: () => "",
    body: (b) =>
      b
        .sleep("rest", "1s")
        .step("look", { action: (_ctx, { loop }) => loop.iteration })
        .step("token", { action: () => "s3cret", sensitive: true }),
    until: ({ loop }) => loop.iteration >= 3,
    maxIterations: 5,
  })
  .step("used", { action: (_ctx, { chosen, looped }) => [chosen.length, looped.length] });

/** So many iterations with so many bytes of state, then more with little. */
export const heavyLoop = defineWorkflow({
  input: z.object({ iterations: z.number(), heavy: z.number(), bytes: z.number() }),
}).loop("again", {
  initial: () => "",
  body: (b) =>
    b.step("grown", {
      query: (_ctx, { input, loop }) =>
        `${loop.iteration}`.padEnd(loop.iteration <= input.heavy ? input.bytes : 1, "x"),
    }),
  until: ({ loop, input }) => loop.iteration >= input.iterations,
  maxIterations: 1_000,
});

/** Loops in branches in loops; the first node of each is none that is executed. */
export const maze = defineWorkflow({ input: z.object({ outer: z.number(), inner: z.number() }) })
  .loop("outer", {
    initial: () => [] as string[],
    body: (b) =>
      b.branch("way", {
        on: ({ loop }) =>
          loop.iteration % 3 === 0 ? "none" : loop.iteration % 3 === 1 ? "loop" : "case",
        cases: {
          loop: (c) =>
            c
              .loop("inner", {
                initial: () => 0,
                body: (d) =>
                  d
                    .branch("empty", {
                      on: ({ loop }) => (loop.iteration % 2 === 0 ? "even" : "odd"),
                      cases: { even: (e) => e, odd: (e) => e.sleep("none", 0) },
                    })
                    .step("add", { query: (_ctx, { loop }) => loop.state + 1 }),
                until: ({ loop, input }) => loop.iteration >= input.inner,
                maxIterations: 1_000,
              })
              .step("kept", {
                query: (_ctx, scope) => [...scope.loop.state, `loop ${scope.inner}`],
              }),
          case: (c) =>
            c.branch("deeper", {
              on: () => "a" as const,
              cases: {
                a: (d) => d.step("same", { query: (_ctx, { loop }) => [...loop.state, "case"] }),
              },
            }),
          none: (c) =>
            c
              .step("list", { query: (_ctx, { loop }) => [...loop.state, "none"] })
              .sleep("last", "1s"),
        },
      }),
    until: ({ loop, input }) => loop.iteration >= input.outer,
    maxIterations: 1_000,
  })
  .finalize({ query: (_ctx, scope) => ({ names: Object.keys(scope).sort(), outer: scope.outer }) });

export const sleepy = defineWorkflow({ input: z.object({ ms: z.number(), text: z.string() }) })
  .sleep("a", ({ input }) => input.ms)
  .step("b", { query: (_ctx, { input }) => input.text });

/** Does nothing but wait, then ends. */
export const startsLate = defineWorkflow({ input: z.object({}), timeout: "1h" })
  .step("before", { mutation: internal.app.log, args: () => ({ text: "before" }) })
  .sleep("long", "2h");

/** With a handler that fails at first, children, and a time for all of it. */
export const timedParent = defineWorkflow({
  input: z.object({ handlerMs: z.number(), childMs: z.number(), finalizeMs: z.number() }),
}).parent("all", {
  action: async (_ctx, { input }, { attempt }) => {
    await pause(input.handlerMs);
    if (attempt === 1) throw new Error("not yet");
    return attempt;
  },
  retry: { maxAttempts: 3, initialBackoffMs: 1_000, base: 1 },
  timeout: "10m",
  children: ({ input }) => [child(leaf, { n: 1, ms: input.childMs })],
  finalize: {
    action: async (_ctx, { input, output }) => {
      await pause(input.finalizeMs);
      return output;
    },
  },
});
