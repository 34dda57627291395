import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Collected,
  defineWorkflow,
  type WorkflowInput,
  type WorkflowScope,
} from "../../src/index.js";

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
