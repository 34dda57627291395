import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/*
 * Workflows whose steps have a compensation, in trees and loops of every size. Each writes what it
 * does, and what undoes it.
 */

/** Makes something at once, then takes its time, and fails where it is told. */
export const item = defineWorkflow({
  input: z.object({ n: z.number(), ms: z.number().default(0), fails: z.boolean().default(false) }),
})
  .step("make", {
    mutation: async (ctx, { input }) => {
      await ctx.db.insert("log", { text: `make ${input.n}` });
      return input.n;
    },
    compensate: {
      mutation: async (ctx, { output }) => {
        await ctx.db.insert("log", { text: `undo ${output}` });
      },
    },
  })
  .sleep("wait", ({ input }) => input.ms)
  .step("last", {
    query: (_ctx, { input }) => {
      if (input.fails) throw new Error(`item ${input.n} fails`);
      return input.n;
    },
  });

/** Makes something, and is complete. */
export const piece = defineWorkflow({ input: z.object({ n: z.number() }) }).step("make", {
  mutation: async (ctx, { input }) => {
    await ctx.db.insert("log", { text: `make ${input.n}` });
    return input.n;
  },
  compensate: {
    mutation: async (ctx, { output }) => {
      await ctx.db.insert("log", { text: `undo ${output}` });
    },
  },
});

/** So many items, two at a time; those that come later wait for their turn. */
export const basket = defineWorkflow({
  input: z.object({ from: z.number(), of: z.number(), ms: z.number(), failing: z.number() }),
}).parent("items", {
  children: ({ input: { from, of, ms, failing } }) =>
    Array.from({ length: of }, (_, n) =>
      child(item, {
        n: from + n,
        ms: from + n === failing ? 60_000 : ms,
        fails: from + n === failing,
      }),
    ),
  concurrency: 2,
  finalize: { query: (_ctx, { children }) => children.length },
});

/** Opens; then come baskets of items, two levels below. */
export const shop = defineWorkflow({
  input: z.object({
    baskets: z.number(),
    items: z.number(),
    ms: z.number(),
    failing: z.number().default(-1),
  }),
  timeout: "1h",
})
  .step("open", {
    mutation: async (ctx) => void (await ctx.db.insert("log", { text: "open" })),
    compensate: {
      mutation: async (ctx) => void (await ctx.db.insert("log", { text: "close" })),
    },
  })
  .parent("baskets", {
    children: ({ input: { baskets, items, ms, failing } }) =>
      Array.from({ length: baskets }, (_, n) =>
        child(basket, { from: n * items, of: items, ms, failing }),
      ),
    finalize: { query: (_ctx, { children }) => children.length },
  });

/** Opens; then come pieces, and at last some items, which take an hour. */
export const fair = defineWorkflow({
  input: z.object({ items: z.number(), slow: z.number(), fails: z.boolean().default(false) }),
})
  .step("open", {
    mutation: async (ctx) => void (await ctx.db.insert("log", { text: "open" })),
    compensate: {
      mutation: async (ctx) => void (await ctx.db.insert("log", { text: "close" })),
    },
  })
  .parent("items", {
    children: ({ input: { items, slow } }) =>
      Array.from({ length: items }, (_, n) =>
        n < items - slow ? child(piece, { n }) : child(item, { n, ms: 3_600_000 }),
      ),
    finalize: { query: (_ctx, { children }) => children.length },
  })
  .step("last", {
    query: (_ctx, { input }) => {
      if (input.fails) throw new Error("the fair fails");
      return null;
    },
  });

/**
 * Every third iteration does something that can be undone, and what undoes it sees all that the
 * iteration has made.
 */
export const rounds = defineWorkflow({
  input: z.object({ iterations: z.number(), in: z.enum(["action", "mutation"]) }),
})
  .step("before", { query: () => "before" })
  .loop("again", {
    initial: () => "s0",
    body: (b) =>
      b
        .step("a", { query: (_ctx, { loop }) => `a${loop.iteration}` })
        .branch("how", {
          on: ({ loop, input }) => (loop.iteration % 3 > 0 ? "plain" : input.in),
          cases: {
            plain: (c) => c.step("p", { query: (_ctx, { loop }) => `p${loop.iteration}` }),
            mutation: (c) =>
              c.step("q", { query: (_ctx, { loop }) => `q${loop.iteration}` }).step("m", {
                mutation: (_ctx, { loop }) => `m${loop.iteration}`,
                compensate: {
                  mutation: async (ctx, { before, a, q, output, loop }) => {
                    const { state, iteration } = loop;
                    const text = `${iteration}: ${[before, state, a, q, output].join(" ")}`;
                    await ctx.db.insert("log", { text });
                  },
                },
              }),
            action: (c) =>
              c.step("r", { query: (_ctx, { loop }) => `r${loop.iteration}` }).step("x", {
                action: (_ctx, { loop }) => `x${loop.iteration}`,
                compensate: {
                  action: async (ctx, { before, a, r, output, loop }) => {
                    const { state, iteration } = loop;
                    const text = `${iteration}: ${[before, state, a, r, output].join(" ")}`;
                    await ctx.runMutation(internal.app.log, { text });
                  },
                },
              }),
          },
        })
        .step("s", {
          query: (_ctx, { how, loop }) => {
            if (!how.endsWith(`${loop.iteration}`))
              throw new Error(`${how} is of another iteration`);
            return `s${loop.iteration}`;
          },
        }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 1_000,
  })
  .step("last", {
    query: (): null => {
      throw new Error("it fails");
    },
  });

/** A long loop in each iteration of another; both do something in some of their iterations. */
export const spiral = defineWorkflow({
  input: z.object({ outer: z.number(), inner: z.number() }),
})
  .loop("outer", {
    initial: () => "o0",
    body: (b) =>
      b
        .step("o", { query: (_ctx, { loop }) => `o${loop.iteration}` })
        .loop("inner", {
          initial: ({ o }) => `${o}i0`,
          body: (c) =>
            c
              .step("i", { query: (_ctx, { o, loop }) => `${o}i${loop.iteration}` })
              .branch("some", {
                on: ({ loop }) => (loop.iteration % 50 === 1 ? "yes" : "no"),
                cases: {
                  no: (d) => d,
                  yes: (d) =>
                    d.step("d", {
                      query: (_ctx, { i }) => `${i}d`,
                      compensate: {
                        mutation: async (ctx, { o, i, output, loop }) => {
                          const text = [o, i, output, loop.iteration, loop.state].join(" ");
                          await ctx.db.insert("log", { text });
                        },
                      },
                    }),
                },
              })
              .step("next", { query: (_ctx, { i }) => i }),
          until: ({ loop, input }) => loop.iteration >= input.inner,
          maxIterations: 1_000,
        })
        .step("e", {
          query: (_ctx, { o }) => `${o}e`,
          compensate: {
            mutation: async (ctx, { o, inner, output, loop }) => {
              const text = [o, inner, output, loop.iteration, loop.state].join(" ");
              await ctx.db.insert("log", { text });
            },
          },
        })
        .step("next", { query: (_ctx, { o }) => o }),
    until: ({ loop, input }) => loop.iteration >= input.outer,
    maxIterations: 1_000,
  })
  .step("last", {
    query: (): null => {
      throw new Error("it fails");
    },
  });

/** What fails for good recovers, and that can be undone; what does not recover cannot. */
export const mended = defineWorkflow({ input: z.object({}) })
  .step("fused", {
    mutation: (): number => {
      throw new Error("not fused");
    },
    recover: ({ message }) => `mended: ${message}`,
    compensate: {
      mutation: async (ctx, { output, error }) => {
        await ctx.db.insert("log", { text: `undo fused, ${output}, ${error.node}` });
      },
    },
  })
  .step("acted", {
    action: (): number => {
      throw new Error("not acted");
    },
    retry: { maxAttempts: 2, initialBackoffMs: 1_000, base: 1 },
    recover: ({ message, attempt }) => `mended: ${message}, attempt ${attempt}`,
    compensate: {
      action: async (ctx, { fused, output, error }) => {
        const text = `undo acted, ${output}, after ${fused}, ${error.node}`;
        await ctx.runMutation(internal.app.log, { text });
      },
    },
  })
  .step("unmended", {
    mutation: (): number => {
      throw new Error("not this one");
    },
    recover: (): number => {
      throw new Error("nor this");
    },
    compensate: {
      mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undo unmended" })),
    },
  });

/** What undoes the second step goes as it is told; then the first one is undone. */
export const clumsy = defineWorkflow({
  input: z.object({
    ms: z.number().default(0),
    goodAttempt: z.number().default(1),
    fails: z.boolean().default(true),
  }),
  timeout: "1h",
})
  .step("first", {
    query: () => 1,
    compensate: {
      mutation: async (ctx, { output }) => {
        await ctx.db.insert("log", { text: `undo first ${output}` });
      },
    },
  })
  .step("second", {
    action: () => 2,
    compensate: {
      action: async (ctx, { input, first, output }, info) => {
        const { attempt, idempotencyKey, previousError } = info;
        const [, ...key] = idempotencyKey.split("/");
        const what = [attempt, first, output, key.join("/"), previousError?.kind];
        await ctx.runMutation(internal.app.log, { text: `undoing second ${what.join(" ")}` });
        if (input.ms > 0) await new Promise((resolve) => setTimeout(resolve, input.ms));
        if (attempt < input.goodAttempt) throw new Error(`attempt ${attempt} failed`);
        const text = (await info.isCanceled()) ? "canceled" : "undo second";
        await ctx.runMutation(internal.app.log, { text });
        // No value that could be stored, and nobody wants it.
        return new Date(0);
      },
      retry: { maxAttempts: 3, initialBackoffMs: 60_000, base: 1 },
      timeout: "10m",
    },
  })
  .sleep("wait", "1m")
  .step("last", {
    query: (_ctx, { input }) => {
      if (input.fails) throw new Error("it fails");
      return null;
    },
  });

/** What undoes its step gives back what could not be stored. */
export const careless = defineWorkflow({ input: z.object({}) })
  .step("inline", {
    query: () => 1,
    compensate: {
      mutation: async (ctx) => {
        await ctx.db.insert("log", { text: "undo inline" });
        return new Map([[1, 2]]);
      },
    },
  })
  .step("referenced", {
    query: () => 2,
    compensate: {
      mutation: internal.app.logAndGiveMuch,
      args: ({ output }) => ({ text: `undo referenced ${output}` }),
    },
  })
  .step("last", {
    query: (): null => {
      throw new Error("it fails");
    },
  });

/** The last of its steps cancels the run. */
export const givesUp = defineWorkflow({ input: z.object({ in: z.enum(["action", "mutation"]) }) })
  .branch("how", {
    on: ({ input }) => input.in,
    cases: {
      action: (b) =>
        b.step("a", {
          action: async (ctx) => await ctx.runMutation(internal.app.log, { text: "make" }),
          compensate: {
            mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undo" })),
          },
        }),
      mutation: (b) =>
        b.step("m", {
          mutation: async (ctx) => void (await ctx.db.insert("log", { text: "make" })),
          compensate: {
            mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undo" })),
          },
        }),
    },
  })
  .step("stop", {
    mutation: async (ctx, _scope, { runId }) => {
      await ctx.db.insert("log", { text: "stop" });
      await ctx.runMutation(internal.runs.cancel, { runId });
    },
  })
  .step("after", {
    mutation: async (ctx) => void (await ctx.db.insert("log", { text: "after" })),
  });

/** Something that can be undone on every level; at the bottom it waits. */
export const shaft = defineWorkflow({ input: z.object({ depth: z.number() }) })
  .step("dig", {
    query: (_ctx, { input }) => input.depth,
    compensate: {
      mutation: async (ctx, { output, error }) => {
        const text = error.kind === "canceled" ? `undo ${output}` : error.message;
        await ctx.db.insert("log", { text });
      },
    },
  })
  .parent("below", {
    children: ({ input }) =>
      input.depth === 0 ? [] : [childNamed<number>("shaft", { depth: input.depth - 1 })],
  })
  .sleep("wait", "1h")
  .finalize({ query: () => 1 });

/** What it has made cannot be undone. */
export const stuck = defineWorkflow({
  input: z.object({ n: z.number(), ms: z.number(), fails: z.boolean().default(false) }),
})
  .step("make", {
    query: (_ctx, { input }) => input.n,
    compensate: {
      mutation: (_ctx, { output }): null => {
        throw new Error(`stuck ${output}`);
      },
    },
  })
  .sleep("wait", ({ input }) => input.ms)
  .finalize({
    query: (_ctx, { input }) => {
      if (input.fails) throw new Error("stuck fails");
      return input.n;
    },
  });

/**
 * Of children on two levels that cannot be undone one is complete, the others go on; one may fail.
 */
export const jam = defineWorkflow({ input: z.object({ fails: z.boolean() }) })
  .child("before", stuck, () => ({ n: 1, ms: 0 }))
  .parent("all", {
    children: ({ input: { fails } }) => [
      child(stuck, { n: 2, ms: 0 }),
      child(stuck, { n: 3, ms: fails ? 120_000 : 3_600_000, fails }),
    ],
  });
export const jams = defineWorkflow({ input: z.object({ fails: z.boolean() }) }).parent("all", {
  children: ({ input }) => [child(jam, input), child(stuck, { n: 4, ms: 3_600_000 })],
});

/** Its second step keeps a secret. */
export const discreet = defineWorkflow({ input: z.object({}) })
  .step("pay", {
    query: () => 7,
    compensate: {
      mutation: async (ctx, { output }) => {
        await ctx.db.insert("log", { text: `undo pay ${output}` });
      },
    },
  })
  .step("secret", {
    query: () => "the word is swordfish",
    sensitive: true,
    compensate: {
      action: async (ctx, { pay, output }) => {
        const text = `undo secret of ${output.length} letters, ${pay}`;
        await ctx.runMutation(internal.app.log, { text });
      },
    },
  })
  .sleep("wait", "1m")
  .step("last", {
    query: (): null => {
      throw new Error("it fails");
    },
  });

/** One of its items may fail; then it fails itself. */
export const indulgent = defineWorkflow({ input: z.object({}) })
  .parent("items", {
    children: () => [
      child(item, { n: 1, ms: 1_000, fails: true }),
      child(item, { n: 2, ms: 60_000 }),
      child(item, { n: 3 }),
    ],
    tolerate: { failures: 1 },
  })
  .step("last", {
    query: (): null => {
      throw new Error("it fails");
    },
  });

/**
 * A tree of whatever shape and pace it is told: what is made on the way to the children, what they
 * make, and what comes after.
 */
export const maple = defineWorkflow({
  input: z.object({
    name: z.string(),
    /**
     * How long it waits before its children and after them, and how long it takes to be undone, in
     * ms.
     */
    before: z.number(),
    after: z.number(),
    undoing: z.number(),
    iterations: z.number(),
    tolerant: z.boolean(),
    fails: z.enum(["no", "before", "after"]),
    kids: z.array(z.any()),
  }),
})
  .step("make", {
    mutation: async (ctx, { input }) => {
      await ctx.db.insert("log", { text: `make ${input.name}` });
      return input.name;
    },
    compensate: {
      action: async (ctx, { input, output }) => {
        if (input.undoing > 0) await new Promise((resolve) => setTimeout(resolve, input.undoing));
        await ctx.runMutation(internal.app.log, { text: `undo ${output}` });
      },
    },
  })
  .sleep("before", ({ input }) => input.before)
  .step("middle", {
    action: (_ctx, { input }) => {
      if (input.fails === "before") throw new Error(`${input.name} fails`);
      return null;
    },
  })
  .loop("again", {
    initial: () => null,
    body: (b) =>
      b
        .step("pass", {
          mutation: async (ctx, { input, loop }) => {
            const made = `${input.name}#${loop.iteration}`;
            await ctx.db.insert("log", { text: `make ${made}` });
            return made;
          },
          compensate: {
            mutation: async (ctx, { output }) => {
              await ctx.db.insert("log", { text: `undo ${output}` });
            },
          },
        })
        .branch("how", {
          on: ({ input }) => (input.tolerant ? "tolerant" : "strict"),
          cases: {
            strict: (c) =>
              c.parent("kids", {
                children: ({ input, loop }) =>
                  (loop.iteration === 1 ? input.kids : []).map((kid) =>
                    childNamed<null>("maple", kid),
                  ),
              }),
            tolerant: (c) =>
              c.parent("kids", {
                children: ({ input, loop }) =>
                  (loop.iteration === 1 ? input.kids : []).map((kid) =>
                    childNamed<null>("maple", kid),
                  ),
                concurrency: 2,
                tolerate: "all",
              }),
          },
        })
        .step("last", { query: () => null }),
    until: ({ loop, input }) => loop.iteration >= input.iterations,
    maxIterations: 10,
  })
  .sleep("after", ({ input }) => input.after)
  .step("last", {
    query: (_ctx, { input }) => {
      if (input.fails === "after") throw new Error(`${input.name} fails`);
      return null;
    },
  });

/**
 * On each level something is made; to undo that on the lowest takes nearly all the queries that a
 * transaction has.
 */
export const thirsty = defineWorkflow({ input: z.object({ levels: z.number() }) })
  .step("made", {
    mutation: async () => null,
    compensate: {
      mutation: async (ctx, { input: { levels } }) => {
        const queries = levels === 0 ? 3_800 : 0;
        for (let n = 0; n < queries; n++) await ctx.db.query("ballast").first();
        await ctx.db.insert("log", { text: `undo ${levels}` });
      },
    },
  })
  .parent("below", {
    children: ({ input: { levels } }) =>
      levels === 0 ? [] : [childNamed<unknown>("thirsty", { levels: levels - 1 })],
  });

export const thirstyAll = defineWorkflow({ input: z.object({ levels: z.number() }) })
  .child("all", thirsty, ({ input }) => input)
  .step("fails", {
    query: (): null => {
      throw new Error("it fails");
    },
  });
