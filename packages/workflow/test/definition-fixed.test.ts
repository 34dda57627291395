import { componentsGeneric } from "convex/server";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { defineWorkflow } from "../src/index.js";
import { compiled } from "../src/runtime/index.js";

/* What is changed after a definition was made would not be what the compiler has read. */

const options = {
  mutation: () => 1,
  retry: { maxAttempts: 2, initialBackoffMs: 10, base: 2 },
  compensate: { mutation: () => {} },
};
const loop = {
  initial: () => 1,
  until: () => true,
  maxIterations: 2,
};
const general = { input: z.object({ a: z.string() }), retry: { ...options.retry } };
const flow = defineWorkflow(general)
  .step("save", options)
  .loop("turn", { ...loop, body: (b) => b.step("pass", { query: () => 1 }) })
  .branch("route", { on: () => "a", cases: { a: (b) => b.step("inside", { query: () => 1 }) } });
/** The nodes as JavaScript sees them: their types forbid most changes by themselves. */
const nodes: any = flow.nodes;

test.each<[what: string, change: () => unknown]>([
  ["an option", () => Object.assign(options, { mutation: () => 2 })],
  ["an option more", () => Object.assign(options, { isolate: true })],
  ["an option less", () => delete (options as Partial<typeof options>).compensate],
  ["an option inside another", () => (options.retry.maxAttempts = 3)],
  ["what undoes it", () => Object.assign(options.compensate, { action: () => {} })],
  ["an option of the workflow", () => Object.assign(general, { timeout: "1h" })],
  ["an option in one of those", () => (general.retry.maxAttempts = 3)],
  ["all of its nodes", () => Object.assign(flow, { nodes: {} })],
  ["all of its options", () => Object.assign(flow, { options: { input: z.any() } })],
  ["what it is", () => Object.setPrototypeOf(flow, null)],
  ["a node", () => Object.assign(nodes, { save: { query: () => 1 } })],
  ["a node less", () => delete nodes.save],
  ["an option of a loop", () => (nodes.turn.maxIterations = 5)],
  ["a node of its body", () => (nodes.turn.body.pass = { query: () => 2 })],
  ["a case", () => (nodes.route.cases.b = {})],
  ["a node of a case", () => delete nodes.route.cases.a.inside],
])("a definition that was made cannot be changed: %s", (_what, change) => {
  expect(change).toThrow(TypeError);
});

test("the schemas of a definition are left as they are, whatever their events are called", () => {
  const anyOf = { retry: z.string(), one: z.any(), compensate: z.number() };
  defineWorkflow(general).event("asked", { anyOf });
  for (const schema of [general.input, ...Object.values(anyOf)])
    expect(Object.isFrozen(schema)).toBe(false);
  expect(Object.isFrozen(anyOf)).toBe(true);
});

test.each([
  ["assigned", (shape: any) => (shape.b = z.number())],
  ["added", (shape: any) => Object.assign(shape, { b: z.number() })],
])("an input is parsed with the definition's own schema: a field is %s", (_how, change) => {
  const schema = () => z.object({ a: z.string() });
  const changed = defineWorkflow({ input: schema() }).step("only", { query: () => 1 });
  change((changed.options.input as ReturnType<typeof schema>).shape);
  const component = componentsGeneric()["workflow"] as unknown as ComponentApi;
  const own = compiled(component, "changed", changed, { format: 1 });
  // What generated code hands over is a copy of the source.
  const reference = own.reference(schema());
  expect(reference.parse({ a: "x", b: 1 })).toEqual({ a: "x", b: 1 });
  expect(() => reference.parse({ a: "x" })).toThrow("input.b");
});
