import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/** Sleeps longer than it may take. */
export const oversleeps = defineWorkflow({ input: z.object({}), timeout: "1h" }).sleep("nap", "1d");

const day = defineWorkflow({ input: z.object({}) }).sleep("nap", "1d");
export { day as wholeDay };
/** Its children do. */
export const outlasts = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(day, {})],
  timeout: "1h",
});

/** Nobody sends it what it waits for. */
export const unanswered = defineWorkflow({ input: z.object({}) }).event("answer", {
  schema: z.string(),
  timeout: "1h",
});

/** It is done within its time, but not twice within it. */
export const napsInTime = defineWorkflow({ input: z.object({}), timeout: "1h" }).sleep(
  "nap",
  "40m",
);

/** The time of its children begins with them. */
export const napsFirst = defineWorkflow({ input: z.object({}) })
  .sleep("nap", "40m")
  .parent("all", { children: () => [child(napsInTime, {})], timeout: "1h" });

const undoneForLong = defineWorkflow({ input: z.object({}) })
  .step("book", {
    mutation: () => null,
    compensate: {
      action: async () => await new Promise<void>((resolve) => setTimeout(resolve, 300_000)),
    },
  })
  .sleep("nap", "1d");
export { undoneForLong };
/** It has ended minutes before its child is undone. */
export const endsBefore = defineWorkflow({ input: z.object({}), retention: "1m" }).parent("all", {
  children: () => [child(undoneForLong, {})],
  timeout: "1m",
  recover: () => "late",
});

const fails = defineWorkflow({ input: z.object({}) }).step("fail", {
  query: (): null => {
    throw new Error("it fails");
  },
});
export { fails as failsSoon };
const mended = { timeout: "1h", recover: () => "mended" } as const;
/** Each node of several stages fails, recovers, and is over long before the run is. */
export const recoversInTime = defineWorkflow({ input: z.object({}) })
  .parent("all", { children: () => [child(fails, {})], ...mended })
  .parent("summed", { children: () => [child(fails, {})], finalize: { query: () => 1 }, ...mended })
  .child("one", fails, () => ({}), mended)
  .parallel("both", { branches: { left: (b) => b.child("fail", fails, () => ({})) }, ...mended })
  .race("first", { cases: { only: (b) => b.child("fail", fails, () => ({})) }, ...mended })
  .each("items", { of: () => [1, 2], body: (b) => b.child("fail", fails, () => ({})), ...mended })
  .loop("twice", {
    initial: () => 0,
    body: (b) =>
      b
        .parallel("pair", {
          branches: { left: (l) => l.child("fail", fails, () => ({})) },
          ...mended,
        })
        .sleep("nap", "2h")
        .step("next", { query: () => 1 }),
    until: ({ loop }) => loop.iteration === 2,
    maxIterations: 2,
  })
  .sleep("rest", "1d");

/** Its handler is slower than the whole of it may be. */
export const handlesSlowly = defineWorkflow({ input: z.object({}) }).parent("all", {
  action: async () => {
    await new Promise<void>((resolve) => setTimeout(resolve, 120_000));
    return "handled";
  },
  children: () => [child(fails, {})],
  finalize: { query: () => "summed" },
  timeout: "1m",
  recover: ({ kind }) => kind,
});
