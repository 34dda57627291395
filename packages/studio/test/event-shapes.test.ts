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

test("every event is asked for by its form, and as JSON if its nodes want different payloads", () => {
  const events = eventsOf(decision);
  expect(events.map(({ name, payload, example }) => [name, payload.kind, example])).toEqual([
    ["approval", "object", { by: "" }],
    ["yes", "object", { by: "" }],
    ["no", "object", { why: "" }],
    ["packed", "other", {}],
  ]);
});
