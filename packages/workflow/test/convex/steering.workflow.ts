import { child, defineWorkflow, type MutationCtx } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf } from "./parents.workflow";

/*
 * Workflows that are steered at awkward moments: by their own steps, while something of them is
 * lost, in the middle of pages.
 */

/** The second of four steps that run together pauses or cancels the run. */
export const steersItself = defineWorkflow({
  input: z.object({ how: z.enum(["pause", "cancel", "pauseAndResume"]) }),
})
  .step("before", { mutation: internal.app.log, args: () => ({ text: "before" }) })
  .step("steers", {
    mutation: async (ctx, { input }, { runId }) => {
      await ctx.db.insert("log", { text: "steers" });
      if (input.how === "cancel") await ctx.runMutation(internal.runs.cancel, { runId });
      else await ctx.runMutation(internal.manager.pause, { runId });
      if (input.how === "pauseAndResume") await ctx.runMutation(internal.manager.resume, { runId });
    },
  })
  .step("after", { mutation: internal.app.log, args: () => ({ text: "after" }) })
  .step("last", { mutation: internal.app.log, args: () => ({ text: "last" }) });

/** What runs in an action may be lost; then the run goes on without it. */
export const recovers = defineWorkflow({ input: z.object({ ms: z.number() }) })
  .step("act", {
    action: async (_ctx, { input }) => {
      await new Promise((resolve) => setTimeout(resolve, input.ms));
      return "acted";
    },
    recover: (error) => error.kind,
  })
  .step("noted", { mutation: internal.app.log, args: ({ act }) => ({ text: `noted ${act}` }) })
  .sleep("rest", "1h")
  .finalize({ query: async (_ctx, { act }) => act });

/** Two actions in a row, of which the first takes its time. */
export const actsTwice = defineWorkflow({ input: z.object({ ms: z.number() }) })
  .step("act", {
    action: async (_ctx, { input }) =>
      await new Promise<void>((resolve) => setTimeout(resolve, input.ms)),
  })
  .step("again", { action: async () => "acted again" });

/** So many failures that not each child which ends counts them. */
export const forgiving = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_, n) => child(leaf, { n, ms: 60_000 })),
  concurrency: 200,
  tolerate: { failures: 65 },
  finalize: { query: async (_ctx, { children }) => children.filter(({ ok }) => ok).length },
});

/** Something small that can be undone. */
export const tiny = defineWorkflow({ input: z.object({ n: z.number() }) }).step("done", {
  mutation: async (_ctx, { input }) => input.n,
  compensate: {
    mutation: async (ctx, { output }) =>
      void (await ctx.db.insert("log", { text: `undo ${output}` })),
  },
});

/** Many of them, and a step after. */
export const many = defineWorkflow({ input: z.object({ of: z.number() }) })
  .parent("all", {
    children: ({ input }) => Array.from({ length: input.of }, (_, n) => child(tiny, { n })),
    concurrency: 1_000,
    finalize: { query: async (_ctx, { children }) => children.length },
  })
  .step("after", { mutation: internal.app.log, args: () => ({ text: "after" }) });

/** Pauses or cancels itself after an action or an event, before something of each kind. */
export const steersBefore = defineWorkflow({
  input: z.object({
    how: z.enum(["pause", "cancel"]),
    after: z.enum(["action", "event"]),
    before: z.enum(["action", "query", "sleep", "event", "children", "child", "loop", "branch"]),
  }),
})
  .branch("first", {
    on: ({ input }) => input.after,
    cases: {
      action: (b) => b.step("act", { action: async () => "acted" }),
      event: (b) => b.event("begin", { schema: z.string() }),
    },
  })
  .step("steers", {
    mutation: async (ctx, { input }, { runId }) => {
      await ctx.db.insert("log", { text: "steers" });
      if (input.how === "pause") await ctx.runMutation(internal.manager.pause, { runId });
      else await ctx.runMutation(internal.runs.cancel, { runId });
    },
  })
  .branch("second", {
    on: ({ input }) => input.before,
    cases: {
      action: (b) =>
        b.step("one", {
          action: async (ctx) => void (await ctx.runMutation(internal.app.log, { text: "one" })),
        }),
      query: (b) => b.step("two", { query: async () => 2 }),
      sleep: (b) => b.sleep("three", "1h"),
      event: (b) => b.event("four", { schema: z.string(), timeout: "1h" }),
      children: (b) =>
        b.parent("five", { children: () => [child(leaf, { n: 1 }), child(leaf, { n: 2 })] }),
      child: (b) => b.child("six", leaf, () => ({ n: 1 })),
      loop: (b) =>
        b.loop("seven", {
          initial: () => 0,
          body: (c) =>
            c.step("add", {
              mutation: async (ctx, { loop }) => {
                await ctx.db.insert("log", { text: "add" });
                return loop.state + 1;
              },
            }),
          until: ({ loop }) => loop.state === 2,
          maxIterations: 2,
        }),
      branch: (b) =>
        b.branch("eight", {
          on: () => "only" as const,
          cases: {
            only: (c) =>
              c.step("nine", { mutation: internal.app.log, args: () => ({ text: "nine" }) }),
          },
        }),
    },
  })
  .step("last", { mutation: internal.app.log, args: () => ({ text: "last" }) });

/** Pauses itself in its second iteration. */
export const pausesInLoop = defineWorkflow({ input: z.object({}) }).loop("count", {
  initial: () => 0,
  body: (b) =>
    b
      .step("steers", {
        mutation: async (ctx, { loop }, { runId }) => {
          await ctx.db.insert("log", { text: `iteration ${loop.iteration}` });
          if (loop.iteration === 2) await ctx.runMutation(internal.manager.pause, { runId });
        },
      })
      .step("next", {
        mutation: async (ctx, { loop }) => {
          await ctx.db.insert("log", { text: `next ${loop.iteration}` });
          return loop.state + 1;
        },
      }),
  until: ({ loop }) => loop.state === 3,
  maxIterations: 3,
});

/** A child that steers the run above it. */
export const steersAbove = defineWorkflow({
  input: z.object({ how: z.enum(["pause", "cancel", "not"]) }),
}).parent("all", {
  action: async (_ctx, _scope, { runId }) => runId,
  children: ({ input, output }) => [
    child(steersOther, { run: output, how: input.how }),
    child(steersOther, { run: output, how: "not" }),
  ],
  concurrency: 1,
});
async function steer(ctx: MutationCtx, runId: string, how: "pause" | "cancel" | "not") {
  await ctx.db.insert("log", { text: "steers" });
  if (how === "pause") await ctx.runMutation(internal.manager.pause, { runId });
  if (how === "cancel") await ctx.runMutation(internal.runs.cancel, { runId });
}
export const steersOther = defineWorkflow({
  input: z.object({ run: z.string(), how: z.enum(["pause", "cancel", "not"]) }),
})
  .step("steers", { mutation: (ctx, { input: { run, how } }) => steer(ctx, run, how) })
  .step("after", { mutation: internal.app.log, args: () => ({ text: "after" }) });

/** A branch steers the run around it: entered by its scheduled function, or by a completion. */
export const steersAround = defineWorkflow({
  input: z.object({ how: z.enum(["pause", "cancel"]) }),
})
  .step("own", { mutation: (_ctx, _scope, { runId }) => runId })
  .parallel("both", {
    branches: {
      first: (b) =>
        b
          .step("steers", { mutation: (ctx, { input, own }) => steer(ctx, own, input.how) })
          .step("after", { mutation: internal.app.log, args: () => ({ text: "after" }) }),
      second: (b) =>
        b.step("other", { mutation: internal.app.log, args: () => ({ text: "other" }) }),
    },
  });
export const steersAroundLater = defineWorkflow({
  input: z.object({ how: z.enum(["pause", "cancel"]) }),
})
  .step("own", { action: (_ctx, _scope, { runId }) => runId })
  .parallel("both", {
    branches: {
      first: (b) =>
        b
          .step("steers", { mutation: (ctx, { input, own }) => steer(ctx, own, input.how) })
          .step("after", { mutation: internal.app.log, args: () => ({ text: "after" }) }),
      second: (b) =>
        b.step("other", { mutation: internal.app.log, args: () => ({ text: "other" }) }),
    },
  });

/** Rooms full of sleepers. */
export const dormitory = defineWorkflow({
  input: z.object({ rooms: z.number(), beds: z.number(), ms: z.number() }),
}).parent("rooms", {
  children: ({ input: { rooms, beds, ms } }) =>
    Array.from({ length: rooms }, () => child(room, { beds, ms })),
  finalize: { query: async (_ctx, { children }) => children.length },
});
export const room = defineWorkflow({
  input: z.object({ beds: z.number(), ms: z.number() }),
}).parent("beds", {
  children: ({ input: { beds, ms } }) => Array.from({ length: beds }, () => child(bed, { ms })),
  finalize: { query: async (_ctx, { children }) => children.length },
});
export const bed = defineWorkflow({
  input: z.object({ ms: z.number() }),
  timeout: "1 day",
}).sleep("asleep", ({ input }) => input.ms);
