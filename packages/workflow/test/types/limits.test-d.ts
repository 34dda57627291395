import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineWorkflow,
  type LimitsOption,
  type SteeredLimit,
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
    "tenant" | "exports" | "single" | "api" | "tokens" | "both" | "scarce" | "maxParallelism";
  expectTypeOf<SteeredLimit>().toEqualTypeOf<Named>();
});
