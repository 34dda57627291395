import { anyApi, componentsGeneric, defineSchema, mutationGeneric } from "convex/server";
import type { FunctionReference } from "convex/server";
import { expect, test } from "vitest";
import { Counter } from "../src/index.js";

interface Greeter {
  readonly greet: { readonly hello: FunctionReference<"mutation", "internal"> };
}

/** A module whose loader uses timers, as graceful-fs does whenever it closes a file. */
async function greet() {
  clearTimeout(setTimeout(() => {}, 60_000));
  return { hello: mutationGeneric({ handler: async () => "hello" }) };
}

test("a module that a nested call is the first to need is loaded outside of its caller's transaction", async () => {
  const generated = { "./_generated/api.ts": async () => ({}) };
  const t = new Counter().convexTest({ modules: { ...generated, "./greet.ts": greet } });
  t.registerComponent("greeter", defineSchema({}), { ...generated, "./greet.ts": greet });
  const { greeter } = componentsGeneric() as unknown as { greeter: Greeter };
  for (const hello of [anyApi["greet"]!["hello"]!, greeter.greet.hello])
    expect(await t.mutation(async (ctx) => await ctx.runMutation(hello, {}))).toBe("hello");
});
