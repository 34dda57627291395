/** @module-tag large */
import { expect, test } from "vitest";
import { components } from "./convex/_generated/api.js";
import { type TestApp, useTestApp } from "./harness.js";

/* A step in an executor ends as it does in a function of its own, whatever its function does. */

const use = useTestApp();

/** What is seen of a run that has ended, but for its id and its times. */
async function seen(app: TestApp, name: string, id: string) {
  const status = await app.status(name, id);
  const [top] = await app.tree(id);
  const steps = top?.steps.map(({ stage, state, attempt, iterations, errors, kind }) => ({
    stage,
    state,
    attempt,
    iterations,
    errors,
    kind,
  }));
  const { state, output, error } = (status ?? {}) as Record<string, unknown>;
  return JSON.parse(
    JSON.stringify({ state, output, error, steps }, (_key, value: unknown) =>
      typeof value === "bigint" ? `${value}n` : value,
    )
      .replaceAll(id, "id")
      .replace(/\d{4}-[^"]*Z/g, "then"),
  ) as unknown;
}

const calls = (app: TestApp, name: string) =>
  app.counter.calls.filter((call) => call.name.endsWith(name)).length;

/** Ends a run in a function of its own for each step, and another in a pool that is busy. */
async function inBoth(name: string, what: string) {
  const { app } = use;
  const alone = await app.start(name, { what });
  await app.drive();
  const log = await app.log();
  expect(calls(app, "executor:execute")).toBe(0);
  await app.t.mutation(components.workflow.config.update, { maxParallelism: 2 });
  for (let n = 0; n < 2; n++) await app.start("slow", { ms: 5_000 });
  const together = await app.start(name, { what });
  // Others wait behind it, so that an executor goes on with it.
  for (let n = 0; n < 6; n++) await app.start("slow", { ms: 1_000 });
  app.counter.clear();
  await app.drive();
  const ofBoth = [await seen(app, name, alone), await seen(app, name, together)] as const;
  expect(ofBoth[1]).toEqual(ofBoth[0]);
  expect(await app.log()).toEqual([...log, ...log]);
  expect(calls(app, "executor:execute")).toBeGreaterThan(0);
  await app.expectNothingLeft();
  return { own: calls(app, `${name}:second`) + calls(app, `${name}:turnsSecond`), seen: ofBoth[0] };
}

test.each([
  ["does well", 0],
  ["schedules", 0],
  ["mutates", 0],
  ["refuses", 0],
  ["throws", 1],
  ["throwsData", 1],
  ["asksForLater", 1],
  ["wrongResult", 1],
  ["large", 0],
  ["slow", 1],
  ["argsOfAnotherType", 1],
  ["argsThrow", 2],
  ["argsOfNoType", 1],
  ["manyArgs", 1],
] as const)("[S156] an action by reference that %s", async (what, own) => {
  // An attempt after the first one is that of the step's own function.
  expect((await inBoth("handed", what)).own).toBe(own);
});

test("[S156] [S29] in a loop, with a key of its own in each iteration", async () => {
  const { own, seen: of } = await inBoth("handedInLoop", "does well");
  expect(own).toBe(0);
  expect(of).toMatchObject({ output: ["does well after 1", "does well after 2"] });
});

test.each(["nothing", "date", "much"])("[S156] one without validators gives %s", async (what) => {
  expect((await inBoth("handedUnchecked", what)).own).toBe(0);
});

test.each([
  ["hole", /^The args of "second" cannot be passed: args.what.list\[2\] is a hole in the list/],
  ["dropped", /^The args of "second" cannot be passed: args.what.of has a field "__proto__"/],
])("[S156] [S141] arguments that Convex would change are refused: %s", async (what, message) => {
  const { own, seen: of } = await inBoth("handedUnchecked", what);
  expect(own).toBe(1);
  const error = { kind: "invalidOutput", message: expect.stringMatching(message) };
  expect(of).toMatchObject({ state: "failed", error });
});

test("[S156] [S97] what reads something sensitive is called by its own function", async () => {
  expect((await inBoth("handedSecret", "does well")).own).toBe(1);
});
