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

/** Its child fails and cannot be undone; its parent does not recover from it. */
export const unrecovered = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(failsUndone, {})],
  recover: (): null => {
    throw new Error("there is no way");
  },
});

async function nothing(): Promise<null> {
  return null;
}

const compensate = {
  mutation: async (): Promise<null> => {
    throw new Error("it cannot be undone");
  },
};

export const undoneBadly = defineWorkflow({ input: z.object({}) })
  .step("done", { mutation: nothing, compensate })
  .sleep("rest", "1d");

export const failsUndone = defineWorkflow({ input: z.object({}) })
  .step("done", { mutation: nothing, compensate })
  .step("fail", {
    mutation: async (): Promise<null> => {
      throw new Error("it fails");
    },
  });
