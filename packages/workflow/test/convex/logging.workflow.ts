import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

export const where = z.object({ fails: z.enum(["action", "mutation", "args", "open"]) });

/** Has a secret in each of its steps but the last. One of them fails with it, where its input says; and then what undoes the first does. */
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
