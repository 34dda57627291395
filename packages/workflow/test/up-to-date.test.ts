import { componentsGeneric } from "convex/server";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { defineWorkflow } from "../src/index.js";
import { compiled } from "../src/runtime/index.js";

const order = defineWorkflow({ input: z.object({}) })
  .step("price", { query: () => 1 })
  .sleep("rest", "1h")
  .branch("route", { on: () => "a", cases: { a: (b) => b.step("inside", { query: () => 1 }) } })
  .finalize({ query: () => 1 });

/** What a generated file does when it is loaded. */
function load(...nodes: string[]) {
  const component = componentsGeneric()["workflow"] as unknown as ComponentApi;
  return compiled(component, "order", order).reference({
    input: z.object({}),
    first: { stage: "price" },
    plan: "",
    nodes: Object.fromEntries(nodes.map((node) => [node, []])),
  });
}

const outOfDate = 'The generated code of workflow "order" is out of date: ';

test("generated code that fits its definition is loaded", () => {
  expect(load("price", "rest", "route", "finalize").name).toBe("order");
});

test.each([
  [["price", "route", "finalize"], 'it does not know the node "rest". Run workflow-codegen'],
  [["price", "pause", "route", "finalize"], 'it does not know the node "rest"'],
  [
    ["price", "rest", "route", "ship", "finalize"],
    'it has the node "ship", which the definition does not have',
  ],
  [["rest", "price", "route", "finalize"], 'the node "price" stands elsewhere in the definition'],
])("that of another version, with %j, is refused where it is loaded", (nodes, why) => {
  expect(() => load(...nodes)).toThrow(outOfDate + why);
});
