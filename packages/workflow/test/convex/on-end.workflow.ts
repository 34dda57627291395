import { child, type EndedRun, type MutationCtx, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/* Workflows with an `onEnd`: each writes how its run has ended, as that sees it. */

const Ending = z.object({
  name: z.string().default("it"),
  ms: z.number().default(0),
  fails: z.boolean().default(false),
  endFails: z.boolean().default(false),
});

async function write(ctx: MutationCtx, name: string, { state, output, error }: EndedRun) {
  const what = state === "completed" ? JSON.stringify(output) : error?.message;
  await ctx.db.insert("log", { text: `end of ${name}: ${state}, ${what}` });
}

/** Makes something that is undone if it fails. */
export const leased = defineWorkflow({
  input: Ending,
  timeout: "2h",
  onEnd: {
    mutation: async (ctx, { input, run }, info) => {
      await write(ctx, input.name, run);
      await ctx.db.insert("log", { text: info.idempotencyKey.replace(info.runId, "") });
      if (input.endFails) throw new Error("the end fails");
    },
  },
})
  .step("take", {
    mutation: async (_ctx, { input }) => `took ${input.name}`,
    compensate: {
      mutation: async (ctx, { output }) => {
        await ctx.db.insert("log", { text: `undo ${output}` });
      },
    },
  })
  .sleep("work", ({ input }) => input.ms)
  .step("last", {
    query: (_ctx, { input }) => {
      if (input.fails) throw new Error(`${input.name} fails`);
      return input.name;
    },
  });

/** Its end is an action, which fails at first. */
export const announced = defineWorkflow({
  input: Ending.extend({ goodAttempt: z.number().default(3), secret: z.string().default("") }),
  sensitive: ["input.secret"],
  onEnd: {
    action: async (ctx, { input, run }, { attempt, isCanceled }) => {
      const text = `announced ${input.name} ${run.state} ${attempt} ${await isCanceled()}`;
      await ctx.runMutation(internal.app.log, { text });
      if (attempt < input.goodAttempt) throw new Error(`not yet ${input.secret}`);
    },
    retry: { maxAttempts: 3, initialBackoffMs: 1_000, base: 1 },
  },
}).step("last", {
  query: (_ctx, { input }) => {
    if (input.fails) throw new Error(`${input.name} fails`);
    return input.name;
  },
});

/** Its end is a function of the app. */
export const endReferring = defineWorkflow({
  input: z.object({}),
  onEnd: { mutation: internal.app.log, args: ({ run }) => ({ text: `referred ${run.state}` }) },
}).step("last", { query: () => 1 });

/** Children with an end of their own. */
export const leases = defineWorkflow({
  input: z.object({ of: z.array(Ending) }),
  onEnd: { mutation: async (ctx, { run }) => await write(ctx, "all", run) },
}).parent("all", {
  children: ({ input }) => input.of.map((each) => child(leased, each)),
  finalize: { query: (_ctx, { children }) => children.length },
});

/** Children whose ends are actions, and which can be undone. */
export const announcers = defineWorkflow({ input: z.object({ fails: z.boolean() }) })
  .parent("all", { children: () => [child(announcer, {})] })
  .step("last", {
    query: (_ctx, { input }) => {
      if (input.fails) throw new Error("the announcers fail");
      return 1;
    },
  });

export const announcer = defineWorkflow({
  input: z.object({}),
  onEnd: {
    action: async (ctx, { run }, { attempt }) => {
      await ctx.runMutation(internal.app.log, { text: `announcer ${run.state} ${attempt}` });
      if (attempt < 2) throw new Error("not yet");
    },
    retry: { maxAttempts: 2, initialBackoffMs: 60_000, base: 1 },
  },
}).step("make", {
  query: () => 1,
  compensate: { mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undo it" })) },
});

/** It ends in the transaction of whoever sends the event, and begins another run there. */
export const endsDeep = defineWorkflow({
  input: z.object({}),
  onEnd: {
    mutation: async (ctx) => {
      const started = { name: "endReferring", input: {} };
      await ctx.runMutation(internal.runs.startOrLog, started);
    },
  },
}).event("go", { schema: z.string() });

/** Its last step and its end write 9 MB each: one transaction writes 16 MiB at most. */
export const endsFull = defineWorkflow({
  input: z.object({}),
  onEnd: { mutation: async (ctx) => await fill(ctx, "end") },
}).step("last", { mutation: async (ctx) => await fill(ctx, "last") });

async function fill(ctx: MutationCtx, text: string): Promise<void> {
  for (let i = 0; i < 18; i++) await ctx.db.insert("ballast", { bytes: "b".repeat(500_000) });
  await ctx.db.insert("log", { text });
}

/** Its step sends the last event of another run, which ends deep in the step's transaction. */
export const endsOther = defineWorkflow({ input: z.object({ run: z.string() }) }).step("told", {
  mutation: async (ctx, { input }): Promise<string> => {
    const event = { name: "endsDeep", run: input.run, event: "go", payload: "now" };
    return await ctx.runMutation(internal.manager.sendEvent, event);
  },
});

/** So many children that a cancel reaches them in pages, and that cannot be undone. */
export const manyEnds = defineWorkflow({ input: z.object({ count: z.number() }) }).parent("all", {
  children: ({ input }) => Array.from({ length: input.count }, () => child(endsDeep, {})),
});

/** Its child is a run below a run that has ended, while it goes on. */
export const aroundAnnounced = defineWorkflow({ input: z.object({}) }).child(
  "inner",
  announced,
  () => ({}),
);

/** A loop with runs below it whose ends take longer than very many iterations. */
export const endsInLoop = defineWorkflow({ input: z.object({ count: z.number() }) }).loop(
  "rounds",
  {
    initial: () => 0,
    body: (round) =>
      round.parent("some", {
        children: ({ loop }) =>
          loop.iteration === 3
            ? [child(announced, {})]
            : loop.iteration === 5
              ? [child(aroundAnnounced, {})]
              : [],
        finalize: { query: () => 0 },
      }),
    until: ({ loop, input }) => loop.iteration === input.count,
    maxIterations: 300,
  },
);

/** Its end would remove its own run. */
export const endsItself = defineWorkflow({
  input: z.object({}),
  onEnd: {
    mutation: async (ctx, _scope, { runId }) =>
      void (await ctx.runMutation(internal.manager.cleanup, { runId })),
  },
}).step("last", { query: () => 1 });
