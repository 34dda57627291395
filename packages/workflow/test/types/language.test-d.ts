import { v } from "convex/values";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  child,
  defineWorkflow,
  type WorkflowInput,
  type WorkflowOutput,
  type WorkflowScope,
} from "../../src/definition/index.js";
import { internal } from "./references.js";

const summarize = defineWorkflow({
  input: z.object({ topic: z.string(), n: z.number().default(3) }),
}).step("text", {
  action: async (_ctx, { input }, info) => ({
    words: input.topic.length + input.n,
    key: info.idempotencyKey,
  }),
});

describe("inference", () => {
  test("start takes the schema's input, handlers see its output", () => {
    expectTypeOf<WorkflowInput<typeof summarize>>().toEqualTypeOf<{
      topic: string;
      n?: number | undefined;
    }>();
    expectTypeOf<WorkflowScope<typeof summarize>["input"]>().toEqualTypeOf<{
      topic: string;
      n: number;
    }>();
  });

  test("a Convex validator is an input schema too", () => {
    const digest = defineWorkflow({
      input: v.object({ userId: v.string(), note: v.optional(v.string()) }),
    }).step("note", { query: async (_ctx, { input }) => input.note ?? null });
    expectTypeOf<WorkflowInput<typeof digest>>().toEqualTypeOf<{
      userId: string;
      note?: string;
    }>();
    expectTypeOf<WorkflowOutput<typeof digest>>().toEqualTypeOf<string | null>();
  });

  test("a step sees the outputs of the steps before it, inline and referenced", () => {
    const chain = defineWorkflow({ input: z.object({ id: z.string() }) })
      .step("profile", {
        action: internal.users.get,
        args: ({ input }) => ({ id: input.id }),
        retry: true,
        timeout: "30s",
      })
      .step("count", {
        action: async (_ctx, { profile }) => {
          expectTypeOf(profile).toEqualTypeOf<{ email: string; topics: string[] }>();
          return profile.topics.length;
        },
      })
      .step("save", {
        mutation: internal.users.save,
        args: ({ profile }) => ({ email: profile.email }),
      })
      .step("nothing", { mutation: async () => {} })
      .finalize({
        mutation: async (_ctx, scope) => {
          expectTypeOf(scope.count).toEqualTypeOf<number>();
          expectTypeOf(scope.save).toEqualTypeOf<null>();
          expectTypeOf(scope.nothing).toEqualTypeOf<null>();
          return { n: scope.count };
        },
      });
    expectTypeOf<WorkflowOutput<typeof chain>>().toEqualTypeOf<{ n: number }>();
  });

  test("a list of children gives a list of outputs to finalize, beside the handler's output", () => {
    const list = defineWorkflow({ input: z.object({ topics: z.array(z.string()) }) }).parent(
      "summaries",
      {
        action: async (_ctx, { input }) => ({ count: input.topics.length }),
        children: ({ input, output }) =>
          input.topics.slice(0, output.count).map((topic) => child(summarize, { topic })),
        concurrency: 8,
        finalize: {
          mutation: async (_ctx, { output, children }) => {
            expectTypeOf(children).toEqualTypeOf<{ words: number; key: string }[]>();
            return { total: children.reduce((n, c) => n + c.words, 0) + output.count };
          },
        },
      },
    );
    expectTypeOf<WorkflowOutput<typeof list>>().toEqualTypeOf<{ total: number }>();
  });

  test("a record of children gives a record; without handler and finalize the output is { children }", () => {
    const record = defineWorkflow({ input: z.object({ a: z.string() }) })
      .parent("pair", {
        children: ({ input }) => ({
          left: child(summarize, { topic: input.a }),
          right: child(summarize, { topic: "x", n: 1 }),
        }),
      })
      .step("use", { action: async (_ctx, { pair }) => pair.children.left.words });
    expectTypeOf<WorkflowScope<typeof record>["pair"]>().toEqualTypeOf<{
      children: { left: { words: number; key: string }; right: { words: number; key: string } };
    }>();
    expectTypeOf<WorkflowOutput<typeof record>>().toEqualTypeOf<number>();
  });

  test("recursive interfaces and JSON are Convex values", () => {
    interface Tree {
      name: string;
      kids: Tree[];
    }
    type Json = string | number | null | Json[] | { [key: string]: Json };
    const b = defineWorkflow({ input: z.object({}) })
      .step("tree", { action: async (): Promise<Tree> => ({ name: "", kids: [] }) })
      .step("json", { action: async () => null as Json })
      .step("any", { action: async () => JSON.parse("1") });
    expectTypeOf<WorkflowScope<typeof b>["tree"]>().toEqualTypeOf<Tree>();
  });
});
