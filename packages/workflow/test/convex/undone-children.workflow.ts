import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { leaf } from "./parents.workflow";

/** What one of its children has done cannot be undone; another fails. */
export const halfUndone = defineWorkflow({ input: z.object({ ms: z.number() }) }).parent("all", {
  children: ({ input }) => [
    child(undoneBadly, {}),
    child(leaf, { n: 1, fails: true, ms: input.ms }),
  ],
});

async function nothing(): Promise<null> {
  return null;
}

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
