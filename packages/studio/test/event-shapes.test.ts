import { defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { expect, test } from "vitest";
import { eventsOf } from "../src/event-shapes.js";

const by = v.object({ by: v.string() });
const decision = defineWorkflow({ input: v.object({}) })
  .event("approval", { schema: by })
  .event("answer", { anyOf: { yes: by, no: v.object({ why: v.string() }) } })
  .branch("route", {
    on: ({ approval }) => (approval.by === "" ? "small" : "large"),
    cases: {
      small: (b) => b.event("packed", { schema: by }),
      large: (b) => b.event("packed", { schema: v.object({ pallets: v.number() }) }),
    },
  });

test("[S163] events of branches, of items, of cases of a race and of loops are asked for too", () => {
  const nested = defineWorkflow({ input: v.object({}) })
    .parallel("both", {
      branches: {
        first: (b) => b.event("inBranch", { schema: by }),
        second: (b) =>
          b.each("all", { of: () => [1], body: (item) => item.event("inItem", { schema: by }) }),
      },
    })
    .race("first", {
      cases: {
        paid: (b) => b.event("inCase", { schema: by }),
        lapsed: (b) => b.sleep("week", "7 days"),
      },
    })
    .loop("rounds", {
      initial: () => 0,
      body: (b) => b.event("inLoop", { schema: by }).step("next", { query: () => 1 }),
      until: () => true,
      maxIterations: 2,
    });
  const events = eventsOf({ definition: nested, stored: nested });
  expect(events.map(({ name, within }) => [within, name])).toEqual([
    ["both.first", "inBranch"],
    ["both.second.all", "inItem"],
    // It is sent to the run that the race is in, or to the case itself.
    [undefined, "inCase"],
    ["first.paid", "inCase"],
    [undefined, "inLoop"],
  ]);
});

test("[S242] nodes of several parts may take one event: each part has its own form, by storage names", () => {
  const parts = (late: string) =>
    defineWorkflow({ input: v.object({}) }).parallel("both", {
      branches: {
        early: (b) => b.event("verdict", { schema: by }),
        [late]: (b: any) => b.event("verdict", { schema: v.object({ cents: v.number() }) }),
      },
    });
  const events = eventsOf({ definition: parts("late"), stored: parts("last") });
  expect(events.map(({ within, payload, example }) => [within, payload.kind, example])).toEqual([
    ["both.early", "object", { by: "" }],
    ["both.last", "object", { cents: 0 }],
  ]);
});

test("every event is asked for by its form, and as JSON if its nodes want different payloads", () => {
  const events = eventsOf({ definition: decision, stored: decision });
  expect(events.map(({ name, payload, example }) => [name, payload.kind, example])).toEqual([
    ["approval", "object", { by: "" }],
    ["yes", "object", { by: "" }],
    ["no", "object", { why: "" }],
    ["packed", "other", {}],
  ]);
});
