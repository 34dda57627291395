import { child, defineWorkflow } from "@stepwise/workflow";
import { ConvexError, type Value } from "convex/values";
import { z } from "zod";
import { leaf } from "./parents.workflow";

/** A value, so many levels deep. */
function nested(levels: number): Value {
  let value: Value = "bottom";
  for (let n = 0; n < levels; n++) value = [value];
  return value;
}

async function nothing(): Promise<null> {
  return null;
}

/** Its state is as deep as it is told, and a step that sees it can be undone. */
export const deepState = defineWorkflow({ input: z.object({ levels: z.number() }) }).loop("go", {
  state: z.any(),
  initial: ({ input }): unknown => nested(input.levels),
  body: (b) =>
    b
      .step("done", { mutation: nothing, compensate: { mutation: nothing } })
      .step("state", { query: async (_ctx, { loop }): Promise<Value> => loop.state }),
  until: ({ loop }) => loop.iteration === 2,
  maxIterations: 3,
});

/** What its child's output is reduced to is as deep as it is told. */
export const deepFold = defineWorkflow({ input: z.object({ levels: z.number() }) }).parent("all", {
  children: ({ input }) => [child(leaf, { n: input.levels / 10 })],
  reduce: { initial: null as Value, step: (_before, levels) => nested(Number(levels)) },
  finalize: {
    action: async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return "reduced";
    },
  },
});

/** Takes whatever it is sent. */
export const deepEvent = defineWorkflow({ input: z.object({}) })
  .event("any", { anyOf: { one: z.any(), other: z.any() }, timeout: "1h" })
  .finalize({ query: async () => "taken" });

function shapeless(what: "long" | "wide" | "unnamed"): Value {
  if (what === "long") return Array.from({ length: 9_000 }, () => null);
  if (what === "wide")
    return Object.fromEntries(Array.from({ length: 1_100 }, (_none, n) => [`f${n}`, null]));
  return { "": null };
}

/** Throws data of a shape that no document can hold. */
export const shapelessError = defineWorkflow({
  input: z.object({ what: z.enum(["long", "wide", "unnamed"]), in: z.enum(["action", "query"]) }),
}).branch("how", {
  on: ({ input }) => input.in,
  cases: {
    action: (b) =>
      b.step("a", {
        action: async (_ctx, { input }): Promise<null> => {
          throw new ConvexError(shapeless(input.what));
        },
      }),
    query: (b) =>
      b.step("q", {
        query: async (_ctx, { input }): Promise<null> => {
          throw new ConvexError(shapeless(input.what));
        },
      }),
  },
});

/** Its children are given something that may be anything. */
export const givesAnything = defineWorkflow({ input: z.object({ levels: z.number() }) }).parent(
  "all",
  {
    children: ({ input }) => [
      child(anything, { value: nested(input.levels) }),
      child(anything, { value: null }),
    ],
    tolerate: "all",
    finalize: { query: async (_ctx, { children }) => children.map(({ ok }) => ok) },
  },
);

export const anything = defineWorkflow({ input: z.object({ value: z.any() }) }).step("seen", {
  query: async () => null,
});
