import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/* Options that cannot be, computed in a way that the compiler does not look into. */
const computed = <Value>(value: Value): Value => value;

export const nothing = z.object({});
const fails = () => {
  throw new Error("not today");
};

export const oddTimeout = defineWorkflow({ input: nothing })
  .step("first", { query: () => 1 })
  .step("charge", { action: () => 1, timeout: computed(NaN) });

export const oddBackoff = defineWorkflow({ input: nothing })
  .step("first", { query: () => 1 })
  .step("charge", {
    action: fails,
    retry: { maxAttempts: 3, initialBackoffMs: computed(Infinity), base: 2 },
  });

export const oddAttempts = defineWorkflow({
  input: nothing,
  retry: { maxAttempts: computed(1_001), initialBackoffMs: 1, base: 2 },
})
  .step("first", { query: () => 1 })
  .step("charge", { action: fails });

export const oddParent = defineWorkflow({ input: nothing })
  .step("first", { query: () => 1 })
  .parent("charge", {
    mutation: () => 1,
    timeout: computed(-5),
    children: () => [child(oddBackoff, {})],
  });

export const oddConcurrency = defineWorkflow({ input: nothing }).parent("charge", {
  children: () => [child(oddBackoff, {})],
  concurrency: computed(NaN),
});

export const oddFailures = defineWorkflow({ input: nothing }).parent("charge", {
  children: () => [child(oddBackoff, {})],
  tolerate: { failures: computed(NaN) },
});

export const oddWait = defineWorkflow({ input: nothing })
  .step("first", { query: () => 1 })
  .event("charge", { schema: z.string(), timeout: computed(Infinity) });

export const longWait = defineWorkflow({ input: nothing })
  .step("first", { query: () => 1 })
  .event("charge", { schema: z.string(), timeout: computed(1e15) });

export const longAction = defineWorkflow({ input: nothing })
  .step("first", { query: () => 1 })
  .step("charge", { action: () => 1, timeout: computed(1e15) });

export const longRun = defineWorkflow({ input: nothing, timeout: computed(1e15) }).step("first", {
  query: () => 1,
});

export const oddSleep = defineWorkflow({ input: nothing })
  .step("first", { query: () => 1 })
  .sleep("charge", () => computed(NaN));

export const oddIterations = defineWorkflow({ input: nothing }).loop("charge", {
  initial: () => 0,
  body: (b) => b.step("pass", { mutation: () => 1 }),
  until: () => false,
  maxIterations: computed(NaN),
});

export const oddRun = defineWorkflow({ input: nothing, timeout: computed(NaN) }).step("first", {
  query: () => 1,
});
export const oddRetention = defineWorkflow({ input: nothing, retention: computed(Infinity) }).step(
  "first",
  {
    query: () => 1,
  },
);
export const oddFirst = defineWorkflow({ input: nothing }).step("charge", {
  action: () => 1,
  timeout: computed(-1),
});
export const aboveOddRun = defineWorkflow({ input: nothing })
  .step("first", { query: () => 1 })
  .child("below", oddRun, () => ({}));

export const oddCompensation = defineWorkflow({ input: nothing })
  .step("kept", {
    mutation: () => 1,
    compensate: { mutation: () => null },
  })
  .step("charge", {
    mutation: () => 1,
    compensate: { action: () => null, timeout: computed(NaN) },
  })
  .step("last", { query: fails });

/** What holds children, but is neither a list nor a record. */
export const childrenInSet = defineWorkflow({ input: nothing }).parent("all", {
  children: () => new Set([child(oddBackoff, {})]) as never,
});

export const childrenOnDate = defineWorkflow({ input: nothing }).parent("all", {
  children: () => [new Date(0), child(oddBackoff, {})][0] as never,
});

/** A number is no answer. */
export const endsAtNumber = defineWorkflow({ input: nothing }).loop("again", {
  initial: () => 0,
  body: (b) => b.step("more", { query: () => 1 }),
  until: ({ loop }) => loop.state as never,
  maxIterations: 5,
});

/** `map` iterations over the holes of a list. */
export const childrenInHoles = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => holes(3).map(() => child(oddBackoff, {})),
});

function holes(length: number): number[] {
  const list: number[] = [];
  list.length = length;
  return list;
}

export const onlySleeps = defineWorkflow({ input: z.object({}) }).sleep("nap", "1s");
