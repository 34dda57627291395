import { child, defineWorkflow, type Child } from "@stepwise/workflow";
import { ConvexError, type Value } from "convex/values";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf } from "./parents.workflow";

/* Workflows that somebody has written who did not write the run time, to see what it does not expect. */

/** What it was told it tells itself once more. */
export const echoes = defineWorkflow({ input: z.object({}) })
  .event("word", { schema: z.number() })
  .step("said", {
    mutation: async (ctx, { word }, { runId }) => {
      await ctx.runMutation(internal.app.log, { text: `said ${word}` });
      await ctx.runMutation(internal.manager.sendEvent, {
        name: "echoes",
        run: runId,
        event: "word",
        payload: word + 1,
      });
    },
  })
  .event("again", { anyOf: { word: z.number() } })
  .finalize({ query: async (_ctx, { again }) => again.value });

/** Two of them throw a ball to each other, a pass of each at a time. */
export const player = defineWorkflow({ input: z.object({ name: z.string(), throws: z.number() }) })
  .loop("game", {
    initial: () => 0,
    body: (b) =>
      b.event("ball", { schema: z.array(z.string()) }).step("thrown", {
        mutation: async (ctx, { ball, input, loop }) => {
          await ctx.runMutation(internal.app.log, { text: `${input.name} ${ball.length}` });
          const [to, ...rest] = ball;
          if (to !== undefined)
            await ctx.runMutation(internal.manager.sendEvent, {
              name: "player",
              run: to,
              event: "ball",
              payload: rest,
            });
          return loop.state + 1;
        },
      }),
    until: ({ loop, input }) => loop.state >= input.throws,
    maxIterations: 100,
  })
  .finalize({ query: async (_ctx, { game }) => game });

/** A value, so many levels deep. */
function nested(levels: number): Value {
  let value: Value = "bottom";
  for (let n = 0; n < levels; n++) value = [value];
  return value;
}

async function nothing(): Promise<null> {
  return null;
}

/** Its state is as deep as it is told, and a step that sees it can be undone. */
export const deepState = defineWorkflow({ input: z.object({ levels: z.number() }) }).loop("go", {
  state: z.any(),
  initial: ({ input }): unknown => nested(input.levels),
  body: (b) =>
    b
      .step("done", { mutation: nothing, compensate: { mutation: nothing } })
      .step("state", { query: async (_ctx, { loop }): Promise<Value> => loop.state }),
  until: ({ loop }) => loop.iteration === 2,
  maxIterations: 3,
});

/** What its child's output is folded to is as deep as it is told. */
export const deepFold = defineWorkflow({ input: z.object({ levels: z.number() }) }).parent("all", {
  children: ({ input }) => [child(leaf, { n: input.levels / 10 })],
  reduce: { initial: null as Value, step: (_before, levels) => nested(Number(levels)) },
  finalize: {
    action: async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return "folded";
    },
  },
});

/** Takes whatever it is sent. */
export const deepEvent = defineWorkflow({ input: z.object({}) })
  .event("any", { anyOf: { one: z.any(), other: z.any() }, timeout: "1h" })
  .finalize({ query: async () => "taken" });

/** In its chosen case stands a branch whose chosen case is empty. */
export const choosy = defineWorkflow({ input: z.object({ asks: z.boolean() }) })
  .branch("outer", {
    on: () => "only" as const,
    cases: {
      only: (b) =>
        b
          .branch("inner", {
            on: ({ input }) => (input.asks ? "asks" : "none"),
            cases: {
              asks: (c) => c.event("answer", { schema: z.string() }),
              none: (c) => c,
            },
          })
          .sleep("rest", "1h"),
    },
  })
  .finalize({ query: async () => "done" });

/** What one of its children has done cannot be undone; another fails. */
export const halfUndone = defineWorkflow({ input: z.object({ ms: z.number() }) }).parent("all", {
  children: ({ input }) => [
    child(undoneBadly, {}),
    child(leaf, { n: 1, fails: true, ms: input.ms }),
  ],
});
export const undoneBadly = defineWorkflow({ input: z.object({}) })
  .step("done", {
    mutation: nothing,
    compensate: {
      mutation: async (): Promise<null> => {
        throw new Error("it cannot be undone");
      },
    },
  })
  .sleep("rest", "1d");

/** A large state, and many small steps that can be undone. */
export const heavyState = defineWorkflow({
  input: z.object({ bytes: z.number(), passes: z.number() }),
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
  until: ({ loop, input }) => loop.iteration === input.passes,
  maxIterations: 10,
});

/** Two loops one after the other; what the first does can be undone. */
export const twoLoops = defineWorkflow({ input: z.object({ passes: z.number() }) })
  .loop("first", {
    initial: () => null,
    body: (b) => b.step("done", { mutation: nothing, compensate: { mutation: nothing } }),
    until: ({ loop, input }) => loop.iteration === input.passes,
    maxIterations: 1_000,
  })
  .loop("second", {
    initial: () => 0,
    body: (b) => b.step("counted", { query: async (_ctx, { loop }) => loop.iteration }),
    until: ({ loop, input }) => loop.iteration === input.passes,
    maxIterations: 1_000,
  });

export const keepsSecret = defineWorkflow({ input: z.object({}) }).step("token", {
  mutation: async () => "s3cret",
  sensitive: true,
});
/** A secret that a child gives, read by an action. */
export const confides = defineWorkflow({ input: z.object({}) })
  .child("kept", keepsSecret, () => ({}))
  .step("used", { action: async (_ctx, { kept }) => kept.length });

/** Throws data of a shape that no document can hold. */
export const shapelessError = defineWorkflow({
  input: z.object({ what: z.enum(["long", "wide", "unnamed"]), in: z.enum(["action", "query"]) }),
}).branch("how", {
  on: ({ input }) => input.in,
  cases: {
    action: (b) =>
      b.step("a", {
        action: async (_ctx, { input }): Promise<null> => {
          throw new ConvexError(shapeless(input.what));
        },
      }),
    query: (b) =>
      b.step("q", {
        query: async (_ctx, { input }): Promise<null> => {
          throw new ConvexError(shapeless(input.what));
        },
      }),
  },
});
function shapeless(what: "long" | "wide" | "unnamed"): Value {
  if (what === "long") return Array.from({ length: 9_000 }, () => null);
  if (what === "wide")
    return Object.fromEntries(Array.from({ length: 1_100 }, (_none, n) => [`f${n}`, null]));
  return { "": null };
}

/** Its children are given something that may be anything. */
export const givesAnything = defineWorkflow({ input: z.object({ levels: z.number() }) }).parent(
  "all",
  {
    children: ({ input }) => [
      child(anything, { value: nested(input.levels) }),
      child(anything, { value: null }),
    ],
    tolerate: "all",
    finalize: { query: async (_ctx, { children }) => children.map(({ ok }) => ok) },
  },
);
export const anything = defineWorkflow({ input: z.object({ value: z.any() }) }).step("seen", {
  query: async () => null,
});

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
    action: internal.review.steer,
    args: ({ input }, { runId }) => ({ name: "actsOnItself", runId, how: input.how }),
  })
  .step("after", { mutation: internal.app.log, args: ({ act }) => ({ text: `after ${act}` }) });

/** Waits for a word; when none comes it says one itself. */
export const impatient = defineWorkflow({ input: z.object({}) })
  .event("word", { schema: z.string(), timeout: "1h" })
  .step("said", {
    mutation: async (ctx, { word }, { runId }) => {
      await ctx.runMutation(internal.app.log, { text: `said ${word.timedOut}` });
      await ctx.runMutation(internal.manager.sendEvent, {
        name: "impatient",
        run: runId,
        event: "word",
        payload: "own",
      });
    },
  })
  .event("again", { anyOf: { word: z.string() }, timeout: "1h" })
  .finalize({ query: async (_ctx, { word, again }) => ({ word, again }) });

/** Loops whose bodies do nothing. */
export const idleLoops = defineWorkflow({ input: z.object({ passes: z.number() }) })
  .loop("sleeping", {
    initial: () => null,
    body: (b) => b.sleep("none", 0),
    until: ({ loop, input }) => loop.iteration >= input.passes,
    maxIterations: 10_000,
  })
  .loop("choosing", {
    initial: () => null,
    body: (b) => b.branch("which", { on: () => "none" as const, cases: { none: (c) => c } }),
    until: ({ loop, input }) => loop.iteration >= input.passes,
    maxIterations: 10_000,
  })
  .loop("hearing", {
    initial: () => 0,
    body: (b) => b.event("word", { schema: z.number() }),
    until: ({ loop, input }) => loop.iteration >= input.passes,
    maxIterations: 10_000,
  });

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
