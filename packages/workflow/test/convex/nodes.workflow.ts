import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf } from "./parents.workflow";

/* One workflow for each kind of node that waits, chooses or repeats. */

export const sleeps = defineWorkflow({
  input: z.object({ ms: z.number(), until: z.number().optional() }),
})
  .step("before", { mutation: internal.app.log, args: () => ({ text: "before" }) })
  .sleep("fixed", "10m")
  .sleep("computed", ({ input }) => (input.until === undefined ? input.ms : new Date(input.until)))
  .step("after", { mutation: internal.app.log, args: () => ({ text: "after" }) });

export const sleepsLocally = defineWorkflow({
  input: z.object({ at: z.string(), zone: z.string() }),
})
  .sleep("fixed", { at: "02:30", zone: "Europe/Berlin" })
  .sleep("computed", ({ input }) => ({ at: input.at, zone: input.zone }));

export const approval = defineWorkflow({ input: z.object({}) })
  .step("asked", { mutation: internal.app.log, args: () => ({ text: "asked" }) })
  .event("decision", { schema: z.object({ by: z.string(), ok: z.boolean().default(true) }) })
  .finalize({ mutation: (_ctx, { decision }) => `${decision.by} ${decision.ok}` });

export const awaited = defineWorkflow({ input: z.object({}) })
  .event("first", { anyOf: { paid: z.object({ cents: z.number() }), canceled: z.string() } })
  .event("second", { anyOf: { paid: z.object({ cents: z.number() }) }, timeout: "1h" })
  .finalize({ mutation: (_ctx, { first, second }) => ({ first, second }) });

export const routed = defineWorkflow({ input: z.object({ n: z.number() }) })
  .step("doubled", { query: (_ctx, { input }) => input.n * 2 })
  .branch("route", {
    on: ({ doubled }) => (doubled > 10 ? "big" : doubled < 0 ? stray() : "small"),
    cases: {
      big: (b) =>
        b
          .step("x", { action: (_ctx, { doubled }) => doubled + 1 })
          .step("y", { mutation: (_ctx, { x, input }) => `big ${x} of ${input.n}` }),
      small: (b) => b.step("z", { query: (_ctx, { doubled }) => `small ${doubled}` }),
    },
  })
  .finalize({ query: (_ctx, { route }) => ({ route }) });

/** A key that the types would have refused. */
function stray(): never {
  return "none" as never;
}

export const counted = defineWorkflow({
  input: z.object({ to: z.number(), inAction: z.boolean().default(false) }),
})
  .loop("count", {
    initial: () => ({ n: 0, keys: [] as string[] }),
    body: (b) =>
      b
        .branch("how", {
          on: ({ input }) => (input.inAction ? "action" : "mutation"),
          cases: {
            action: (c) => c.step("a", { action: (_ctx, { loop }) => loop.state.n + 1 }),
            mutation: (c) => c.step("m", { mutation: (_ctx, { loop }) => loop.state.n + 1 }),
          },
        })
        .step("next", {
          mutation: (_ctx, { how, loop }, info) => ({
            n: how,
            keys: loop.iteration > 3 ? loop.state.keys : [...loop.state.keys, info.idempotencyKey],
          }),
        }),
    until: ({ loop, input }) => loop.state.n >= input.to,
    maxIterations: 20,
  })
  .finalize({ query: (_ctx, { count }) => count });

export const nestedLoops = defineWorkflow({ input: z.object({ outer: z.number() }) }).loop(
  "outer",
  {
    initial: () => [] as string[],
    body: (b) =>
      b
        .loop("inner", {
          initial: () => 0,
          body: (c) =>
            c.step("add", { mutation: (_ctx, { loop }) => loop.state + 1 }).sleep("rest", "1s"),
          until: ({ loop }) => loop.state >= 2,
          maxIterations: 5,
        })
        .step("noted", {
          mutation: (_ctx, { loop, inner }) => [...loop.state, `${loop.iteration}:${inner}`],
        }),
    until: ({ loop, input }) => loop.iteration >= input.outer,
    maxIterations: 10,
  },
);

export const single = defineWorkflow({ input: z.object({ n: z.number(), fails: z.boolean() }) })
  .child("one", leaf, ({ input }) => ({ n: input.n, fails: input.fails }))
  .finalize({ query: (_ctx, { one }) => ({ one }) });

export const descends = defineWorkflow({ input: z.object({ depth: z.number() }) })
  .parent("below", {
    children: ({ input }) =>
      input.depth === 0 ? [] : [childNamed<number>("descends", { depth: input.depth - 1 })],
  })
  .finalize({ query: (_ctx, { below }) => 1 + (below.children[0] ?? 0) });

export const tolerant = defineWorkflow({
  input: z.object({ bad: z.number(), of: z.number(), ms: z.number().default(0) }),
}).parent("some", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_, n) =>
      child(leaf, { n, fails: n < input.bad, ms: n < input.bad ? 0 : input.ms }),
    ),
  tolerate: { failures: 2 },
  finalize: {
    mutation: (_ctx, { children }) =>
      children.map((one) => (one.ok ? `${one.output}` : one.error.message)),
  },
});

export const reduced = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("all", {
  children: ({ input }) => Array.from({ length: input.of }, (_, n) => child(leaf, { n })),
  reduce: { initial: "", step: (text, output, key) => `${text} ${key}:${output}` },
  finalize: { mutation: (_ctx, { children }) => children },
});

/** Each step writes what it does, and what undoes it. */
export const saga = defineWorkflow({
  input: z.object({ fail: z.enum(["no", "ship", "late", "undo"]) }),
})
  .step("reserve", {
    mutation: async (ctx) => {
      await ctx.db.insert("log", { text: "reserve" });
      return { id: 7 };
    },
    compensate: {
      mutation: async (ctx, { output, error }) => {
        await ctx.db.insert("log", { text: `undo reserve ${output.id}: ${error.kind}` });
      },
    },
  })
  .step("charge", {
    action: async (ctx) => {
      await ctx.runMutation(internal.app.log, { text: "charge" });
      return { cents: 5 };
    },
    compensate: {
      action: async (ctx, { output, input, reserve }, info) => {
        await ctx.runMutation(internal.app.log, {
          text: `undo charge ${output.cents} of ${reserve.id}, attempt ${info.attempt}`,
        });
        if (input.fail === "undo") throw new Error("cannot undo");
      },
      retry: { maxAttempts: 2, initialBackoffMs: 100, base: 2 },
    },
  })
  .sleep("wait", "1h")
  .step("ship", {
    action: async (_ctx, { input }) => {
      if (input.fail === "ship" || input.fail === "undo") throw new Error("no ship");
      return null;
    },
  });

export const sagaAbove = defineWorkflow({ input: z.object({ children: z.number() }) })
  .parent("orders", {
    children: ({ input }) =>
      Array.from({ length: input.children }, () => child(saga, { fail: "no" })),
  })
  .step("fails", {
    mutation: () => {
      throw new Error("too bad");
    },
  });

export const risky = defineWorkflow({
  input: z.object({ how: z.enum(["well", "badly", "worse"]) }),
})
  .step("tried", {
    action: async (_ctx, { input }) => {
      if (input.how !== "well") throw new Error("tried in vain");
      return "well";
    },
    retry: { maxAttempts: 2, initialBackoffMs: 100, base: 1 },
    recover: (error, { input }) => {
      if (input.how === "worse") throw new Error("no recovery");
      return `recovered from ${error.message}`;
    },
  })
  .step("fused", {
    mutation: (_ctx, { input }) => {
      if (input.how !== "well") throw new Error("fused in vain");
      return "well";
    },
    recover: () => "recovered",
  })
  .finalize({ query: (_ctx, { tried, fused }) => [tried, fused] });

export const limited = defineWorkflow({
  input: z.object({ ms: z.number() }),
  timeout: "1h",
}).parent("inTime", {
  timeout: "10m",
  children: ({ input }) => [child(sleeper, { ms: input.ms })],
});

export const sleeper = defineWorkflow({ input: z.object({ ms: z.number() }) }).sleep(
  "a",
  ({ input }) => input.ms,
);

export const tooLong = defineWorkflow({ input: z.object({ ms: z.number() }), timeout: "1h" })
  .step("before", {
    mutation: async () => null,
    compensate: { mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undone" })) },
  })
  .sleep("a", ({ input }) => input.ms);

/** Functions of the definition that change what they are given. */
export const meddles = defineWorkflow({ input: z.object({ list: z.array(z.number()) }) })
  .step("top", { query: async (_ctx, { input }) => input.list })
  .branch("greater", {
    on: ({ top }) => (top.sort((one, other) => other - one)[0]! > 2 ? "yes" : "no"),
    cases: {
      yes: (b) => b.sleep("rest", ({ top }) => top.push(4)).step("sum", { query: sum }),
      no: (b) => b.step("none", { query: () => 0 }),
    },
  })
  .loop("again", {
    initial: ({ top }) => ({ seen: top.splice(1) }),
    body: (b) => b.step("same", { mutation: async (_ctx, { loop }) => loop.state }),
    until: ({ loop }) => loop.state.seen.push(9) > 0 && loop.iteration === 2,
    maxIterations: 2,
  })
  .step("acted", {
    action: async (_ctx, { top }) => {
      if (top.push(5) > 0) throw new Error("never");
      return top;
    },
    recover: (error, { top }) => [top.push(6), (error.message += "!")].length,
  })
  .step("referenced", {
    query: internal.app.count,
    args: ({ top }) => {
      top.reverse();
      return {};
    },
  })
  .parent("leaves", {
    children: ({ top, again }) => [
      child(leaf, { n: top.push(7) }),
      child(leaf, { n: again.seen.push(8) }),
    ],
  })
  .finalize({
    query: async (_ctx, { input, top, again, greater }) => ({ input, top, again, greater }),
  });

async function sum(_ctx: unknown, { top }: { top: number[] }) {
  return top.reduce((one, other) => one + other, 0);
}

/** Functions that must not be async, and are. */
export const promises = defineWorkflow({
  input: z.object({ in: z.enum(["on", "until", "children", "of", "args"]) }),
})
  .branch("way", {
    on: ({ input }) => later(input.in === "on", "a" as const),
    cases: { a: (b) => b },
  })
  .loop("again", {
    initial: () => 0,
    body: (b) => b.step("one", { query: () => 1 }),
    until: ({ input }) => later(input.in === "until", true),
    maxIterations: 3,
  })
  .parent("all", {
    children: ({ input }) => later(input.in === "children", [child(leaf, { n: 1 })]),
  })
  .each("items", {
    of: ({ input }) => later(input.in === "of", [1]),
    body: (b) => b.step("two", { query: () => 2 }),
  })
  .step("called", {
    mutation: internal.app.log,
    args: ({ input }) => later(input.in === "args", { text: "called" }),
  });

/** It fails, as an async function that lacks something does. */
function later<Value>(isLater: boolean, value: Value): Value {
  return isLater ? (Promise.reject(new Error("too late")) as Value) : value;
}
