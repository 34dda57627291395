/** @module-tag large */
import { describe, expect, test } from "vitest";
import { isOf } from "./component.js";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

describe("a run that is steered from inside", () => {
  test.each([
    ["cancel", "canceled", []],
    ["pause", "running", []],
    ["restart", "completed", [expect.stringMatching(/^after .*it goes on/)]],
  ])("[S84] [S102] [S103] by its own action: %s", async (how, state, log) => {
    const id = await use.app.start("actsOnItself", { how });
    await use.app.drive();
    expect(await use.app.status("actsOnItself", id)).toMatchObject({ state });
    expect(await use.app.log()).toEqual(log);
    await use.app.expectNothingLeft();
    if (how !== "pause") return;
    await resume(id);
    await use.app.drive();
    expect(await use.app.log()).toEqual(["after true"]);
  });

  test("[S83] [S102] a step cancels its run and has it begin anew: it does", async () => {
    const id = await use.app.start("beginsAnew", {});
    await use.app.drive();
    expect(await use.app.status("beginsAnew", id)).toMatchObject({
      state: "completed",
      generation: 2,
    });
    expect(await use.app.log()).toEqual(["first", "anew", "first", "anew", "last"]);
    await use.app.expectNothingLeft();
  });

  test.each(["cancelsItself", "toppled"])(
    "[S89] [S101] [S104] a step cancels the run (%s), whose callback removes it: it was canceled, once",
    async (name) => {
      const next = name === "toppled" ? { n: 1 } : { run: "none" };
      await use.app.t.mutation(internal.selfSteering.startWith, {
        name,
        input: name === "toppled" ? { n: 1 } : {},
        callback: "replaced",
        next,
      });
      await use.app.advance(1_000);
      const ended = (await use.app.log()).filter((line) => line.startsWith("ended"));
      expect(ended).toEqual(["ended canceled"]);
    },
  );

  test("[S89] [S101] [S102] a step cancels the run, whose callback has it begin anew", async () => {
    const id = await use.app.t.mutation(internal.selfSteering.startWith, {
      name: "cancelsItself",
      input: {},
      callback: "anew",
    });
    await use.app.drive();
    expect(await use.app.log()).toEqual([
      "stopping",
      "ended canceled",
      "stopping",
      "ended canceled",
    ]);
    expect(await use.app.status("cancelsItself", id)).toMatchObject({
      state: "canceled",
      generation: 2,
    });
    await use.app.expectNothingLeft();
  });

  test("[S99] a step starts a run with the key of its own: that is its own", async () => {
    const id = await use.app.start("startsItself", { key: "k" }, "k");
    await use.app.drive();
    expect(await use.app.status("startsItself", id)).toMatchObject({ output: true });
  });
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("in the transaction that starts a run", () => {
  test.each(["chain", "patientTwice", "sleeper", "twoAfter"])(
    "[S83] [S89] %s is canceled: nothing of it runs",
    async (name) => {
      const id = await use.app.t.mutation(internal.selfSteering.startAnd, {
        name,
        input: name === "sleeper" ? { ms: 1_000 } : {},
        how: "cancel",
      });
      use.app.counter.clear();
      await use.app.drive();
      expect(await use.app.status(name, id)).toMatchObject({ state: "canceled" });
      expect(use.app.counter.calls.filter(({ name }) => name.startsWith("_workflows"))).toEqual([]);
      await use.app.expectNothingLeft();
    },
  );

  test.each(["chain", "sleeper"])("[S103] %s is paused: nothing runs until then", async (name) => {
    const id = await use.app.t.mutation(internal.selfSteering.startAnd, {
      name,
      input: name === "sleeper" ? { ms: 1_000 } : {},
      how: "pause",
    });
    await use.app.advance(HOUR);
    expect(await use.app.log()).toEqual([]);
    await use.app.expectNothingLeft();
    await resume(id);
    await use.app.drive();
    expect(await use.app.status(name, id)).toMatchObject({ state: "completed" });
  });

  test("[S69] it is sent an event", async () => {
    const id = await use.app.t.mutation(internal.selfSteering.startAnd, {
      name: "echoes",
      input: {},
      how: "send",
      event: { name: "word", payload: 1 },
    });
    await use.app.drive();
    expect(await use.app.status("echoes", id)).toMatchObject({ output: 2 });
    expect(await use.app.log()).toEqual(["said 1"]);
  });
});

describe("a parent that steers its own run", () => {
  test.each(["handler", "finalize"])("[S103] it pauses in its %s", async (where) => {
    const id = await use.app.start("pausesInParent", { where, how: "pause" });
    await use.app.advance(HOUR);
    const all = ["handler", "did 1", "did 2", "finalize"];
    expect(await use.app.log()).toEqual(where === "handler" ? ["handler"] : all);
    if (where === "handler") expect(await resume(id)).toBe(true);
    await use.app.drive();
    expect(await use.app.log()).toEqual(all);
    expect(await use.app.status("pausesInParent", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });

  test.each(["handler", "finalize"])("[S84] [S93] it cancels in its %s", async (where) => {
    const id = await use.app.start("pausesInParent", { where, how: "cancel" });
    await use.app.drive();
    const undone = ["did 1", "did 2", "finalize", "undid 2", "undid 1"];
    expect(await use.app.log()).toEqual(["handler", ...(where === "handler" ? [] : undone)]);
    expect(await use.app.status("pausesInParent", id)).toMatchObject({ state: "canceled" });
    await use.app.expectNothingLeft();
  });
});

/** The pool's last sweep, and the last rounds of its drain. */
const isOfPool = isOf("watchdog:sweep", "watchdog:drainQueue");

/** The scheduled functions that are still to come, but for the pool's own. */
async function scheduled(app: TestApp = use.app): Promise<string[]> {
  return await app.inComponent(async (ctx) => {
    const jobs = await ctx.db.system.query("_scheduled_functions").collect();
    return jobs
      .filter((job) => job.state.kind === "pending" && !isOfPool(job))
      .map(({ name }) => name);
  });
}

/**
 * How often the `onComplete` of runs that were started with a context was called, and with what.
 */
async function ends(): Promise<string[]> {
  const calls = (await use.app.log()).filter((line) => line.startsWith("{"));
  return calls.map((line) => (JSON.parse(line) as { seen: string }).seen);
}

/** What the steps have written down. */
async function did(): Promise<string[]> {
  return (await use.app.log()).filter((line) => !line.startsWith("{"));
}

describe("a step that steers its own run, among others that run together", () => {
  test("[S103] it pauses at once; what follows waits, and goes on as soon as the run is resumed", async () => {
    const id = await use.app.start("steersItself", { how: "pause" });
    await use.app.advance(100);
    expect(await use.app.log()).toEqual(["before", "steers"]);
    expect(await use.app.status("steersItself", id)).toMatchObject({
      paused: true,
      active: [{ node: "after", paused: true }],
    });
    expect(await resume(id)).toBe(true);
    await use.app.advance(100);
    expect(await use.app.status("steersItself", id)).toMatchObject({ state: "completed" });
    expect(await use.app.log()).toEqual(["before", "steers", "after", "last"]);
  });

  test("[S83] it cancels: nothing that follows is executed", async () => {
    const id = await use.app.start("steersItself", { how: "cancel" });
    await use.app.advance(100);
    expect(await use.app.status("steersItself", id)).toMatchObject({ state: "canceled" });
    expect(await use.app.log()).toEqual(["before", "steers"]);
    await use.app.expectNothingLeft();
  });

  test("[S103] it pauses and resumes: the run goes on as if nothing had been", async () => {
    const id = await use.app.start("steersItself", { how: "pauseAndResume" });
    await use.app.advance(100);
    expect(await use.app.status("steersItself", id)).toMatchObject({ state: "completed" });
    expect(await use.app.log()).toEqual(["before", "steers", "after", "last"]);
    await use.app.expectNothingLeft();
  });

  const steers = async (input: { how: string; after: string; before: string }) => {
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "steersBefore",
      input,
      context: "c",
    });
    await use.app.advance(100);
    if (input.after === "event")
      await use.app.t.mutation(internal.manager.sendEvent, {
        name: "steersBefore",
        run: id,
        event: "begin",
        payload: "now",
      });
    await use.app.advance(100);
    return id;
  };
  const next = ["action", "query", "sleep", "event", "children", "child", "loop", "branch"];
  const places = ["action", "event"].flatMap((after) => next.map((before) => ({ after, before })));

  test.each(places)("[S103] it pauses at once after $after, before $before", async (place) => {
    const id = await steers({ how: "pause", ...place });
    expect(await use.app.status("steersBefore", id)).toMatchObject({ paused: true });
    expect(await scheduled()).toEqual([]);
    await use.app.advance(2 * HOUR);
    expect(await did()).toEqual(["steers"]);
    expect(await resume(id)).toBe(true);
    await use.app.advance(["event", "sleep"].includes(place.before) ? 2 * HOUR : 1_000);
    expect(await use.app.status("steersBefore", id)).toMatchObject({ state: "completed" });
    const between = { action: ["one"], loop: ["add", "add"], branch: ["nine"] };
    const { before } = place;
    expect(await did()).toEqual([
      "steers",
      ...(before in between ? between[before as keyof typeof between] : []),
      "last",
    ]);
    expect(await ends()).toEqual(["completed"]);
    await use.app.expectNothingLeft();
  });

  test.each(places)("[S84] [S85] [S89] it cancels after $after, before $before", async (place) => {
    const id = await steers({ how: "cancel", ...place });
    expect(await use.app.status("steersBefore", id)).toMatchObject({ state: "canceled" });
    expect(await scheduled()).toEqual([]);
    await use.app.advance(2 * HOUR);
    expect(await did()).toEqual(["steers"]);
    expect(await ends()).toEqual(["canceled"]);
    await use.app.expectNothingLeft();
  });

  test("[S79] [S103] it pauses in an iteration of a loop", async () => {
    const id = await use.app.start("pausesInLoop", {});
    await use.app.advance(100);
    const before = ["iteration 1", "next 1", "iteration 2"];
    expect(await use.app.log()).toEqual(before);
    await resume(id);
    await use.app.advance(100);
    expect(await use.app.log()).toEqual([...before, "next 2", "iteration 3", "next 3"]);
    expect(await use.app.status("pausesInLoop", id)).toMatchObject({ output: 3 });
  });

  test("[S103] a child pauses the run above it: it goes no further, and no sibling begins", async () => {
    const id = await use.app.start("steersAbove", { how: "pause" });
    await use.app.advance(100);
    expect(await use.app.log()).toEqual(["steers"]);
    await resume(id);
    await use.app.advance(100);
    expect(await use.app.log()).toEqual(["steers", "after", "steers", "after"]);
    expect(await use.app.status("steersAbove", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });

  test("[S86] a child cancels the run above it: it goes no further, and no sibling begins", async () => {
    const id = await use.app.start("steersAbove", { how: "cancel" });
    await use.app.drive();
    expect(await use.app.log()).toEqual(["steers"]);
    const states = (await use.app.tree(id)).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(["canceled"]));
    await use.app.expectNothingLeft();
  });
});

describe.each(["steersAround", "steersAroundLater"])(
  "a branch that steers the run around it (%s)",
  (name) => {
    test("[S103] [S240] it pauses it: neither goes further", async () => {
      const id = await use.app.start(name, { how: "pause" });
      await use.app.advance(100);
      expect(await use.app.log()).toEqual(["steers"]);
      await resume(id);
      await use.app.drive();
      expect((await use.app.log()).toSorted()).toEqual(["after", "other", "steers"]);
      expect(await use.app.status(name, id)).toMatchObject({ state: "completed" });
      // Branches that are scheduled together run together: the other one may be rolled back.
      if (name === "steersAround") await use.app.expectNothingLeft();
    });

    test("[S86] [S240] it cancels it: neither goes further", async () => {
      const id = await use.app.start(name, { how: "cancel" });
      await use.app.drive();
      expect(await use.app.log()).toEqual(["steers"]);
      const states = (await use.app.tree(id)).map(({ state }) => state);
      expect(new Set(states)).toEqual(new Set(["canceled"]));
      // Branches that are scheduled together run together: the other one may be rolled back.
      if (name === "steersAround") await use.app.expectNothingLeft();
    });
  },
);
