import type { FunctionReference } from "convex/server";
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

declare const internal: {
  users: {
    get: FunctionReference<
      "action",
      "internal",
      { id: string },
      { email: string; topics: string[] }
    >;
    save: FunctionReference<"mutation", "internal", { email: string }, null>;
  };
};

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

describe("errors", () => {
  const b = defineWorkflow({ input: z.object({ a: z.string() }) });

  test("results that are no Convex values", () => {
    // @ts-expect-error result.at: A Date is not a Convex value
    b.step("e1", { action: async () => ({ at: new Date() }) });
    // @ts-expect-error result.m: A Map is not a Convex value
    b.step("e2", { mutation: async () => ({ m: new Map<string, number>() }) });
    // @ts-expect-error result.f: A function is not a Convex value
    b.step("e3", { query: () => ({ f: () => 1 }) });
    // @ts-expect-error result.list[].at: A Date is not a Convex value
    b.step("e4", { action: async () => ({ list: [{ at: new Date() }] }) });
    // @ts-expect-error result.m: A Map is not a Convex value
    b.finalize({ mutation: async () => ({ m: new Map() }) });
  });

  test("arguments of a reference", () => {
    // @ts-expect-error number is not assignable to string
    b.step("e5", { action: internal.users.get, args: () => ({ id: 1 }) });
    // @ts-expect-error args is missing
    b.step("e6", { action: internal.users.get });
    // @ts-expect-error a mutation in the place of an action
    b.step("e7", { action: internal.users.save, args: () => ({ email: "" }) });
  });

  test("names", () => {
    // @ts-expect-error outlin is not in the scope
    b.step("e8", { action: async (_ctx, { outlin }) => 1 });
    // @ts-expect-error nope is not in the input
    b.step("e9", { action: async (_ctx, { input }) => input.nope });
    // @ts-expect-error the name "x" is already taken
    b.step("x", { action: async () => 1 }).step("x", { action: async () => 2 });
    // @ts-expect-error unknown option
    b.step("e10", { action: async () => 1, retri: true });
  });

  test("kinds and contexts", () => {
    // @ts-expect-error both kinds
    b.step("e11", { action: async () => 1, mutation: async () => 1 });
    // @ts-expect-error an action has no db
    b.step("e12", { action: async (ctx) => await ctx.db.query("users").first() });
  });

  test("the input of a child", () => {
    // @ts-expect-error topi is not in the input
    b.parent("e13", { children: () => [child(summarize, { topi: "x" })] });
  });
});
