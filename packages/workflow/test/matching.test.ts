import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";
import { defineWorkflow } from "../src/definition/index.js";
import { z } from "zod";

const use = useTestApp();
const card = { kind: "card", last4: "4242" };
const invoice = { kind: "in voice", due: 30 };

/** A run that gets an event as soon as it waits for one. */
async function answered(input: object, name: string, payload: unknown) {
  const runId = await use.app.start("matched", input);
  await use.app.drive(async () => (await use.app.steps(runId)).includes("answer waiting"));
  const args = { name: "matched", run: runId, event: name, payload };
  await use.app.t.mutation(internal.manager.sendEvent, args);
  await use.app.drive();
  const status = await use.app.status("matched", runId);
  return status?.state === "completed" ? status.output : status;
}

describe("[S166] a match runs the case of the value", () => {
  test("of a field of the input, of an event, an item and a loop; or its default", async () => {
    expect(await answered({ order: card, stars: [2, 1, 3] }, "yes", "well")).toEqual([
      "4242",
      "well",
      ["good: 2", "bad at 1", "good: 3"],
      { phase: "stop" },
    ]);
    expect(await answered({ order: invoice }, "no", 7)).toEqual([30, 8, [], { phase: "stop" }]);
    expect(await use.app.output("matched", { order: card })).toBe("late: 4242");
    await use.app.expectNothingLeft();
  });

  test("a value that has no case, and no default, fails it and says which there are", async () => {
    expect(await use.app.output("mismatched", { level: "low" })).toBe(1);
    for (const [level, shown] of [
      ["none", '"none"'],
      [null, "null"],
      [{}, "{}"],
      [7n, "7n"],
    ] as const)
      expect(await use.app.error("mismatched", { level })).toMatchObject({
        kind: "thrown",
        node: "leveled",
        message: `The match "leveled" has no case ${shown}; it has low, high`,
      });
    await use.app.expectNothingLeft();
  });

  test("a value that is named like a member of every object has no case either", async () => {
    expect(await use.app.output("matchedMember", { word: "constructor" })).toBe(
      "default: constructor",
    );
  });

  test("a case is not also the default", () => {
    const begin = defineWorkflow({ input: z.object({ level: z.enum(["low", "default"]) }) });
    const both = { low: (b: never) => b, default: (b: never) => b } as never;
    expect(() =>
      begin.match("leveled", { of: "input", by: "level", cases: both, default: (b) => b as never }),
    ).toThrow('Match "leveled" has a case "default" and a default: give it one of them');
  });
});
