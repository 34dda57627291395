import { child, defineWorkflow, NonRetryableError } from "@stepwise/workflow";
import { ConvexError } from "convex/values";
import { z } from "zod";
import { internal } from "./_generated/api";

export const where = z.object({ fails: z.enum(["action", "mutation", "args", "open"]) });

/**
 * Has a secret in each of its steps but the last. One of them fails with it, where its input says;
 * and then what undoes the first does.
 */
export const whispers = defineWorkflow({ input: where })
  .step("kept", {
    mutation: async () => "s3cret",
    sensitive: true,
    compensate: {
      mutation: async (_ctx, { output }): Promise<null> => {
        throw new Error(`cannot undo ${output}`);
      },
    },
  })
  .step("tried", {
    action: (_ctx, { input, kept }) => {
      if (input.fails === "action") throw new Error(`refused ${kept}`);
      return kept;
    },
    sensitive: true,
    retry: { maxAttempts: 2, initialBackoffMs: 1_000, base: 1 },
  })
  .step("fused", {
    mutation: async (_ctx, { input, tried }) => {
      if (input.fails === "mutation") throw new Error(`refused ${tried}`);
      return tried;
    },
    sensitive: true,
  })
  .step("called", {
    action: internal.app.double,
    args: ({ input, fused }) => {
      if (input.fails === "args") throw new Error(`refused ${fused}`);
      return { n: fused.length };
    },
    sensitive: true,
  })
  .step("open", {
    query: (): null => {
      throw new Error("in the open");
    },
  });

/** The same as one of two children. */
export const aboveWhispers = defineWorkflow({ input: where }).parent("all", {
  children: ({ input }) => [child(whispers, input)],
});

/** Comes to a secret. */
export const endsInSecret = defineWorkflow({ input: z.object({}) }).step("kept", {
  mutation: async () => "s3cret",
  sensitive: true,
});

export const how = z.object({
  as: z.enum(["thrown", "data", "nonRetryable", "recover", "mutation"]),
});

/**
 * Fails with a secret in its message, its data or its recover. Each attempt is told the error of
 * the one before.
 */
export const throwsSecrets = defineWorkflow({ input: how })
  .step("tried", {
    action: (_ctx, { input }, { previousError }): null => {
      if (JSON.stringify(previousError).includes("s3cret")) throw new Error("it was told");
      if (input.as === "data") throw new ConvexError({ word: "s3cret" });
      if (input.as === "nonRetryable") throw new NonRetryableError("s3cret");
      if (input.as === "mutation") return null;
      throw new Error("refused s3cret");
    },
    sensitive: true,
    retry: { maxAttempts: 3, initialBackoffMs: 1_000, base: 1 },
    recover: (error, { input }): null => {
      if (input.as === "recover" && error.message === "refused s3cret") return null;
      throw new Error(`cannot recover from ${JSON.stringify(error)}`);
    },
  })
  .step("fused", {
    mutation: (): null => {
      throw new ConvexError("s3cret");
    },
    sensitive: true,
  });

/** The same as a child, whose error is the cause of its parent's. */
export const aboveSecrets = defineWorkflow({ input: how }).child(
  "below",
  throwsSecrets,
  ({ input }) => input,
);
