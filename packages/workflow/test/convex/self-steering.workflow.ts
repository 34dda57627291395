import { child, type Child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf } from "./parents.workflow";

/** Cancels itself and then begins anew, once. */
export const beginsAnew = defineWorkflow({ input: z.object({}) })
  .step("first", { mutation: internal.app.log, args: () => ({ text: "first" }) })
  .step("anew", {
    mutation: async (ctx, _scope, { runId }) => {
      const log = await ctx.db.query("log").collect();
      await ctx.db.insert("log", { text: "anew" });
      if (log.filter(({ text }) => text === "first").length > 1) return;
      await ctx.runMutation(internal.runs.cancel, { runId });
      await ctx.runMutation(internal.manager.restart, { name: "beginsAnew", runId });
    },
  })
  .step("last", { mutation: internal.app.log, args: () => ({ text: "last" }) });

/** Its own descendant, so deep; the deepest sleeps. */
export const wells = defineWorkflow({ input: z.object({ depth: z.number() }) })
  .parent("below", {
    children: ({ input }): Child<unknown>[] =>
      input.depth === 0 ? [] : [child(wells, { depth: input.depth - 1 })],
    finalize: { query: async () => null },
  })
  .sleep("rest", ({ input }) => (input.depth === 0 ? "1d" : 0));

/** Two children after an action. */
export const twoAfter = defineWorkflow({ input: z.object({}) })
  .step("slow", {
    action: async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    },
  })
  .parent("all", { children: () => [child(leaf, { n: 1 }), child(leaf, { n: 2, ms: 1_000 })] });

/** Its action steers the very run. */
export const actsOnItself = defineWorkflow({ input: z.object({ how: z.string() }) })
  .step("act", {
    action: internal.selfSteering.steer,
    args: ({ input }, { runId }) => ({ name: "actsOnItself", runId, how: input.how }),
  })
  .step("after", { mutation: internal.app.log, args: ({ act }) => ({ text: `after ${act}` }) });

/** A parent's child cancels the run at the top. */
export const toppled = defineWorkflow({ input: z.object({ n: z.number() }) })
  .step("id", { query: async (_ctx, _scope, { runId }) => runId })
  .parent("all", { children: ({ id }) => [child(topples, { run: id })] });

export const topples = defineWorkflow({ input: z.object({ run: z.string() }) }).step("stop", {
  mutation: async (ctx, { input }) => {
    await ctx.runMutation(internal.app.log, { text: "stop" });
    await ctx.runMutation(internal.runs.cancel, { runId: input.run });
  },
});

/** Starts a run with the key that it was started with itself. */
export const startsItself = defineWorkflow({ input: z.object({ key: z.string() }) }).step("again", {
  mutation: async (ctx, { input }, { runId }) => {
    const id = await ctx.runMutation(internal.runs.start, {
      name: "startsItself",
      input,
      key: input.key,
    });
    return id === runId;
  },
});

/** What it does takes exactly as long as it may. */
export const raced = defineWorkflow({
  input: z.object({ what: z.enum(["attempt", "run", "parent"]), ms: z.number() }),
  timeout: "1h",
})
  .step("done", {
    mutation: internal.app.log,
    args: () => ({ text: "done" }),
    compensate: { mutation: internal.app.log, args: () => ({ text: "undone" }) },
  })
  .branch("how", {
    on: ({ input }) => input.what,
    cases: {
      attempt: (b) =>
        b.step("a", {
          action: async (_ctx, { input }) => {
            await new Promise((resolve) => setTimeout(resolve, input.ms));
          },
          timeout: "10m",
        }),
      run: (b) =>
        b.step("r", {
          action: async (_ctx, { input }) => {
            await new Promise((resolve) => setTimeout(resolve, input.ms));
          },
        }),
      parent: (b) =>
        b.parent("p", {
          children: ({ input }) => [child(leaf, { n: 1, ms: input.ms })],
          timeout: "10m",
        }),
    },
  });

/** Pauses itself where its parent begins or ends. */
export const pausesInParent = defineWorkflow({
  input: z.object({ where: z.enum(["handler", "finalize"]), how: z.enum(["pause", "cancel"]) }),
}).parent("all", {
  mutation: async (ctx, { input }, { runId }) => {
    await ctx.runMutation(internal.app.log, { text: "handler" });
    if (input.where !== "handler") return;
    if (input.how === "pause") await ctx.runMutation(internal.manager.pause, { runId });
    else await ctx.runMutation(internal.runs.cancel, { runId });
  },
  children: () => [child(tinyUndone, { n: 1 }), child(tinyUndone, { n: 2 })],
  finalize: {
    mutation: async (ctx, { input }, { runId }) => {
      await ctx.runMutation(internal.app.log, { text: "finalize" });
      if (input.where !== "finalize") return;
      if (input.how === "pause") await ctx.runMutation(internal.manager.pause, { runId });
      else await ctx.runMutation(internal.runs.cancel, { runId });
    },
  },
});

export const tinyUndone = defineWorkflow({ input: z.object({ n: z.number() }) }).step("did", {
  mutation: internal.app.log,
  args: ({ input }) => ({ text: `did ${input.n}` }),
  compensate: {
    mutation: internal.app.log,
    args: ({ input }) => ({ text: `undid ${input.n}` }),
  },
});
