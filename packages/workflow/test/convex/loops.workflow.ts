import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

async function nothing(): Promise<null> {
  return null;
}

/** A large state, and many small steps that can be undone. */
export const heavyState = defineWorkflow({
  input: z.object({ bytes: z.number(), iterations: z.number() }),
}).loop("go", {
  initial: ({ input }) => "x".repeat(input.bytes),
  body: (b) =>
    b
      .step("a", { mutation: nothing, compensate: { mutation: nothing } })
      .step("b", { mutation: nothing, compensate: { mutation: nothing } })
      .step("c", { mutation: nothing, compensate: { mutation: nothing } })
      .step("d", { mutation: nothing, compensate: { mutation: nothing } })
      .step("e", { mutation: nothing, compensate: { mutation: nothing } })
      .step("f", { mutation: nothing, compensate: { mutation: nothing } })
      .step("g", { mutation: nothing, compensate: { mutation: nothing } })
      .step("h", { mutation: nothing, compensate: { mutation: nothing } })
      .step("i", { mutation: nothing, compensate: { mutation: nothing } })
      .step("j", { mutation: nothing, compensate: { mutation: nothing } })
      .step("k", { mutation: nothing, compensate: { mutation: nothing } })
      .step("l", { mutation: nothing, compensate: { mutation: nothing } })
      .step("m", { mutation: nothing, compensate: { mutation: nothing } })
      .step("n", { mutation: nothing, compensate: { mutation: nothing } })
      .step("o", { mutation: nothing, compensate: { mutation: nothing } })
      .step("p", { mutation: nothing, compensate: { mutation: nothing } })
      .step("q", { mutation: nothing, compensate: { mutation: nothing } })
      .step("r", { mutation: nothing, compensate: { mutation: nothing } })
      .step("last", { query: async () => "small" }),
  until: ({ loop, input }) => loop.iteration === input.iterations,
  maxIterations: 10,
});

/** Two loops one after the other; what the first does can be undone. */
export const twoLoops = defineWorkflow({ input: z.object({ iterations: z.number() }) })
  .loop("first", {
    initial: () => null,
    body: (b) => b.step("done", { mutation: nothing, compensate: { mutation: nothing } }),
    until: ({ loop, input }) => loop.iteration === input.iterations,
    maxIterations: 1_000,
  })
  .loop("second", {
    initial: () => 0,
    body: (b) => b.step("counted", { query: async (_ctx, { loop }) => loop.iteration }),
    until: ({ loop, input }) => loop.iteration === input.iterations,
    maxIterations: 1_000,
  });

/** Loops whose bodies do nothing. */
export const idleLoops = defineWorkflow({ input: z.object({ iterations: z.number() }) })
  .loop("sleeping", {
    initial: () => null,
    body: (b) => b.sleep("none", 0),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 10_000,
  })
  .loop("choosing", {
    initial: () => null,
    body: (b) => b.branch("which", { on: () => "none" as const, cases: { none: (c) => c } }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 10_000,
  })
  .loop("hearing", {
    initial: () => 0,
    body: (b) => b.event("word", { schema: z.number() }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 10_000,
  });

export const megabytes = z.object({ inner: z.number(), bytes: z.number(), iterations: z.number() });

/** Two loops: the iterations of one are large, and have the same numbers as those of the other. */
export const fatAndThin = defineWorkflow({ input: megabytes })
  .loop("fat", {
    initial: () => 0,
    body: (b) =>
      b
        .loop("inner", {
          initial: () => "",
          body: (c) => c.step("big", { mutation: (_ctx, { input }) => "x".repeat(input.bytes) }),
          until: ({ loop, input }) => loop.iteration >= input.inner,
          maxIterations: 100,
        })
        .step("next", { mutation: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop }) => loop.iteration === 2,
    maxIterations: 2,
  })
  .loop("thin", {
    initial: () => 0,
    body: (b) => b.step("one", { mutation: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 1_000,
  });

/** The same, and what the large iterations make can be undone. */
export const fatUndoable = defineWorkflow({ input: megabytes })
  .loop("fat", {
    initial: () => 0,
    body: (b) =>
      b
        .loop("inner", {
          initial: () => 0,
          body: (c) =>
            c
              .step("big", {
                mutation: (_ctx, { input }) => "x".repeat(input.bytes),
                compensate: { mutation: () => null },
              })
              .step("small", { mutation: () => 1 }),
          until: ({ loop, input }) => loop.iteration >= input.inner,
          maxIterations: 100,
        })
        .step("next", { mutation: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop }) => loop.iteration === 2,
    maxIterations: 2,
  })
  .loop("thin", {
    initial: () => 0,
    body: (b) => b.step("one", { mutation: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 1_000,
  });

/** Does not come to its end: it fails, or waits to be canceled, in one of its iterations. */
export const endsEarly = defineWorkflow({
  input: z.object({ at: z.number(), how: z.enum(["fail", "wait"]) }),
}).loop("again", {
  initial: () => 0,
  body: (b) =>
    b
      .sleep("wait", ({ loop, input }) =>
        input.how === "wait" && loop.iteration === input.at ? "1h" : 0,
      )
      .step("next", {
        mutation: (_ctx, { loop, input }) => {
          if (loop.iteration === input.at) throw new Error("no");
          return loop.state + 1;
        },
      }),
  until: () => false,
  maxIterations: 1_000,
});

export const thenEnds = defineWorkflow({ input: z.object({ iterations: z.number() }) })
  .loop("again", {
    initial: () => 0,
    body: (b) => b.step("one", { mutation: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 1_000,
  })
  .step("last", { mutation: () => "ended" });
