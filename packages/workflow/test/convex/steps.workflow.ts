import { defineWorkflow, NonRetryableError } from "@stepwise/workflow";
import { ConvexError, v } from "convex/values";
import { z } from "zod";
import { internal } from "./_generated/api";

/** Every kind of step, inline and referenced. */
export const kinds = defineWorkflow({ input: z.object({ n: z.number() }) })
  .step("doubled", { action: internal.app.double, args: ({ input }) => ({ n: input.n }) })
  .step("noted", {
    mutation: internal.app.log,
    args: ({ doubled }) => ({ text: `doubled ${doubled}` }),
  })
  .step("inserted", {
    mutation: async (ctx, { input }) => {
      await ctx.db.insert("log", { text: `inserted ${input.n}` });
    },
  })
  .step("counted", { query: internal.app.count, args: () => ({}) })
  .step("read", { query: async (ctx) => (await ctx.db.query("log").first())?.text ?? "" })
  .step("plain", { action: (_ctx, { inserted }) => ({ inserted }) })
  .finalize({
    action: async (_ctx, { doubled, counted, read, plain }) => ({ doubled, counted, read, plain }),
  });

export const argsThrow = defineWorkflow({ input: z.object({ n: z.number() }) }).step("doubled", {
  action: internal.app.double,
  args: ({ input }) => {
    if (input.n > 0) throw new Error("no arguments today");
    return { n: input.n };
  },
});

/** Results that the types would have refused. */
export const results = defineWorkflow({
  input: z.object({
    what: z.enum([
      "date",
      "large",
      "long",
      "wide",
      "deep",
      "cyclic",
      "dollar",
      "function",
      "symbol",
    ]),
    in: z.enum(["action", "mutation"]),
  }),
})
  .step("first", {
    mutation: async (ctx, { input }) => {
      await ctx.db.insert("log", { text: "first" });
      return input.in === "mutation" ? unstorable(input.what) : null;
    },
  })
  .step("second", { action: async (_ctx, { input }) => unstorable(input.what) });

type Unstorable =
  "date" | "large" | "long" | "wide" | "deep" | "cyclic" | "dollar" | "function" | "symbol";

function unstorable(what: Unstorable): unknown[] {
  const cyclic: unknown[] = [];
  cyclic.push({ again: cyclic });
  const values: Record<Unstorable, unknown> = {
    date: { at: new Date(0) },
    large: "x".repeat(1_200_000),
    long: { list: Array.from({ length: 9_000 }, (_, n) => n) },
    wide: Object.fromEntries(Array.from({ length: 1_025 }, (_, n) => [`f${n}`, n])),
    deep: Array.from({ length: 20 }).reduce((inner) => [inner], 1),
    cyclic,
    dollar: { $a: 1 },
    function: { call: () => 1 },
    symbol: { [0]: Symbol("none") },
  };
  return [values[what]];
}

/**
 * By reference: a function whose result is no Convex value, or which does something else that
 * Convex refuses in the same words.
 */
export const givesNoValue = defineWorkflow({
  input: z.object({ in: z.enum(["action", "mutation", "query"]), what: z.string() }),
}).branch("how", {
  on: ({ input }) => input.in,
  cases: {
    action: (b) =>
      b.step("acted", {
        action: internal.app.giveNoValueInAction,
        args: ({ input }) => ({ what: input.what }),
        retry: true,
      }),
    mutation: (b) =>
      b.step("mutated", {
        mutation: internal.app.giveNoValue,
        args: ({ input }) => ({ what: input.what }),
      }),
    query: (b) =>
      b.step("queried", {
        query: internal.app.giveNoValueInQuery,
        args: ({ input }) => ({ what: input.what }),
      }),
  },
});

/** By reference, with arguments that are no Convex values. */
export const givesNoArguments = defineWorkflow({
  input: z.object({ in: z.enum(["action", "mutation"]) }),
}).branch("how", {
  on: ({ input }) => input.in,
  cases: {
    action: (b) =>
      b.step("acted", {
        action: internal.app.giveNoValueInAction,
        args: () => ({ what: new Date(0) as unknown as string }),
        retry: true,
      }),
    mutation: (b) =>
      b.step("mutated", {
        mutation: internal.app.giveNoValue,
        args: () => ({ what: new Date(0) as unknown as string }),
      }),
  },
});

/** What it is called with, and what it gives, is not for all eyes; and Convex refuses both. */
export const refusedSecrets = defineWorkflow({ input: z.object({ gives: z.boolean() }) })
  .step("asked", {
    action: internal.app.double,
    args: ({ input }) => ({ n: input.gives ? 1 : ("s3cret" as unknown as number) }),
    retry: true,
    sensitive: true,
  })
  .step("given", {
    mutation: (_ctx): unknown[] => [{ word: "s3cret", at: new Date(0) }],
    sensitive: true,
  });

/**
 * A mutation by reference, whose result is too large, between others that the same transaction
 * executes.
 */
export const givesMuch = defineWorkflow({ input: z.object({ goesOn: z.boolean() }) })
  .step("before", { mutation: internal.app.log, args: () => ({ text: "before" }) })
  .step("much", {
    mutation: internal.app.logAndGiveMuch,
    args: () => ({ text: "much" }),
    recover: (error, { input }) => {
      if (!input.goesOn) throw new Error(error.message);
      return error.kind;
    },
  })
  .step("after", { mutation: internal.app.log, args: ({ much }) => ({ text: `after ${much}` }) });

/** The same as the only step, … */
export const givesOnlyMuch = defineWorkflow({ input: z.object({}) }).step("much", {
  mutation: internal.app.logAndGiveMuch,
  args: () => ({ text: "much" }),
});

/** … and after an action. */
export const actsAndGivesMuch = defineWorkflow({ input: z.object({}) })
  .step("act", { action: async () => "acted" })
  .step("before", { mutation: internal.app.log, args: () => ({ text: "before" }) })
  .step("much", {
    mutation: internal.app.logAndGiveMuch,
    args: ({ act }) => ({ text: act }),
  });

/** The third of three fused mutations throws after it has written. */
export const thirdFails = defineWorkflow({ input: z.object({}) })
  .step("one", { mutation: async (ctx) => void (await ctx.db.insert("log", { text: "one" })) })
  .step("two", { mutation: async (ctx) => void (await ctx.db.insert("log", { text: "two" })) })
  .step("three", {
    mutation: async (ctx) => {
      await ctx.db.insert("log", { text: "three" });
      throw new ConvexError({ code: 3 });
    },
  })
  .step("four", { mutation: async (ctx) => void (await ctx.db.insert("log", { text: "four" })) });

/** Each step writes 3 MB; together they exceed what one transaction may write. */
export const heavy = defineWorkflow({ input: z.object({}) })
  .step("a", { mutation: async (ctx) => void (await ctx.runMutation(internal.ballast.add, {})) })
  .step("b", { mutation: async (ctx) => void (await ctx.runMutation(internal.ballast.add, {})) })
  .step("c", { mutation: async (ctx) => void (await ctx.runMutation(internal.ballast.add, {})) })
  .step("d", { mutation: async (ctx) => void (await ctx.runMutation(internal.ballast.add, {})) })
  .step("e", { mutation: async (ctx) => void (await ctx.runMutation(internal.ballast.add, {})) })
  .step("f", { mutation: async (ctx) => void (await ctx.runMutation(internal.ballast.add, {})) })
  .step("g", { query: async () => "done" });

export const isolated = defineWorkflow({ input: z.object({}) })
  .step("before", { mutation: async () => 1 })
  .step("alone", { mutation: async (_ctx, { before }) => before + 1, isolate: true })
  .step("after", { mutation: async (_ctx, { alone }) => alone + 1 });

/** Fails until the attempt that the input says. */
export const flaky = defineWorkflow({ input: z.object({ goodAttempt: z.number() }) }).step(
  "attempt",
  {
    action: async (_ctx, { input }, info) => {
      const { attempt, idempotencyKey, previousError } = info;
      if (attempt < input.goodAttempt) throw new Error(`attempt ${attempt} failed`);
      return { attempt, idempotencyKey, previous: previousError?.message ?? null };
    },
    retry: { maxAttempts: 4, initialBackoffMs: 1_000, base: 2 },
  },
);

/** Functions by reference that are handed what `info` says. */
export const delivers = defineWorkflow({ input: z.object({}) })
  .step("delivered", {
    action: internal.app.deliver,
    args: (_scope, { idempotencyKey, attempt }) => ({
      key: idempotencyKey,
      attempt,
      goodAttempt: 2,
    }),
    retry: true,
  })
  .loop("noting", {
    initial: () => "" as string | null,
    body: (b) =>
      b.step("noted", {
        mutation: internal.app.log,
        args: (_scope, info) => ({ text: `noted ${info.idempotencyKey}` }),
      }),
    until: ({ loop }) => loop.iteration === 2,
    maxIterations: 2,
  });

export const inheritsRetry = defineWorkflow({
  input: z.object({}),
  retry: { maxAttempts: 2, initialBackoffMs: 10, base: 1 },
}).step("attempt", {
  action: async () => {
    throw new Error("never");
  },
});

export const throws = defineWorkflow({
  input: z.object({ what: z.enum(["nonRetryable", "string", "undefined", "convex", "class"]) }),
}).step("attempt", {
  action: async (_ctx, { input }): Promise<null> => {
    if (input.what === "nonRetryable") throw new NonRetryableError("not this one", { code: 7 });
    if (input.what === "string") throw "just text";
    if (input.what === "undefined") throw undefined;
    if (input.what === "convex") throw new ConvexError({ code: 4 });
    throw new TypeError("wrong type");
  },
  retry: true,
});

export const slow = defineWorkflow({ input: z.object({ ms: z.number() }) }).step("wait", {
  action: async (_ctx, { input }, { signal }) => {
    await new Promise((resolve) => setTimeout(resolve, input.ms));
    return { aborted: signal.aborted };
  },
  timeout: "10s",
  retry: { maxAttempts: 2, initialBackoffMs: 1_000, base: 1 },
});

export const large = defineWorkflow({ input: z.object({ length: z.number() }) })
  .step("made", { action: async (_ctx, { input }) => "y".repeat(input.length) })
  .step("length", { action: async (_ctx, { made }) => made.length })
  .step("sum", { mutation: async (_ctx, { made, length }) => made.length + length });

/** The whole scope escapes. */
export const everything = defineWorkflow({ input: z.object({ n: z.number() }) })
  .step("one", { mutation: async () => 1 })
  .step("two", { action: async (_ctx, scope) => Object.keys(scope).sort() });

/** The second step fits into a transaction of its own, but not into what the first one leaves. */
export const heavyTogether = defineWorkflow({ input: z.object({}) })
  .step("six", { mutation: internal.ballast.add, args: () => ({ megabytes: 6 }) })
  .step("twelve", { mutation: internal.ballast.add, args: () => ({ megabytes: 12 }) });

/** Uses up what one transaction may write, and more. */
export const tooHeavy = defineWorkflow({ input: z.object({}) })
  .step("before", {
    mutation: async (ctx) => void (await ctx.db.insert("log", { text: "before" })),
  })
  .step("all", {
    mutation: async (ctx) => {
      for (let i = 0; i < 6; i++) await ctx.runMutation(internal.ballast.add, {});
    },
  });

export const afterAction = defineWorkflow({ input: z.object({ megabytes: z.number() }) })
  .step("fetched", { action: async () => "x".repeat(900_000) })
  .step("written", {
    mutation: internal.ballast.add,
    args: ({ input }) => ({ megabytes: input.megabytes }),
  })
  .finalize({ query: async () => "done" });

export const takesOne = defineWorkflow({ input: v.object({ n: v.number() }) }).step("one", {
  query: (_ctx, { input }) => input.n,
});

/** Gives a function or a child a field that it does not take: TypeScript does not see that. */
export const givesMore = defineWorkflow({
  input: z.object({ to: z.enum(["function", "child"]) }),
}).branch("given", {
  on: ({ input }) => input.to,
  cases: {
    function: (b) =>
      b.step("said", { mutation: internal.app.log, args: () => ({ text: "", more: 1 }) }),
    child: (b) => b.child("made", takesOne, () => ({ n: 1, more: 1 })),
  },
});
