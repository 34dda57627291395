import { componentsGeneric } from "convex/server";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { nodeNamed, stagesAt } from "../src/client/nodes.js";
import type { AnyDefinition } from "../src/definition/definition.js";
import { defineWorkflow } from "../src/definition/index.js";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { compiled } from "../src/runtime/index.js";
import { eventsOf } from "../src/runtime/nodes/event.js";
import { placeOf } from "../src/runtime/place.js";
import { underStorageNames } from "../src/runtime/storage-names.js";
import { readsOf } from "../src/runtime/reads.js";
import type { WorkflowReference } from "../src/runtime/reference.js";
import { stubOf } from "../src/runtime/stubs.js";
import { stubNode } from "../src/test/stub.js";

/* A definition whose nodes have other names than those that their results are stored under. */

const definition = defineWorkflow({ input: z.object({}) })
  .step("charge", { query: () => 1 })
  .branch("way", {
    on: () => "right" as const,
    cases: {
      right: (b) => b.step("made", { query: () => 1 }).event("say", { schema: z.string() }),
    },
  })
  .loop("round", {
    initial: () => 1,
    body: (b) => b.step("think", { query: () => 1 }),
    until: () => true,
    maxIterations: 2,
  })
  .sleep("rest", "1s")
  .step("pay", { query: () => "" as "in.voice" | "" })
  .match("paid", {
    of: "pay",
    cases: {
      "in.voice": (b) => b.step("book", { query: () => 1 }),
      "": (b) => b.step("free", { query: () => 1 }),
    },
  })
  .step("last", { query: () => 2 }) as unknown as AnyDefinition;
const names = {
  charge: "pay",
  pay: "pay2",
  way: "route",
  "way.right": "left",
  "way.right.say": "ask",
  "round.think": "ponder",
  'paid."in.voice"': "inVoice",
  "paid.": "case",
};
const stored = underStorageNames(definition, names);
const reference = { name: "flow", definition, stored } as WorkflowReference<never>;

test.each([
  ["pay", "charge"],
  ["pay2", "pay"],
  ["pay2.compensate", "pay.compensate"],
  ["route.left.made", "way.right.made"],
  ["route.left.ask", "way.right.say"],
  ["round.ponder", "round.think"],
  ["paid.inVoice.book", 'paid."in.voice".book'],
  ["paid.case.free", "paid..free"],
  ["gone.finalize", "gone.finalize"],
])("[S116] a stage that is stored as %s is called %s", (stage, called) => {
  expect(placeOf(stored, stage).called).toBe(called);
});

test("[S116] a handler reads by the names of the definition, and gets what is stored under the first", () => {
  const reads = (stage: string, ...names: string[]) =>
    readsOf({ definition: stored, reads: new Map([[stage, names]]) }, stage, [1]).map(
      ({ name, stage: from }) => `${name} of ${from}`,
    );
  expect(reads("pay2", "charge", "way", "round")).toEqual([
    "charge of pay",
    "way of route",
    "round of round",
  ]);
  expect(reads("route.left.ask", "*")).toEqual([
    "input of input",
    "charge of pay",
    "made of route.left.made",
  ]);
});

test.each([
  ["pay", {}, []],
  ["pay", { pay: ["input"] }, ["input"]],
  ["pay", { "pay.recover": ["input"], "pay.compensate": ["output"] }, ["input"]],
  ["route", { "route.left.made": ["charge"], "route.left.ask": ["made"] }, ["pay"]],
  ["round", { "round.until": ["way", "loop"], "round.ponder": ["input"] }, ["input", "route"]],
  ["round", { "round.ponder": ["*"] }, ["input", "pay", "route"]],
  ["pay2", { pay: ["input"], pay2: ["charge", "round"] }, ["pay", "round"]],
  // Nobody reads a sleep: one that is done again has nothing else done again.
  ["pay2", { pay2: ["*"] }, ["input", "pay", "route", "round"]],
])("[S102] a restart knows what %s reads, with all inside it: %j", (node, reads, expected) => {
  const component = componentsGeneric()["workflow"] as unknown as ComponentApi;
  const own = compiled(component, "flow", definition, { format: 1, names, reads });
  expect(own.reference(z.object({})).nodeReads(node)).toEqual(expected);
});

test("[S116] nodes are named, and found, by their present names", () => {
  const named = (path: string) => nodeNamed(reference, path, { onTop: false });
  expect(["charge", "pay", "way.right.say"].map(named)).toEqual(["pay", "pay2", "route.left.ask"]);
  expect(() => named("route")).toThrow('Workflow "flow" has no node "route"');
  expect(stagesAt(stored, named("round.think"))).toEqual(["round.ponder"]);
  expect([...eventsOf(stored, "route.left.ask")]).toEqual([["ask", "say"]]);
});

test("[S116] a stub stands in for the node that has the name now", () => {
  const stub = (): never => {
    throw new Error("It is not called");
  };
  stubNode(reference, "pay", stub);
  expect([stubOf(stored, "pay2"), stubOf(stored, "pay")]).toEqual([stub, undefined]);
  expect(() => stubNode(reference, "pay2", stub)).toThrow('no function "pay2" to be stubbed');
});

test("[S116] another copy of the run time finds nodes by their present names, as a studio does", async () => {
  vi.resetModules();
  const other = await import("../src/client/nodes.js");
  expect(other.nodeNamed).not.toBe(nodeNamed);
  const paths = ["charge", "pay", "way.right.say"];
  expect(paths.map((path) => other.nodeNamed(reference, path, { onTop: false }))).toEqual([
    "pay",
    "pay2",
    "route.left.ask",
  ]);
  expect(other.asCalled(stored, "route", { state: "completed", chosen: "left" })).toMatchObject({
    node: "way",
    chosen: "right",
  });
});

test("a definition in which nothing was renamed is left as it is", () => {
  expect(underStorageNames(definition, undefined)).toBe(definition);
});
