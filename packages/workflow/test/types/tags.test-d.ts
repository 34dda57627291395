import type { GenericMutationCtx } from "convex/server";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type Builder, defineWorkflow, type Info, type TagValue } from "../../src/index.js";
import type { DataModel } from "../convex/_generated/dataModel.js";
import { workflow, workflows } from "../convex/_workflows/index.js";

declare const ctx: GenericMutationCtx<DataModel>;
const page = { numItems: 10, cursor: null };
const input = z.object({ org: z.string(), n: z.number() });
type Order = { org: string; n: number };
const declares = defineWorkflow({
  input,
  tags: ({ input }) => ({ org: input.org, risk: undefined, ...(input.n > 9 && { n: input.n }) }),
});

test("[S182] a handler gives those tags that its workflow declares, wherever it stands", () => {
  const all = declares
    .step("a", {
      action: async (_ctx, _scope, info) => {
        expectTypeOf(info.tag<"risk">).parameters.toEqualTypeOf<["risk", TagValue]>();
        expectTypeOf(info.tag<"n">).parameters.toEqualTypeOf<["n", number]>();
        expectTypeOf(info.tag).parameter(0).toEqualTypeOf<"org" | "risk" | "n">();
        // @ts-expect-error Argument of type '"rsk"' is not assignable to parameter of type '"org" | "risk" | "n"'
        await info.tag("rsk", 1);
      },
      // @ts-expect-error the same
      compensate: { mutation: async (_ctx, _scope, { tag }) => await tag("undone", true) },
    })
    .loop("again", {
      initial: () => 1,
      body: (b) =>
        b
          .parallel("both", {
            branches: {
              left: (b) =>
                b.step("b", {
                  mutation: async (_ctx, _scope, { tag }) => {
                    await tag("risk", "high");
                    // @ts-expect-error the same
                    await tag("high", true);
                  },
                }),
            },
          })
          .step("c", { query: () => 1 }),
      until: () => true,
      maxIterations: 2,
    })
    // @ts-expect-error the same
    .finalize({ mutation: async (_ctx, _scope, info) => await info.tag("end", 1) });
  expectTypeOf(all).not.toBeAny();
});

test("[S182] a tag has values of the type that its workflow declares", () => {
  const typed = defineWorkflow({
    input: z.object({ plan: z.enum(["free", "paid"]), n: z.number() }),
    tags: ({ input }) =>
      input.n > 9
        ? { plan: input.plan, isNew: true, size: undefined as "s" | "l" | undefined }
        : { plan: input.plan, none: undefined },
  });
  typed.step("a", {
    mutation: async (_ctx, _scope, { tag }) => {
      await tag("plan", "paid");
      await tag("isNew", false);
      await tag("size", "l");
      await tag("none", 1);
      // @ts-expect-error Argument of type '"piad"' is not assignable to parameter of type '"free" | "paid"'
      await tag("plan", "piad");
      // @ts-expect-error Argument of type '"yes"' is not assignable to parameter of type 'boolean'
      await tag("isNew", "yes");
      // @ts-expect-error Argument of type '"m"' is not assignable to parameter of type '"s" | "l"'
      await tag("size", "m");
      // @ts-expect-error Argument of type 'null' is not assignable to parameter of type 'TagValue'
      await tag("none", null);
    },
  });
});

test("one that declares none gives any, and so does one that computes their names", () => {
  const none = defineWorkflow({ input });
  none.step("a", { action: async (_ctx, _scope, info) => await info.tag("risk", 1) });
  const computed = defineWorkflow({
    input,
    tags: ({ input }): Record<string, string> => ({ [input.org]: "yes" }),
  });
  computed.step("a", { action: async (_ctx, _scope, info) => await info.tag("risk", "high") });
  // @ts-expect-error Argument of type 'number' is not assignable to parameter of type 'string'
  computed.step("a", { action: async (_ctx, _scope, info) => await info.tag("risk", 1) });
});

test("an onEnd gives any, wherever it stands", () => {
  const ended = defineWorkflow({
    input,
    onEnd: { action: async (_ctx, _scope, info) => await info.tag("end", "late") },
    tags: ({ input }) => ({ org: input.org }),
  });
  // @ts-expect-error '"rsk"' is not assignable to parameter of type '"org"'
  ended.step("a", { action: async (_ctx, _scope, info) => await info.tag("rsk", 1) });
});

test("a function of the app takes any info, or one with some of the tags", () => {
  const mark = async (info: Info) => await info.tag("risk", 1);
  const rate = async (info: Info<{ risk: "low" | "high" }>) => await info.tag("risk", "low");
  declares.step("a", { action: async (_ctx, _scope, info) => await mark(info) });
  const typed = defineWorkflow({
    input,
    tags: ({ input }) => ({ org: input.org, risk: undefined as "low" | "high" | undefined }),
  });
  typed.step("a", {
    action: async (_ctx, _scope, info) => {
      await mark(info);
      await rate(info);
    },
  });
});

/** What an app has written of its own: scopes that say nothing of tags. */
type Inner<Scope extends readonly (readonly [string, unknown])[]> = Builder<
  Order,
  [["input", Order], ...Scope],
  null
>;
export const small = (b: Inner<[]>) =>
  b.step("small", { action: async (_ctx, _scope, info) => await info.tag("risk", 1) });
export const inItem = (b: Inner<[["each", { readonly item: string; readonly index: number }]]>) =>
  b.step("small", { query: (_ctx, { each, input }) => each.item + input.org });
export const inTurn = (
  b: Inner<[["loop", { readonly state: number; readonly iteration: number }]]>,
) => b.step("small", { query: (_ctx, { loop, input }) => loop.state + input.n });
export const later = (b: Inner<[["before", number]]>) =>
  b.step("small", { query: (_ctx, { before, input }) => before + input.n });

test("[S182] a case, a branch or a body of the app's own fits, with tags and without", () => {
  const inside = (b: typeof declares) =>
    b
      .branch("size", { on: () => "small" as const, cases: { small } })
      .step("a", { query: (_ctx, { size }) => size });
  expectTypeOf(inside).toBeFunction();
  const typed = defineWorkflow({
    input,
    tags: ({ input }) => ({ org: input.org, risk: undefined as "low" | "high" | undefined }),
  });
  const loop = { initial: () => 1, until: () => true, maxIterations: 2 };
  declares.branch("at", { on: () => "small" as const, cases: { small } });
  declares.parallel("at", { branches: { small } });
  declares.race("at", { cases: { small } });
  declares.each("at", { of: () => ["a"], body: inItem });
  declares.loop("at", { ...loop, body: inTurn });
  declares.step("before", { query: () => 1 }).race("at", { cases: { later } });
  typed.branch("at", { on: () => "small" as const, cases: { small } });
  typed.parallel("at", { branches: { small } });
  typed.race("at", { cases: { small } });
  typed.each("at", { of: () => ["a"], body: inItem });
  typed.loop("at", { ...loop, body: inTurn });
  typed.step("before", { query: () => 1 }).race("at", { cases: { later } });
  const none = defineWorkflow({ input });
  none.branch("at", { on: () => "small" as const, cases: { small } });
  none.each("at", { of: () => ["a"], body: inItem });
  none.step("before", { query: () => 1 }).race("at", { cases: { later } });
});

test("lists and bulks know the tags of the workflow that they are of", async () => {
  const { tagging, untagged } = workflows;
  await workflow.list(ctx, { workflow: tagging, tag: { side: 1 } }, page);
  // @ts-expect-error Type 'string' is not assignable to type 'number'
  await workflow.list(ctx, { workflow: tagging, tag: { seats: "two" } }, page);
  // @ts-expect-error 'sde' does not exist in type
  await workflow.list(ctx, { workflow: tagging, tag: { sde: 1 } }, page);
  await workflow.list(ctx, { workflow: untagged, tag: { org: "acme" } }, page);
  await workflow.list(ctx, { tag: { any: "acme" } }, page);
  // @ts-expect-error 'sde' does not exist in type
  await workflow.bulk.start(ctx, { do: "pause", where: { workflow: tagging, tag: { sde: 1 } } });
  await workflow.bulk.start(ctx, { do: "pause", where: { tag: { any: 1 } } });
});
