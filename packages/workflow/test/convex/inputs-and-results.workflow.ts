import type { StandardSchemaV1 } from "@standard-schema/spec";
import { child, defineWorkflow, type Child } from "@stepwise/workflow";
import { v } from "convex/values";
import { z } from "zod";
import { leaf, list } from "./parents.workflow";

/** Every kind of Convex validator that has others inside. */
export const checkedDeeply = defineWorkflow({
  input: v.object({
    a: v.string(),
    b: v.object({ c: v.number(), d: v.optional(v.number()) }),
    list: v.optional(v.array(v.object({ n: v.number() }))),
    record: v.optional(v.record(v.string(), v.boolean())),
    union: v.optional(
      v.union(v.literal("x"), v.object({ kind: v.literal("y"), many: v.number() })),
    ),
  }),
}).step("seen", { action: async (_ctx, { input }) => input });

/**
 * Checks asynchronously, and finds fault with all. Zod itself drops the promise of such a check, so
 * it is none of zod's.
 */
export const refusing: StandardSchemaV1<{ id: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: async () => {
      throw new Error("no such id");
    },
  },
};
export const refusedLater = defineWorkflow({ input: refusing }).step("seen", {
  action: async (_ctx, { input }) => input,
});

/** It gives, deep inside, a bigint that Convex does not have. */
export const givesBigint = defineWorkflow({ input: z.object({ large: z.boolean() }) }).step(
  "made",
  {
    action: async (_ctx, { input }) => ({
      a: { b: [1n, input.large ? 2n ** 70n : 2n ** 63n - 1n] },
    }),
  },
);

/** Throws values that JSON does not have. */
export const oddThrows = defineWorkflow({
  input: z.object({
    what: z.enum([
      "bigint",
      "bigintInside",
      "number",
      "cycle",
      "map",
      "set",
      "mixed",
      "unreadable",
    ]),
  }),
}).step("attempt", {
  action: async (_ctx, { input }): Promise<null> => {
    throw thrown(input.what);
  },
});

function thrown(what: string): unknown {
  const list: unknown[] = ["bad"];
  list.push({ list });
  if (what === "bigint") return 10n;
  if (what === "number") return Number.NaN;
  if (what === "bigintInside") return { code: 10n, message: "bad" };
  if (what === "cycle") return list;
  if (what === "map")
    return new Map<unknown, unknown>([
      ["a", { n: 1n }],
      [2, "b"],
    ]);
  if (what === "set") return { names: new Set(["x", "y"]) };
  if (what === "mixed")
    return { error: new TypeError("no"), at: new Date(0), none: undefined, call: Symbol("s") };
  return Object.defineProperty({}, "field", {
    enumerable: true,
    get: () => {
      throw new Error("not to be read");
    },
  });
}

/** The input of its one child does not fit. */
export const badOnlyChild = defineWorkflow({ input: z.object({}) }).child("below", leaf, () => ({
  n: "two" as unknown as number,
}));

/** What its children give is put into the very object that it begins with. */
export const reducedInPlace = defineWorkflow({ input: z.object({ of: z.number() }) }).parent(
  "all",
  {
    children: ({ input }) => Array.from({ length: input.of }, (_, n) => child(leaf, { n })),
    reduce: {
      initial: { outputs: [] as number[] },
      step: (all, output) => {
        all.outputs.push(output);
        return all;
      },
    },
    finalize: { mutation: (_ctx, { children }) => children.outputs },
  },
);

/** Some of its children are made by a function of this file. */
export const mixedChildren = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(leaf, { n: 1 }), ...others()],
  finalize: { mutation: (_ctx, { children }) => children },
});
const others = (): Child<number[]>[] => [child(list, { leaves: [{ n: 2 }, { n: 3 }] })];
