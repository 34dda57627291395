import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { bulk } from "./hostile.workflow";

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
