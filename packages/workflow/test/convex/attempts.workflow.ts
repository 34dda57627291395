import { child, defineWorkflow, type Duration, RetryAfter } from "@stepwise/workflow";
import { ConvexError } from "convex/values";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf } from "./parents.workflow";

/* One small workflow for each promise that has more than one clause. */

/** Fails for ever, and waits no longer than two seconds. */
export const capped = defineWorkflow({ input: z.object({}) }).step("attempt", {
  action: async () => {
    throw new Error("never");
  },
  retry: { maxAttempts: 5, initialBackoffMs: 1_000, base: 10, maxBackoffMs: 2_000 },
});

/** Something that is not to be tried again is thrown by a function that a step calls. */
export const nestedRefusal = defineWorkflow({
  input: z.object({ of: z.enum(["action", "mutation", "query"]) }),
}).step("attempt", {
  action: async (ctx, { input }): Promise<null> => {
    const { refuseAction, refuseMutation, refuseQuery } = internal.refusals;
    if (input.of === "action") return await ctx.runAction(refuseAction, {});
    if (input.of === "mutation") return await ctx.runMutation(refuseMutation, {});
    return await ctx.runQuery(refuseQuery, {});
  },
  retry: true,
});

/** The same of a function that is the step. */
export const referencedRefusal = defineWorkflow({ input: z.object({}) }).step("attempt", {
  action: internal.refusals.refuseAction,
  args: () => ({}),
  retry: true,
});

/** A step that says itself how often it is tried, one that does not, and what the workflow says. */
export const overridden = defineWorkflow({
  input: z.object({}),
  retry: { maxAttempts: 4, initialBackoffMs: 10, base: 1 },
})
  .step("own", {
    action: async (_ctx, _scope, { attempt }) => {
      throw new Error(`attempt ${attempt}`);
    },
    retry: { maxAttempts: 2, initialBackoffMs: 10, base: 1 },
    recover: (error) => error.message,
  })
  .step("none", {
    action: async (_ctx, _scope, { attempt }) => {
      throw new Error(`attempt ${attempt}`);
    },
    retry: false,
    recover: (error) => error.message,
  })
  .step("inherited", {
    action: async (_ctx, _scope, { attempt }) => {
      throw new Error(`attempt ${attempt}`);
    },
    recover: (error) => error.message,
  })
  .finalize({ query: async (_ctx, { own, none, inherited }) => [own, none, inherited] });

export const notRetried = defineWorkflow({ input: z.object({}) }).step("attempt", {
  action: async () => {
    throw new Error("once");
  },
});

/**
 * Writes down what its signal and its run say of it, when its time is over and when its run was
 * canceled.
 */
export const watchful = defineWorkflow({ input: z.object({ canceled: z.boolean() }) }).step(
  "wait",
  {
    action: async (ctx, { input }, { signal, isCanceled, runId }) => {
      await new Promise((resolve) => setTimeout(resolve, input.canceled ? 5_000 : 20_000));
      const text = `${runId} aborted ${signal.aborted} canceled ${await isCanceled()}`;
      await ctx.runMutation(internal.app.log, { text });
    },
    timeout: "10s",
  },
);

/** A record of children, which may be empty. */
export const recordOf = defineWorkflow({ input: z.object({ names: z.array(z.string()) }) }).parent(
  "all",
  {
    children: ({ input }) =>
      Object.fromEntries(input.names.map((name, n) => [name, child(leaf, { n })])),
    finalize: { query: async (_ctx, { children }) => children },
  },
);

/** The finalize fails at first, and is tried again by itself. */
export const finalizedAgain = defineWorkflow({ input: z.object({}) }).parent("all", {
  action: async (ctx) => {
    await ctx.runMutation(internal.app.log, { text: "handler" });
    return 2;
  },
  children: ({ output }) => Array.from({ length: output }, (_, n) => child(leaf, { n })),
  finalize: {
    action: async (_ctx, { children }, { attempt }) => {
      if (attempt < 3) throw new Error("not yet");
      return { attempt, children };
    },
    retry: { maxAttempts: 3, initialBackoffMs: 10, base: 1 },
  },
});

/** An event that the first node has waited for in vain is for the second one. */
export const patientTwice = defineWorkflow({ input: z.object({}) })
  .event("call", { schema: z.string(), timeout: "1h" })
  .sleep("pause", "1h")
  .branch("again", {
    on: () => "yes" as const,
    cases: { yes: (b) => b.event("other", { anyOf: { call: z.string() } }) },
  })
  .finalize({ query: async (_ctx, { call, again }) => ({ call, again }) });

/** Its `retry` says which errors are tried again, and the rest of it is as usual. */
export const retriedWhen = defineWorkflow({ input: z.object({ codes: z.array(z.number()) }) }).step(
  "attempt",
  {
    action: async (_ctx, { input }, { attempt }) => {
      const code = input.codes[attempt - 1];
      if (code !== undefined) throw new ConvexError({ code });
      return attempt;
    },
    retry: {
      maxAttempts: 4,
      when: ({ data, attempt }) => {
        const { code } = data as { code: number };
        if (code === 500 + attempt) throw new Error(`cannot say of ${code}`);
        // As an async function that the compiler does not see.
        if (code === 600) return Promise.resolve(true) as unknown as boolean;
        return code >= 500;
      },
    },
  },
);

/** The action says when it is to be tried again; it may be thrown by a function that it calls. */
export const askedLater = defineWorkflow({
  input: z.object({ after: z.union([z.string(), z.number()]), nested: z.boolean() }),
}).step("attempt", {
  action: async (ctx, { input }, { attempt }): Promise<number> => {
    if (attempt > 1) return attempt;
    const after = input.after as Duration;
    if (!input.nested) throw new RetryAfter(after, "the queue is full", { queue: 9 });
    return await ctx.runMutation(internal.refusals.later, { after });
  },
  retry: { maxAttempts: 2 },
});

/** Without a `retry`, nothing is tried again. */
export const notAskedAgain = defineWorkflow({ input: z.object({}) }).step("attempt", {
  action: async () => {
    throw new RetryAfter("1m");
  },
});
