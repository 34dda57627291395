import { componentsGeneric } from "convex/server";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { defineWorkflow } from "../src/index.js";
import { compiled, removedWorkflow } from "../src/runtime/index.js";

const order = defineWorkflow({ input: z.object({}) })
  .step("price", { query: () => 1, compensate: { mutation: () => {} } })
  .sleep("rest", "1h")
  .branch("route", { on: () => "a", cases: { a: (b) => b.step("inside", { query: () => 1 }) } })
  .parent("all", { query: () => 1, children: () => [], finalize: { query: () => 1 } })
  .loop("turn", {
    initial: () => 1,
    body: (b) => b.step("pass", { query: () => 1 }),
    until: () => true,
    maxIterations: 1,
  })
  .finalize({ query: () => 1 });

const STAGES =
  "price price.compensate rest route route.a.inside all.output all all.finalize turn turn.pass finalize";

/** What a generated file does when it is loaded. */
function load(stages: string) {
  const component = componentsGeneric()["workflow"] as unknown as ComponentApi;
  const at = stages.split(" ").map((stage) => [stage, async () => {}] as const);
  return compiled(component, "order", order, { format: 1 }).entry({ at: Object.fromEntries(at) });
}

const outOfDate = 'The generated code of workflow "order" is out of date: ';

test("generated code that fits its definition is loaded", () => {
  expect(load(STAGES).isInternal).toBe(true);
});

test.each([
  ["rest ", "", 'it does not know "rest". Run workflow-codegen'],
  ["rest", "pause", 'it does not know "rest"'],
  ["price.compensate ", "", 'it does not know "price.compensate"'],
  ["route.a.inside ", "", 'it does not know "route.a.inside"'],
  ["all.output ", "", 'it does not know "all.output"'],
  [" all.finalize", "", 'it does not know "all.finalize"'],
  [" turn.pass", "", 'it does not know "turn.pass"'],
  [" all ", " all ship ", 'it has "ship", which the definition does not have'],
  [" turn.pass", " turn.pass turn.more", 'it has "turn.more", which the definition does not have'],
  ["price price.compensate rest", "rest price price.compensate", '"price" stands elsewhere'],
])("that of another version, with %j instead of %j, is refused", (now, then, why) => {
  expect(() => load(STAGES.replace(now, then))).toThrow(outOfDate + why);
});

test("an onEnd that was not seen is refused, with what to write", () => {
  const component = componentsGeneric()["workflow"] as unknown as ComponentApi;
  const ends = defineWorkflow({ input: z.object({}), onEnd: { mutation: () => {} } });
  const own = compiled(component, "ends", ends.step("one", { query: () => 1 }), { format: 1 });
  expect(() => own.entry({ at: { one: async () => {} } })).toThrow(
    'it does not know "onEnd" (if that comes from a spread, write it beside the spread: `onEnd: { … }`)',
  );
});

/* As in JavaScript: TypeScript would refuse every other format. */
const loadAny = compiled as unknown as (...args: unknown[]) => unknown;
const loadAnyRemoved = removedWorkflow as unknown as (...args: unknown[]) => unknown;

test.each([
  ["older", undefined],
  ["older", { folder: "generated" }],
  ["0", { format: 0 }],
  ["2", { format: 2, plan: "" }],
])("code that was generated for another run time, of format %s, is refused", (format, settings) => {
  const why = `its format is ${format}, and @stepwise/workflow takes format 1. Run workflow-codegen, of the same version as @stepwise/workflow`;
  expect(() => loadAny({}, "order", order, settings)).toThrow(outOfDate + why);
  expect(() => loadAnyRemoved({}, "order", settings)).toThrow(outOfDate + why);
});

test("TypeScript tells an app whose generated code is for another run time", () => {
  const component = componentsGeneric()["workflow"] as unknown as ComponentApi;
  // @ts-expect-error -- as older code is
  expect(() => compiled(component, "order", order)).toThrow("format is older");
  // @ts-expect-error -- as newer code is
  expect(() => compiled(component, "order", order, { format: 2 })).toThrow("format is 2");
  // @ts-expect-error -- as newer code is
  expect(() => removedWorkflow(component, "order", { format: 2 })).toThrow("format is 2");
});

test("a node cannot be added to a definition whose generated code has been loaded", () => {
  const open = defineWorkflow({ input: z.object({}) }).step("one", { query: () => 1 });
  const component = componentsGeneric()["workflow"] as unknown as ComponentApi;
  compiled(component, "open", open, { format: 1 }).entry({ at: { one: async () => {} } });
  expect(() => open.step("two", { query: () => 2 })).toThrow(
    'Node "two" is added to a workflow that was compiled without it',
  );
});

test("a .child of another workflow than the generated code starts fails, and starts none", async () => {
  const component = componentsGeneric()["workflow"] as unknown as ComponentApi;
  const other = defineWorkflow({ input: z.object({}) }).step("one", { query: () => 1 });
  const above = defineWorkflow({ input: z.object({}) }).child("only", order, () => ({}));
  const reference = compiled(component, "other", other, { format: 1 }).reference(z.object({}));
  const entry = compiled(component, "above", above, { format: 1 }).entry({
    at: { only: (run) => run.child("only", above.nodes.only.args, reference as never) },
  });
  const reported: object[] = [];
  const runMutation = async (_settle: unknown, settlement: object) => {
    reported.push(settlement);
    return { stale: false };
  };
  const token = { run: "run", step: "step", attempt: 1 };
  // As convex-test calls it.
  const { _handler: enter } = entry as unknown as { _handler(ctx: object, args: object): unknown };
  const event = { kind: "arrive" };
  await enter({ runMutation }, { token, stage: "only", event, scope: {}, fuse: true });
  const message =
    '"only" of workflow "above" runs another workflow than "other", which the generated code starts. Run workflow-codegen';
  const error = { kind: "nonRetryable", node: "only", message };
  expect(reported).toMatchObject([{ outcome: { kind: "failed" }, next: { kind: "fail", error } }]);
});
