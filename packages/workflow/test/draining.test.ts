/** @module-tag large */
import { expect, test, vi } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const drain = async () => await use.app.t.finishAllScheduledFunctions(vi.runAllTimers);
const leaves = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

/** As Convex's docs say: all timers fire in one turn, also those of what is yet to come. */
test.each([
  ["a fan-out", "list", { leaves: leaves(12) }, "completed"],
  ["a fan-out of two at once", "twoAtOnce", { leaves: leaves(12) }, "completed"],
  ["a fan-out of fan-outs", "grandparent", { leaves: leaves(4) }, "completed"],
  ["a retry", "capped", {}, "failed"],
  ["retries of several steps", "overridden", {}, "completed"],
  ["a sleep", "wholeDay", {}, "completed"],
  ["a sleep in a branch", "choosy", { asks: false }, "completed"],
  ["an event with a timeout", "unanswered", {}, "completed"],
  ["a run whose time is over", "oversleeps", {}, "timedOut"],
  ["a parent whose time is over", "outlasts", {}, "failed"],
  ["a race whose time is over", "hurriedRace", { ms: 60_000 }, "completed"],
  ["a race that is won in time", "hurriedRace", { ms: 500 }, "completed"],
  ["a start that is collected", "collectsLast", { key: "a", n: 1 }, "completed"],
])("[S131] %s: finishAllScheduledFunctions ends", async (_what, name, input, state) => {
  const runId = await use.app.start(name, input);
  await drain();
  expect(await use.app.status(name, runId)).toMatchObject({ state });
  await use.app.expectNothingLeft();
});

test.each([
  ["oversleeps", {}],
  ["outlasts", {}],
  ["unanswered", {}],
  ["choosy", { asks: true }],
  ["hurriedRace", { ms: 60_000 }],
  ["collectsLast", { key: "a", n: 1 }],
  ["list", { leaves: leaves(30) }],
])("[S131] %s, canceled: finishAllScheduledFunctions ends", async (name, input) => {
  const runId = await use.app.start(name, input);
  await use.app.advance(10);
  await use.app.t.mutation(internal.runs.cancel, { runId });
  await drain();
  await use.app.expectNothingLeft();
});

test("[S131] an event that comes between two drains", async () => {
  const runId = await use.app.start("choosy", { asks: true });
  await drain();
  expect(await use.app.status("choosy", runId)).toMatchObject({ state: "running" });
  const sent = { name: "choosy", run: runId, event: "answer", payload: "yes" };
  await use.app.t.mutation(internal.manager.sendEvent, sent);
  await drain();
  expect(await use.app.status("choosy", runId)).toMatchObject({ state: "completed" });
  await use.app.expectNothingLeft();
});

test.each([1_000.5, "40 days"])("[S131] a start in %s", async (runAfter) => {
  const delayed = { name: "leaf", input: { n: 1 }, runAfter };
  const runId = await use.app.t.mutation(internal.manager.start, delayed);
  await drain();
  expect(await use.app.status("leaf", runId)).toMatchObject({ state: "completed" });
  await use.app.expectNothingLeft();
});
