import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/* Workflows of whose runs with one key one goes on at a time. */

const Turn = z.object({
  key: z.string().optional(),
  name: z.string().default(""),
  restMs: z.number().default(10 * 60_000),
  fails: z.boolean().default(false),
  secret: z.string().default(""),
  below: z.array(z.string()).default([]),
});
type Turn = z.infer<typeof Turn>;

const key = ({ input }: { input: Turn }) => input.key;

export const oneWaits = defineWorkflow({
  input: Turn,
  one: { key, otherwise: "wait" },
  timeout: "1h",
})
  .step("begin", {
    mutation: async (ctx, { input }) => void (await ctx.db.insert("log", { text: input.name })),
    compensate: {
      action: async () => {},
    },
  })
  .sleep("rest", ({ input }) => input.restMs)
  .step("last", {
    mutation: async (ctx, { input }) => {
      if (input.fails) throw new Error("asked to fail");
      await ctx.db.insert("log", { text: `${input.name} ended` });
    },
  });

export const oneSkips = defineWorkflow({ input: Turn, one: { key, otherwise: "skip" } }).sleep(
  "rest",
  "10m",
);

export const oneCancels = defineWorkflow({ input: Turn, one: { key, otherwise: "cancelOld" } })
  .step("begin", { action: async (_ctx, { input }) => input.name })
  .sleep("rest", "10m");

/** Starts runs with a key each. */
export const oneForEach = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("below", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_none, n) => child(oneSkips, { key: `k${n}` })),
});

export const oneReplaces = defineWorkflow({
  input: Turn,
  one: { key, otherwise: "newestWaits" },
}).sleep("rest", "10m");

/** Starts runs of itself and of others below it. */
export const oneAround = defineWorkflow({
  input: Turn,
  one: { key, otherwise: "wait" },
  onEnd: {
    action: async (_ctx, { input }) =>
      await new Promise((done) => setTimeout(done, input.below.length * 60_000)),
  },
}).parent("below", {
  children: ({ input }) =>
    input.below.map((name) =>
      childNamed<unknown>(name, {
        key: input.key,
        name: `below ${input.name}`,
        restMs: input.restMs,
      }),
    ),
  tolerate: "all",
});

/** What another function reads, the compiler does not see. */
const secretOf = ({ secret }: { secret: string }) => secret;

export const oneSecret = defineWorkflow({
  input: Turn,
  one: { key: ({ input }) => secretOf(input), otherwise: "wait" },
  sensitive: ["input.secret"],
}).step("begin", { query: () => 1 });

/**
 * Its loop takes 20 minutes of 25, unless it is to rest for longer. It fails on demand until another
 * run has gone through it.
 */
export const oneLoops = defineWorkflow({
  input: Turn,
  one: { key, otherwise: "wait" },
}).loop("rounds", {
  initial: () => null,
  body: (b) =>
    b
      .sleep("rest", ({ input, loop }) => (loop.iteration === 1 ? 10 * 60_000 : input.restMs))
      .step("round", {
        mutation: async (ctx, { input, loop }) => {
          const before = await ctx.db.query("log").collect();
          if (input.fails && loop.iteration === 2 && before.length === 1)
            throw new Error("asked to fail");
          await ctx.db.insert("log", { text: input.name });
        },
      }),
  until: ({ loop }) => loop.iteration === 2,
  maxIterations: 2,
  timeout: "25m",
});
