import { makeFunctionReference } from "convex/server";
import { expect, test, vi } from "vitest";
import { type Modules, useTestApp } from "./harness.js";

/* Drains, as Convex's docs say, of steps that a limit keeps back. */

const modules: Modules = import.meta.glob(["./limited/**/*.{ts,js}", "!./limited/**/*.*.ts"]);
await Promise.all(Object.values(modules).map((load) => load()));
const use = useTestApp({ modules });
const hold = makeFunctionReference<"mutation">("manager:hold");
const pauseAll = makeFunctionReference<"mutation">("manager:pauseAll");
const drain = async () => await use.app.t.finishAllScheduledFunctions(vi.runAllTimers);

test("[S131] steps whose limit is paused for a while", async () => {
  await use.app.t.mutation(pauseAll, {});
  const runs = [await use.app.start("ofTenant", { name: "a" })];
  runs.push(await use.app.start("ofTenant", { name: "b" }));
  await drain();
  for (const run of runs)
    expect(await use.app.status("ofTenant", run)).toMatchObject({ state: "completed" });
  await use.app.expectNothingLeft();
});

test("[S131] a step whose limit is paused until somebody resumes it goes on in the next drain", async () => {
  const key = "org acme";
  await use.app.t.mutation(hold, { paused: true, key });
  const run = await use.app.start("ofTenant", { name: "a" });
  await drain();
  expect(await use.app.status("ofTenant", run)).toMatchObject({ state: "running" });
  await use.app.t.mutation(hold, { paused: false, key });
  await drain();
  expect(await use.app.status("ofTenant", run)).toMatchObject({ state: "completed" });
  await use.app.expectNothingLeft();
});

test("[S131] attempts that hold their limit, and others that wait behind them", async () => {
  const runs = [await use.app.start("asksOften", { name: "first", times: 3 })];
  for (const name of ["b", "c"]) runs.push(await use.app.start("asksOften", { name }));
  await drain();
  for (const run of runs)
    expect(await use.app.status("asksOften", run)).toMatchObject({ state: "completed" });
  await use.app.expectNothingLeft();
});

test("[S131] a step that has waited as long as its waitAtMost says", async () => {
  await use.app.t.mutation(hold, { paused: true, key: "acme" });
  const late = await use.app.start("hurried", { name: "late" });
  await drain();
  expect(await use.app.status("hurried", late)).toMatchObject({
    output: expect.stringMatching(/^timedOut waiting 1: /),
  });
  await use.app.expectNothingLeft();
});
