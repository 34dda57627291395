import { child, defineWorkflow, type Child } from "@stepwise/workflow";
import { ConvexError, type Value } from "convex/values";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf, leaves, list } from "./parents.workflow";

/** Throws what nobody expects to be thrown. */
export const oddErrors = defineWorkflow({
  input: z.object({
    what: z.enum(["objectMessage", "cyclic", "prefixed", "long", "unstorable", "large", "nested"]),
  }),
}).step("attempt", {
  action: async (_ctx, { input }): Promise<null> => {
    if (input.what === "objectMessage") throw Object.assign(new Error(), { message: { code: 5 } });
    if (input.what === "cyclic") {
      const cyclic: { self?: unknown } = Object.create(null);
      cyclic.self = cyclic;
      throw cyclic;
    }
    if (input.what === "long") throw new Error("ü".repeat(20_000));
    if (input.what === "prefixed") throw new Error("QuotaError: at 10:00\n  at noon");
    if (input.what === "nested") throw new ConvexError([[[[[[[1]]]]]]]);
    if (input.what === "unstorable") throw new ConvexError({ at: new Date(0) as unknown as Value });
    throw new ConvexError({ text: "x".repeat(400_000) });
  },
  retry: { maxAttempts: 3, initialBackoffMs: 1, base: 1 },
});

export const longErrors = defineWorkflow({ input: z.object({}) }).step("attempt", {
  action: async (): Promise<null> => {
    throw new Error("ü".repeat(20_000));
  },
  retry: { maxAttempts: 100, initialBackoffMs: 1, base: 1 },
});

/** Lists of leaves, each a run of its own. */
export const wide = defineWorkflow({
  input: z.object({ lists: z.number(), leaves }),
}).parent("lists", {
  children: ({ input }) =>
    Array.from({ length: input.lists }, () => child(list, { leaves: input.leaves })),
});

export const bulk = defineWorkflow({ input: z.object({ bytes: z.number() }) }).step("made", {
  query: async (_ctx, { input }) => "x".repeat(input.bytes),
});

/** What its children make is more than one transaction can read. */
export const bulkyMutation = defineWorkflow({
  input: z.object({ count: z.number(), bytes: z.number() }),
}).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.count }, () => child(bulk, { bytes: input.bytes })),
  finalize: { mutation: async (_ctx, { children }) => children.length },
});
export const bulkyAction = defineWorkflow({
  input: z.object({ count: z.number(), bytes: z.number() }),
}).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.count }, () => child(bulk, { bytes: input.bytes })),
  finalize: { action: async (_ctx, { children }) => children.length },
});

/**
 * Its finalize reads a little under a megabyte of the app's besides, and an action goes on with
 * what it gives.
 */
export const bulkyReading = defineWorkflow({
  input: z.object({ count: z.number(), bytes: z.number() }),
})
  .parent("all", {
    children: ({ input }) =>
      Array.from({ length: input.count }, () => child(bulk, { bytes: input.bytes })),
    finalize: {
      mutation: async (ctx, { children }) => {
        const texts = (await ctx.db.query("log").collect()).map(({ text }) => text);
        return { children: children.length, texts };
      },
    },
  })
  .step("counted", { action: (_ctx, { all }) => [all.children, all.texts.join("").length] });

/** It does not read what its children make. */
export const bulkyUnread = defineWorkflow({
  input: z.object({ count: z.number(), bytes: z.number() }),
}).parent("all", {
  children: ({ input }) =>
    Array.from({ length: input.count }, () => child(bulk, { bytes: input.bytes })),
  finalize: { query: async () => "done" },
});

export const keyed = defineWorkflow({ input: z.object({ keys: z.array(z.string()) }) }).parent(
  "all",
  {
    children: ({ input }) =>
      Object.fromEntries(input.keys.map((key, n) => [key, child(leaf, { n })])),
  },
);

const none = Number("0");
export const noSeats = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(leaf, { n: 1 })],
  concurrency: none,
});

/** Its only child begins with a parent whose children cannot be told. */
export const aboveChildrenThrow = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(beginsBadly, {})],
});
export const beginsBadly = defineWorkflow({ input: z.object({}) }).parent("none", {
  children: (): Child<null>[] => {
    throw new Error("no children today");
  },
});

/** Its own descendant, to a depth; the last one fails. */
export const deep = defineWorkflow({ input: z.object({ depth: z.number() }) }).parent("below", {
  children: ({ input }): Child<unknown>[] =>
    input.depth === 0
      ? [child(leaf, { n: 0, fails: true })]
      : [child(deep, { depth: input.depth - 1 })],
});

export const dated = defineWorkflow({ input: z.object({ at: z.coerce.date() }) }).step("seen", {
  action: async () => null,
});

export const longTimeout = defineWorkflow({ input: z.object({}) }).step("wait", {
  action: async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return "done";
  },
  timeout: "30 days",
});

/** Heavy writes in one step, then many children with large inputs. */
export const heavyThenChildren = defineWorkflow({ input: z.object({ bytes: z.number() }) })
  .step("first", { mutation: async () => 1 })
  .step("heavy", { mutation: internal.ballast.add, args: () => ({ megabytes: 12 }) })
  .parent("all", {
    children: ({ input }) =>
      Array.from({ length: 8 }, () => child(bulkOf, { text: "x".repeat(input.bytes) })),
    finalize: { query: async (_ctx, { children }) => children.length },
  });
export const bulkOf = defineWorkflow({ input: z.object({ text: z.string() }) }).step("length", {
  query: async (_ctx, { input }) => input.text.length,
});

/** Long errors, then an output as large as one may be. */
export const goodAtLast = defineWorkflow({ input: z.object({}) }).step("attempt", {
  action: async (_ctx, _scope, { attempt }) => {
    if (attempt < 10) throw new Error("ü".repeat(8_000));
    return "x".repeat(999_990);
  },
  retry: { maxAttempts: 10, initialBackoffMs: 1, base: 1 },
});

/** Its step cancels the run that it is told, or its own. */
export const cancelsItself = defineWorkflow({
  input: z.object({ run: z.string().optional() }),
}).step("stop", {
  mutation: async (ctx, { input }, { runId }) => {
    await ctx.runMutation(internal.app.log, { text: "stopping" });
    await ctx.runMutation(internal.runs.cancel, { runId: input.run ?? runId });
  },
});
export const canceledFromBelow = defineWorkflow({ input: z.object({}) }).parent("all", {
  action: async (_ctx, _scope, { runId }) => runId,
  children: ({ output }) => [child(cancelsItself, { run: output })],
});
