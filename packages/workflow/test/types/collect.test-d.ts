import type { GenericDataModel, GenericMutationCtx } from "convex/server";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Collected,
  defineWorkflow,
  type WorkflowInput,
  WorkflowManager,
  type WorkflowScope,
} from "../../src/index.js";
import { workflows } from "../convex/_workflows/index.js";

const input = z.object({ org: z.string(), n: z.coerce.number() });
type Item = { org: string; n: number };
const key = ({ input }: { input: Item }) => input.org;
const quiet = "30s";

test("[S205] of all that are kept handlers see the items, and a start takes one", () => {
  const all = defineWorkflow({
    input,
    collect: { key: ({ input }) => input.org, quiet, keep: "all" },
    one: { key: ({ input }) => input.items[0]?.org, otherwise: "wait" },
    tags: ({ input }) => ({ count: input.items.length }),
    onEnd: { action: async (_ctx, { input }) => input.items.length },
    sensitive: ["input.items.org"],
  }).step("first", { query: (_ctx, { input }) => input.items });
  expectTypeOf<WorkflowScope<typeof all>["input"]>().toEqualTypeOf<{ items: Item[] }>();
  expectTypeOf<WorkflowInput<typeof all>>().toEqualTypeOf<{ org: string; n: unknown }>();
});

test("[S204] of the last or the first they see that one, as without a collect", () => {
  const last = defineWorkflow({ input, collect: { key, quiet, keep: "last" } }).sleep("a", 1);
  const none = defineWorkflow({ input }).sleep("a", 1);
  expectTypeOf<WorkflowScope<typeof last>["input"]>().toEqualTypeOf<Item>();
  expectTypeOf<WorkflowScope<typeof none>["input"]>().toEqualTypeOf<Item>();
  expectTypeOf<Collected<Item, "first">>().toEqualTypeOf<Item>();
});

test("what is no collect is refused", () => {
  // @ts-expect-error it needs a keep
  defineWorkflow({ input, collect: { key, quiet } });
  // @ts-expect-error n is no text
  defineWorkflow({ input, collect: { key: ({ input }) => input.n, quiet, keep: "all" } });
  // @ts-expect-error a soon is no duration
  defineWorkflow({ input, collect: { key, quiet: "soon", keep: "first" } });
});

test("[S215] a start that is collected has no key, time or callback of its own", () => {
  const { start, startBatch, startOrGet } = WorkflowManager.prototype;
  const ctx = {} as GenericMutationCtx<GenericDataModel>;
  const { collectsAll, collectsBelow } = workflows;
  void (() => start(ctx, collectsAll, { n: 1 }));
  void (() => startBatch(ctx, collectsAll, [{ n: 1 }], {}));
  // @ts-expect-error one run may be of several starts
  void (() => start(ctx, collectsAll, { n: 1 }, { key: "k" }));
  // @ts-expect-error the same
  void (() => startOrGet(ctx, collectsAll, { n: 1 }, { runAfter: "1m" }));
  // @ts-expect-error the same
  void (() => startBatch(ctx, collectsAll, [{ n: 1 }], { key: (_input, index) => `${index}` }));
  void (() => start(ctx, collectsBelow, { ns: [1] }, { key: "k", runAfter: "1m" }));
});
