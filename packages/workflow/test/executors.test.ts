/** @module-tag large */
import { expect, test, vi } from "vitest";
import { internal as ofComponent } from "../src/component/_generated/api.js";
import { components, internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

/* Steps that wait for a slot run in executors: what they promise is the same there. */

const use = useTestApp();

/** Has the pool run two actions at once, and both be busy for 5 s. */
async function busy(): Promise<void> {
  await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 2 });
  for (let n = 0; n < 2; n++) await use.app.start("slow", { ms: 5_000 });
}

const executors = () =>
  use.app.counter.calls.filter(({ name }) => name === "executor:execute").length;

const states = async (name: string, ids: readonly string[]) =>
  await Promise.all(ids.map(async (id) => (await use.app.status(name, id))?.state));

test("actions that wait share an executor, and all come to their ends", async () => {
  await busy();
  const ids: string[] = [];
  for (let n = 0; n < 8; n++) ids.push(await use.app.start("slow", { ms: 1_000 }));
  use.app.counter.clear();
  await use.app.drive();
  expect(await states("slow", ids)).toEqual(ids.map(() => "completed"));
  expect(executors()).toBeGreaterThan(0);
  expect(executors()).toBeLessThan(3);
  await use.app.expectNothingLeft();
});

test("what has waited is called by the executor itself, once it has reported", async () => {
  await busy();
  const ids: string[] = [];
  for (let n = 0; n < 8; n++) ids.push(await use.app.start("handedAtOnce", { what: "nothing" }));
  await use.app.drive();
  expect(await states("handedAtOnce", ids)).toEqual(ids.map(() => "completed"));
  const called = (name: string) =>
    use.app.counter.calls.filter((call) => call.name.endsWith(name)).length;
  expect(called("handed:give")).toBe(8);
  // An executor begins with two, of which it has only what the queue has had.
  expect(called("handedAtOnce:only")).toBe(2);
  await use.app.expectNothingLeft();
});

test("an action that fails there is tried again as often, and times out as soon", async () => {
  await busy();
  const capped = await use.app.start("capped", {});
  const slow = await use.app.start("slow", { ms: 60_000 });
  await use.app.drive();
  expect(await use.app.status("capped", capped)).toMatchObject({
    state: "failed",
    error: { attempt: 5 },
  });
  expect(await use.app.status("slow", slow)).toMatchObject({
    state: "failed",
    error: { kind: "timedOut", attempt: 2 },
  });
  expect(executors()).toBeGreaterThan(0);
  await use.app.expectNothingLeft();
});

test("one that is canceled before its executor takes it does not begin", async () => {
  await busy();
  const [kept, canceled] = [
    await use.app.start("slow", { ms: 1_000 }),
    await use.app.start("slow", { ms: 1_001 }),
  ];
  await use.app.t.mutation(internal.runs.cancel, { runId: canceled });
  await use.app.drive();
  expect(await states("slow", [kept, canceled])).toEqual(["completed", "canceled"]);
  const begun = use.app.counter.calls.filter(({ name }) => name.endsWith("slow:wait"));
  expect(begun).toHaveLength(3);
  await use.app.expectNothingLeft();
});

test("one that is canceled when its executor is scheduled does not begin", async () => {
  await busy();
  const ids: string[] = [];
  for (let n = 0; n < 2; n++) ids.push(await use.app.start("slow", { ms: 1_000 }));
  await use.app.drive(async () =>
    use.app.inComponent(async (ctx) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      return jobs.some(
        ({ name, state }) => name === "executor:execute" && state.kind === "pending",
      );
    }),
  );
  await use.app.t.mutation(internal.runs.cancel, { runId: ids[0]! });
  await use.app.drive();
  expect(await states("slow", ids)).toEqual(["canceled", "completed"]);
  const begun = use.app.counter.calls.filter(({ name }) => name.endsWith("slow:wait"));
  expect(begun).toHaveLength(3);
  await use.app.expectNothingLeft();
});

test("[S156] an executor leaves out a step that has its slot again, with a function of its own", async () => {
  await busy();
  await use.app.drive(async () => (await use.app.slotsHeld()) === 2);
  const [slot, other] = await use.app.inComponent(({ db }) => db.query("slots").collect());
  const leftTo = async (job = slot!.job) =>
    await use.app.inComponent(async (ctx) => {
      const works = [{ slot: slot!._id, work: slot!.work! }];
      return await ctx.runQuery(ofComponent.executor.toBegin, { job, works });
    });
  expect(await leftTo()).toEqual([slot!._id]);
  // The job of an executor that was to begin it before.
  expect(await leftTo(other!.job)).toEqual([]);
});

test("[S156] what is refused among others is reported alone, and is no attempt more", async () => {
  // In a report of several, the end of an action comes without its slot.
  const app = new TestApp({
    settle: ({ slot, outcome }) => slot === undefined && outcome.kind === "success",
  });
  await app.t.mutation(components.workflow.config.update, { maxParallelism: 2 });
  for (let n = 0; n < 2; n++) await app.start("slow", { ms: 5_000 });
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push(await app.start("handed", { what: "does well" }));
  await app.drive();
  for (const id of ids)
    expect(await app.status("handed", id)).toMatchObject({ state: "completed" });
  expect(app.counter.calls.filter(({ name }) => name === "executor:recordAlone")).not.toEqual([]);
  expect(await app.slotsHeld()).toBe(0);
});

test("an action with arguments of 20 kB has a function of its own", async () => {
  await busy();
  await use.app.start("large", { length: 20_000 });
  for (let n = 0; n < 4; n++) await use.app.start("slow", { ms: 5_000 });
  await use.app.drive();
  const isRoot = (name: string) =>
    use.app.counter.calls
      .filter((call) => call.name.endsWith(`large:${name}`))
      .map(({ how }) => how === "root");
  expect(isRoot("made")).toEqual([false]);
  expect(isRoot("length")).toEqual([true]);
});

test("[S156] a report that takes long leaves ends to the next: its transaction has a second", async () => {
  const run = await use.app.start("slow", { ms: 1_000 });
  await use.app.drive();
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 50));
  const told = await use.app.inComponent(async (ctx) => {
    const slot = (await ctx.db.query("slots").first())!._id;
    // They have been reported already, in another way.
    const token = { run, step: "", attempt: 1 };
    const ended = Array.from({ length: 20 }, () => ({ slot, fn: "", token, error: "it is lost" }));
    const report = { range: 0, running: 20, inVain: 0, lane: 0, calledAt: 0, isOver: false };
    return await ctx.runMutation(ofComponent.executor.recordTogether, { ...report, ended });
  });
  expect(told.done).toBeGreaterThan(1);
  expect(told.done).toBeLessThan(10);
});
