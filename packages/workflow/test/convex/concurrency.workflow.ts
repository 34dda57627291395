import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { leaf } from "./parents.workflow";

/* How many children run at once, and how many of them may fail. */

/** Rests, holding no slot of the pool, and then completes or fails. */
export const rests = defineWorkflow({
  input: z.object({ ms: z.number(), fails: z.boolean().default(false) }),
})
  .sleep("rest", ({ input }) => input.ms)
  .step("last", {
    mutation: (_ctx, { input }) => {
      if (input.fails) throw new Error("rested in vain");
      return input.ms;
    },
  });

/** Waits for an event deep inside. */
export const asked = defineWorkflow({ input: z.object({ n: z.number() }) }).loop("rounds", {
  initial: () => 0,
  body: (b) =>
    b.branch("who", {
      on: () => "one",
      cases: { one: (c) => c.event("answer", { schema: z.number() }) },
    }),
  until: () => true,
  maxIterations: 1,
});

export const asksThrough = defineWorkflow({ input: z.object({ n: z.number() }) }).child(
  "one",
  asked,
  ({ input }) => input,
);

export const asksTeam = defineWorkflow({ input: z.object({ n: z.number() }) }).parent("team", {
  children: ({ input }) => [child(asked, input)],
});

export const howMany = z.object({ of: z.number() });
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

export const asksAll = defineWorkflow({ input: howMany }).parent("all", {
  children: ({ input }) => upTo(input.of).map((n) => child(asked, { n })),
});

/** Only the last one waits for an event. */
export const asksLast = defineWorkflow({ input: howMany }).parent("all", {
  children: ({ input }) =>
    upTo(input.of).map((n) =>
      n === input.of - 1 ? child(asked, { n }) : child(leaf, { n, ms: 60_000 }),
    ),
});

export const asksByName = defineWorkflow({ input: howMany }).parent("all", {
  children: ({ input }) => upTo(input.of).map((n) => childNamed<number>("asked", { n })),
});

export const asksAllThrough = defineWorkflow({ input: howMany }).parent("all", {
  children: ({ input }) => upTo(input.of).map((n) => child(asksThrough, { n })),
});

export const asksTeams = defineWorkflow({ input: howMany }).parent("all", {
  children: ({ input }) => upTo(input.of).map((n) => child(asksTeam, { n })),
});

/** Nothing of its children waits, so they run as the pool does. */
export const works = defineWorkflow({ input: howMany }).parent("all", {
  children: ({ input }) => upTo(input.of).map((n) => child(leaf, { n, ms: 60_000 })),
});

export const fiftyWork = defineWorkflow({ input: howMany }).parent("all", {
  children: ({ input }) => upTo(input.of).map((n) => child(leaf, { n, ms: 60_000 })),
  concurrency: 50,
  finalize: { query: (_ctx, { children }) => children },
});

export const eachRest = z.object({
  rests: z.array(z.object({ ms: z.number(), fails: z.boolean() })),
});

export const fiftyRest = defineWorkflow({ input: eachRest }).parent("all", {
  children: ({ input }) => input.rests.map((one) => child(rests, one)),
  concurrency: 50,
  finalize: { query: (_ctx, { children }) => children.length },
});

export const restFor = z.object({ of: z.number(), ms: z.number() });

export const allRest = defineWorkflow({ input: restFor }).parent("all", {
  children: ({ input }) => upTo(input.of).map(() => child(rests, { ms: input.ms })),
  finalize: { mutation: (_ctx, { children }) => children.length },
});

/** More at once than one transaction starts, and fewer than there are. */
export const halfRest = defineWorkflow({ input: restFor }).parent("all", {
  children: ({ input }) => upTo(input.of).map(() => child(rests, { ms: input.ms })),
  concurrency: 510,
  finalize: { mutation: (_ctx, { children }) => children.length },
});

export const twoRest = defineWorkflow({ input: eachRest }).parent("all", {
  children: ({ input }) => input.rests.map((one) => child(rests, one)),
  concurrency: 2,
  tolerate: "all",
  finalize: { query: (_ctx, { children }) => children.map(({ ok }) => ok) },
});

export const oneBad = defineWorkflow({ input: eachRest }).parent("all", {
  children: ({ input }) => input.rests.map((one) => child(rests, one)),
  tolerate: { failures: 1 },
});

/** The input of one child is refused, and another fails. */
export const oneRefused = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [
    child(rests, { ms: "long" as unknown as number }),
    child(rests, { ms: 10, fails: true }),
    child(rests, { ms: 86_400_000 }),
  ],
  tolerate: { failures: 1 },
});

export const oneBadOfTwo = defineWorkflow({ input: eachRest }).parent("all", {
  children: ({ input }) => input.rests.map((one) => child(rests, one)),
  concurrency: 2,
  tolerate: { failures: 1 },
});

export const fiveBad = defineWorkflow({ input: eachRest }).parent("all", {
  children: ({ input }) => input.rests.map((one) => child(rests, one)),
  tolerate: { failures: 5 },
});

export const manyBad = defineWorkflow({ input: eachRest }).parent("all", {
  children: ({ input }) => input.rests.map((one) => child(rests, one)),
  tolerate: { failures: 150 },
  finalize: { mutation: (_ctx, { children }) => children.filter(({ ok }) => ok).length },
});

/** 69 of 375. */
export const shareOf69 = defineWorkflow({ input: eachRest }).parent("all", {
  children: ({ input }) => input.rests.map((one) => child(rests, one)),
  tolerate: { percentage: 18.4 },
  finalize: { query: (_ctx, { children }) => children.length },
});

/** 123 of 375. */
export const shareOf123 = defineWorkflow({ input: eachRest }).parent("all", {
  children: ({ input }) => input.rests.map((one) => child(rests, one)),
  tolerate: { percentage: 32.8 },
  finalize: { query: (_ctx, { children }) => children.length },
});

export const someRest = eachRest.extend({
  share: z.enum(["p33", "p34", "p14", "p15", "half", "whole"]),
});
const eachOf = ({ input }: { input: z.infer<typeof someRest> }) =>
  input.rests.map((one) => child(rests, one));
const countBad = (_ctx: unknown, { children }: { children: readonly { ok: boolean }[] }) =>
  children.filter(({ ok }) => !ok).length;

/** A share of the children may fail; the output is how many have. */
export const shares = defineWorkflow({ input: someRest }).branch("of", {
  on: ({ input }) => input.share,
  cases: {
    p33: (b) =>
      b.parent("all", {
        children: eachOf,
        tolerate: { percentage: 33 },
        finalize: { query: countBad },
      }),
    p34: (b) =>
      b.parent("all", {
        children: eachOf,
        tolerate: { percentage: 34 },
        finalize: { query: countBad },
      }),
    p14: (b) =>
      b.parent("all", {
        children: eachOf,
        tolerate: { percentage: 14 },
        finalize: { query: countBad },
      }),
    p15: (b) =>
      b.parent("all", {
        children: eachOf,
        tolerate: { percentage: 15 },
        finalize: { query: countBad },
      }),
    half: (b) =>
      b.parent("all", {
        children: eachOf,
        tolerate: { percentage: 0.5 },
        finalize: { query: countBad },
      }),
    whole: (b) =>
      b.parent("all", {
        children: eachOf,
        tolerate: { percentage: 100 },
        finalize: { query: countBad },
      }),
  },
});

/** Whose outputs are gathered in a list. No child runs: the input of each is refused. */
export const gathersMany = defineWorkflow({ input: howMany }).parent("all", {
  children: ({ input }) => upTo(input.of).map(() => child(leaf, { n: "one" as unknown as number })),
  tolerate: "all",
});

/** As many at once as its input and its handler say. */
export const asManyAsSaid = defineWorkflow({
  input: z.object({ of: z.number(), times: z.number() }),
}).parent("all", {
  query: async () => 2,
  children: ({ input }) => upTo(input.of).map((n) => child(rests, { ms: 60_000 + n })),
  concurrency: ({ input, output }) => input.times * output,
});

/** The same of items. */
export const itemsAsSaid = defineWorkflow({
  input: z.object({ of: z.number(), atOnce: z.number() }),
}).each("all", {
  of: ({ input }) => upTo(input.of),
  body: (b) => b.sleep("rest", "1m"),
  concurrency: ({ input }) => (input.atOnce === 0 ? Infinity : input.atOnce),
});
