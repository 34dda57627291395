import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { bulk } from "./hostile.workflow";

export const megabytes = z.object({ inner: z.number(), bytes: z.number(), passes: z.number() });

/** Two loops: the passes of one are large, and have the same numbers as those of the other. */
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
    until: ({ loop, input }) => loop.iteration >= input.passes,
    maxIterations: 1_000,
  });

/** The same, and what the large passes make can be undone. */
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
    until: ({ loop, input }) => loop.iteration >= input.passes,
    maxIterations: 1_000,
  });

/** Does not come to its end: it fails, or waits to be canceled, in one of its passes. */
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

export const thenEnds = defineWorkflow({ input: z.object({ passes: z.number() }) })
  .loop("again", {
    initial: () => 0,
    body: (b) => b.step("one", { mutation: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop, input }) => loop.iteration >= input.passes,
    maxIterations: 1_000,
  })
  .step("end", { mutation: () => "ended" });

/** Children inside two loops whose states are large; their finalize reads the app's besides. */
export const gathersInLoops = defineWorkflow({
  input: z.object({ count: z.number(), fails: z.boolean() }),
}).loop("outer", {
  initial: () => "s".repeat(990_000),
  body: (b) =>
    b.loop("inner", {
      initial: () => "s".repeat(990_000),
      body: (c) =>
        c.parent("all", {
          children: ({ input }) =>
            Array.from({ length: input.count }, () => child(bulk, { bytes: 999_990 })),
          finalize: {
            mutation: async (ctx, { children, input }) => {
              const read = (await ctx.db.query("log").collect()).length;
              if (input.fails) throw new Error(`no, says the finalize of ${children.length}`);
              return `${read} ${children.length}`.padEnd(990_000, ".");
            },
          },
        }),
      until: () => true,
      maxIterations: 1,
    }),
  until: () => true,
  maxIterations: 1,
});

/** A finalize that fails where there is much to undo. */
export const undoesMuch = defineWorkflow({ input: z.object({ count: z.number() }) }).loop("once", {
  initial: () => "s".repeat(990_000),
  body: (b) =>
    b
      .step("done", {
        mutation: () => "d".repeat(990_000),
        compensate: {
          mutation: async (ctx, { output }) => {
            await ctx.db.insert("log", { text: `undid ${output.length}` });
          },
        },
      })
      .parent("all", {
        children: ({ input }) =>
          Array.from({ length: input.count }, () => child(bulk, { bytes: 999_990 })),
        finalize: {
          mutation: async (_ctx, { children }): Promise<string> => {
            throw new Error(`no, says the finalize of ${children.length}`);
          },
        },
      }),
  until: () => true,
  maxIterations: 1,
});

/** One child that sleeps; a test makes it look like many. */
export const lateChild = defineWorkflow({ input: z.object({}) })
  .sleep("nap", "1h")
  .step("gives", { mutation: () => null });
export const lateChildren = defineWorkflow({
  input: z.object({ in: z.enum(["mutation", "action"]) }),
}).branch("how", {
  on: ({ input }) => input.in,
  cases: {
    mutation: (b) =>
      b.parent("all", {
        children: () => [child(lateChild, {})],
        finalize: { mutation: (_ctx, { children }) => children.length },
      }),
    action: (b) =>
      b.parent("all", {
        children: () => [child(lateChild, {})],
        finalize: { action: (_ctx, { children }) => children.length },
      }),
  },
});
