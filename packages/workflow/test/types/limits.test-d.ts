import type { FunctionReference, GenericDataModel, GenericMutationCtx } from "convex/server";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineWorkflow,
  type LimitsOption,
  type SteeredLimit,
  type WorkflowManager,
  type WorkflowScope,
} from "../../src/index.js";
// Registers the limits of the config.
import "../limited/_workflows/index.js";

const input = z.object({ org: z.string(), n: z.number() });
const define = defineWorkflow({ input, limits: { tenant: ({ input }) => input.org } });

test("the names of limits are those of the config, and keys are texts made of the scope", () => {
  const all = define
    .step("found", {
      action: async () => ({ id: "x" }),
      limits: ["exports", { tenant: ({ input }) => input.org }],
    })
    .step("last", {
      action: async (_ctx, { found }) => found.id,
      limits: {
        tenant: ({ found, input }) => (input.n > 1 ? found.id : undefined),
        exports: true,
      },
    });
  expectTypeOf<WorkflowScope<typeof all>["last"]>().toEqualTypeOf<string>();
});

test("another name, another key, and a key of a limit that takes none are refused", () => {
  type Scope = { n: number; org: string };
  expectTypeOf<["export"]>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ tennant: () => string }>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ tenant: (scope: Scope) => number }>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ tenant: true }>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<["tenant"]>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ exports: () => string }>().not.toExtend<LimitsOption<Scope>>();
  // @ts-expect-error n is no text
  define.step("one", { action: () => 1, limits: { tenant: ({ input }) => input.n } });
  // @ts-expect-error the workflow's own has the input only
  defineWorkflow({ input, limits: { tenant: ({ found }) => found } });
});

test("[S198] what is overridden and paused is a limit of the config, or maxParallelism", () => {
  type Named =
    | "tenant"
    | "exports"
    | "single"
    | "api"
    | "tokens"
    | "credits"
    | "both"
    | "scarce"
    | "maxParallelism";
  expectTypeOf<SteeredLimit>().toEqualTypeOf<Named>();
});

const usage = { total: 7 };

test("[S224] a limit with a unit takes an estimate, with a key if it has keys, and no other does", () => {
  type Scope = { n: number; org: string };
  expectTypeOf<["tokens"]>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ tokens: true }>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ tokens: (scope: Scope) => number }>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ tokens: { estimate: number } }>().toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ exports: { estimate: number } }>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ tokens: { estimate: number; key: () => string } }>().not.toExtend<
    LimitsOption<Scope>
  >();
  expectTypeOf<{ credits: (scope: Scope) => string }>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ credits: { estimate: number } }>().not.toExtend<LimitsOption<Scope>>();
  expectTypeOf<{ credits: { estimate: number; key: () => string } }>().toExtend<
    LimitsOption<Scope>
  >();
});

test("[S224] what a step has used is made of its output", () => {
  const asked = define.step("asked", {
    action: async () => ({ text: "yes", usage }),
    limits: [
      "exports",
      { tokens: { estimate: 5, spend: ({ output }) => output.usage.total } },
      {
        credits: {
          estimate: 5,
          key: ({ input }) => input.org,
          spend: ({ output }) => output.usage.total,
        },
      },
    ],
  });
  expectTypeOf<WorkflowScope<typeof asked>["asked"]>().toEqualTypeOf<{
    text: string;
    usage: { total: number };
  }>();
  const ask = {} as FunctionReference<"action", "internal", { n: number }, { usage: typeof usage }>;
  define.step("asked", {
    action: ask,
    args: ({ input }) => ({ n: input.n }),
    limits: { tokens: { estimate: 5, spend: ({ output }) => output.usage.total } },
  });
  define.step("asked", {
    action: async () => ({ usage }),
    // @ts-expect-error it has no tokens
    limits: { tokens: { estimate: 5, spend: ({ output }) => output.usage.tokens } },
  });
  const spend = ({ output }: { output: { text: string } }) => output.text;
  const tokens = { estimate: 5, spend };
  const asks = { action: async () => ({ text: "7" }), limits: { tokens } };
  // @ts-expect-error it is no number
  define.step("asked", asks);
  // Actions of a workflow have several outputs.
  const countAll = ({ output }: { output: unknown }) => Number(output);
  defineWorkflow({ input, limits: { tokens: { estimate: 5, spend: countAll } } });
  // @ts-expect-error its type is not known
  defineWorkflow({ input, limits: { tokens: { estimate: 5, spend: ({ output }) => output.n } } });
});

test("keys before the handler leave its type as it is", () => {
  const asked = define.step("asked", {
    limits: ["exports", { tenant: ({ input }) => input.org }, { tokens: { estimate: 5 } }],
    action: async () => ({ usage }),
  });
  expectTypeOf<WorkflowScope<typeof asked>["asked"]>().toEqualTypeOf<{ usage: typeof usage }>();
});

test("[S198] an override has the numbers that the limit has, and a key if it has keys", () => {
  const { limits } = {} as WorkflowManager;
  const ctx = {} as GenericMutationCtx<GenericDataModel>;
  void (() => limits.override(ctx, "tenant", { key: "a", perKey: 3, until: "1 day" }));
  void (() => limits.override(ctx, "both", { total: 3, perKey: 2 }));
  void (() => limits.override(ctx, "api", { rate: { limit: 5, per: "1m" }, by: "ada" }));
  void (() => limits.override(ctx, "maxParallelism", { total: 3 }));
  // @ts-expect-error it has no perKey
  void (() => limits.override(ctx, "exports", { perKey: 3 }));
  // @ts-expect-error it has no keys
  void (() => limits.override(ctx, "api", { key: "a", rate: { limit: 5, per: "1m" } }));
  // @ts-expect-error it has no rate
  void (() => limits.override(ctx, "maxParallelism", { rate: { limit: 5, per: "1m" } }));
  // @ts-expect-error what the config says is for the config
  void (() => limits.override(ctx, "scarce", { total: 1, maxWaiting: 5 }));
});
