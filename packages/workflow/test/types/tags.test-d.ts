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
        expectTypeOf(info.tag).parameters.toEqualTypeOf<["org" | "risk" | "n", TagValue]>();
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

test("one that declares none gives any, and so does one that computes their names", () => {
  const none = defineWorkflow({ input });
  none.step("a", { action: async (_ctx, _scope, info) => await info.tag("risk", 1) });
  const computed = defineWorkflow({
    input,
    tags: ({ input }): Record<string, string> => ({ [input.org]: "yes" }),
  });
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

test("a function of the app takes any info, and a body of its own fits", () => {
  const mark = async (info: Info) => await info.tag("risk", 1);
  const small = (b: Builder<Order, [["input", Order]], null>) =>
    b.step("small", { action: async (_ctx, _scope, info) => await info.tag("risk", 1) });
  const each = (b: typeof declares) =>
    b
      .branch("size", { on: () => "small", cases: { small } })
      .step("a", { action: async (_ctx, _scope, info) => await mark(info) });
  expectTypeOf(each).toBeFunction();
  defineWorkflow({ input }).branch("size", { on: () => "small", cases: { small } });
});

test("lists and bulks know the tags of the workflow that they are of", async () => {
  const { tagging, untagged } = workflows;
  await workflow.list(ctx, { workflow: tagging, tag: { side: 1 } }, page);
  // @ts-expect-error 'sde' does not exist in type
  await workflow.list(ctx, { workflow: tagging, tag: { sde: 1 } }, page);
  await workflow.list(ctx, { workflow: untagged, tag: { org: "acme" } }, page);
  await workflow.list(ctx, { tag: { any: "acme" } }, page);
  // @ts-expect-error 'sde' does not exist in type
  await workflow.bulk.start(ctx, { do: "pause", where: { workflow: tagging, tag: { sde: 1 } } });
  await workflow.bulk.start(ctx, { do: "pause", where: { tag: { any: 1 } } });
});
