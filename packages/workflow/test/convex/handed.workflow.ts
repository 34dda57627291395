import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/* Actions by reference that follow on others: an executor calls the function itself. */

export const handed = defineWorkflow({ input: z.object({ what: z.string() }) })
  .step("first", { action: () => "first" })
  .step("second", {
    action: internal.handed.act,
    args: ({ input: { what }, first }, { idempotencyKey: key, attempt }) => {
      if (what === "argsThrow") throw new Error("no arguments today");
      if (what === "argsOfAnotherType") return { what, key, attempt, first: 7 as never };
      if (what === "argsOfNoType") return { what, key, attempt, first: new Date(0) as never };
      if (what === "manyArgs") return { what, key, attempt, first: "x".repeat(9_000) };
      if (what === "mutates") (first as unknown) = "changed";
      return { what, key, attempt, first };
    },
    retry: { maxAttempts: 2, initialBackoffMs: 1_000, base: 1 },
    timeout: "10s",
  })
  .finalize({ mutation: (_ctx, { first, second }) => [first, second.slice(0, 30)] });

/** It begins with one. */
export const handedAtOnce = defineWorkflow({ input: z.object({ what: z.string() }) }).step("only", {
  action: internal.handed.give,
  args: ({ input: { what } }) => ({ what }),
});

/** In a loop; what is given is no one's affair. */
export const handedInLoop = defineWorkflow({ input: z.object({ what: z.string() }) }).loop(
  "turns",
  {
    initial: () => [] as string[],
    body: (b) =>
      b
        .step("first", { action: (_ctx, { loop }) => `${loop.iteration}` })
        .step("second", {
          action: internal.handed.act,
          args: ({ input: { what }, first }, { idempotencyKey: key, attempt }) => ({
            what,
            key,
            attempt,
            first,
          }),
        })
        .step("told", { query: (_ctx, { loop, second }) => [...loop.state, second] }),
    until: ({ loop }) => loop.iteration === 2,
    maxIterations: 2,
  },
);

/** Values that Convex changes on their way, and does not refuse. */
const CHANGED: Readonly<Record<string, unknown>> = {
  hole: { list: Array.from("ab").concat(Array(1)) },
  dropped: { of: JSON.parse('{ "__proto__": 1 }') as unknown },
};

/** What it gets and gives is unchecked by Convex. */
export const handedUnchecked = defineWorkflow({ input: z.object({ what: z.string() }) })
  .step("first", { action: () => "first" })
  .step("second", {
    action: internal.handed.give,
    args: ({ input: { what } }) => ({ what: (CHANGED[what] ?? what) as string }),
  });

/** What it reads is not to be seen. */
export const handedSecret = defineWorkflow({ input: z.object({ what: z.string() }) })
  .step("first", { action: () => "s3cret", sensitive: true })
  .step("second", {
    action: internal.handed.act,
    args: ({ input: { what }, first }) => ({ what, key: "", attempt: 1, first }),
  });
