import { describe, expect, test, vi } from "vitest";
import type { Page, TimelineEntry } from "../src/index.js";
import { internal as component } from "../src/component/_generated/api.js";
import type { Doc } from "../src/component/_generated/dataModel.js";
import { isOf } from "./component.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

/* What somebody suspected who had not written the run time. */

/** The handle of a function that a deploy took away. A deployment refuses to schedule it; convex-test does not know that. */
const GONE = "function://;gone:gone";
vi.mock(import("@stepwise/workpool/core"), async (importOriginal) => {
  const core = await importOriginal();
  return {
    ...core,
    enqueueWork: async (ctx, work, host) => {
      if (work.fn === GONE) throw new Error("There is no such function");
      return await core.enqueueWork(ctx, work, host);
    },
  };
});

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });
const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });
const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });

async function send(name: string, run: string, event: string, payload: unknown): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

async function timeline(name: string, runId: string): Promise<TimelineEntry[]> {
  const page = { numItems: 500, cursor: null };
  const found = await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.steps, { name, runId, page }),
  );
  return (found as unknown as Page<TimelineEntry>).page;
}

async function stepsOf(runId: string): Promise<Doc<"steps">[]> {
  return await use.app.inComponent(async (ctx) =>
    (await ctx.db.query("steps").collect()).filter(({ run }) => run === runId),
  );
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** How deep the deepest document of the component is. On a deployment at most 16. */
async function deepest(): Promise<number> {
  return await use.app.inComponent(async (ctx) => {
    let most = 0;
    for (const table of ["runs", "steps", "undos", "inbox", "childPages"] as const)
      for (const document of await ctx.db.query(table).collect())
        most = Math.max(most, depthOf(document));
    return most;
  });
}

describe("events", () => {
  test("[S69] [S70] a step sends its own run the event that has just let that go on: it is for the next node", async () => {
    const id = await use.app.start("echoes", {});
    await use.app.drive();
    expect(await send("echoes", id, "word", 1)).toBe("taken");
    await use.app.drive();
    expect(await use.app.status("echoes", id)).toMatchObject({ state: "completed", output: 2 });
    expect(await use.app.log()).toEqual(["said 1"]);
    const said = use.app.counter.calls.filter(({ name }) => name.endsWith("echoes:said"));
    expect(said).toHaveLength(1);
  });

  test("[S69] two runs tell each other in turn: each is told once at a time", async () => {
    const one = await use.app.start("player", { name: "one", throws: 2 });
    const two = await use.app.start("player", { name: "two", throws: 1 });
    await use.app.drive();
    expect(await send("player", one, "ball", [two, one])).toBe("taken");
    await use.app.drive();
    expect(await use.app.log()).toEqual(["one 2", "two 1", "one 0"]);
    expect(await use.app.status("player", one)).toMatchObject({ state: "completed", output: 2 });
    expect(await use.app.status("player", two)).toMatchObject({ state: "completed", output: 1 });
    await use.app.expectNothingLeft();
  });

  test("[S73] [S103] a paused run at its last node of the name keeps one; the next is refused", async () => {
    const id = await use.app.start("approval", {});
    await use.app.drive();
    await pause(id);
    expect(await send("approval", id, "decision", { by: "Ada" })).toBe("kept");
    await expect(send("approval", id, "decision", { by: "Eve" })).rejects.toThrow(
      /keeps 1 of them/,
    );
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("approval", id)).toMatchObject({ state: "completed" });
  });

  test("[S73] refused where the node stands in a branch whose chosen case is empty", async () => {
    const id = await use.app.start("choosy", { asks: false });
    await use.app.pass(100);
    await expect(send("choosy", id, "answer", "yes")).rejects.toThrow(/past every node/);
    const other = await use.app.start("choosy", { asks: true });
    await use.app.pass(100);
    expect(await send("choosy", other, "answer", "yes")).toBe("taken");
  });
});

describe("deep values", () => {
  const kept = async (name: string, levels: number): Promise<void> => {
    const id = await use.app.start(name, { levels });
    await use.app.pass(500);
    expect(await deepest()).toBeLessThanOrEqual(16);
    await use.app.drive();
    expect(await deepest()).toBeLessThanOrEqual(16);
    expect(await use.app.status(name, id)).toMatchObject(
      levels <= 14 ? { state: "completed" } : { state: "failed", error: { kind: "invalidOutput" } },
    );
  };

  test.each([14, 15])("[S22] [S109] %i levels, in a loop's state", async (levels) => {
    await kept("deepState", levels);
  });

  test.each([14, 15])("[S22] [S109] %i levels, folded", async (levels) => {
    await kept("deepFold", levels);
  });

  const nested = (levels: number): unknown => (levels === 0 ? "bottom" : [nested(levels - 1)]);

  test.each([12, 13, 14, 15, 40])(
    "[S71] an event of %i levels, early or awaited",
    async (levels) => {
      const early = await use.app.start("deepEvent", {});
      const first = send("deepEvent", early, "one", nested(levels)).catch((error: Error) => error);
      await use.app.drive();
      const id = await use.app.start("deepEvent", {});
      await use.app.pass(100);
      const second = send("deepEvent", id, "one", nested(levels)).catch((error: Error) => error);
      for (const sent of [await first, await second])
        if (levels > 13) expect(sent).toMatchObject({ message: expect.stringMatching(/nested/) });
        else expect(["kept", "taken"]).toContain(sent);
      await use.app.pass(1_000);
      expect(await deepest()).toBeLessThanOrEqual(16);
      expect(await use.app.status("deepEvent", id)).toMatchObject({
        state: levels > 13 ? "running" : "completed",
      });
    },
  );

  test("[S17] a child's input that is nested too deeply fails that child", async () => {
    expect(await use.app.output("givesAnything", { levels: 40 })).toEqual([false, true]);
    expect(await use.app.output("givesAnything", { levels: 10 })).toEqual([true, true]);
  });
});

describe("shapes that no document can hold", () => {
  test.each(
    ["long", "wide", "unnamed"].flatMap((what) => ["action", "query"].map((kind) => [what, kind])),
  )("[S37] in the data of an error: %s, of an %s", async (what, kind) => {
    const error = await use.app.error("shapelessError", { what, in: kind });
    expect(error).toMatchObject({ kind: "thrown" });
    expect(error?.message).toMatch(/its data/);
    expect(error).not.toHaveProperty("data");
  });
});

describe("compensation", () => {
  test.each(["runs on", "is paused"])(
    "[S94] [S103] a child could not be undone whose sibling has failed, while the run above %s: that is listed",
    async (how) => {
      const id = await use.app.start("halfUndone", { ms: 1_000 });
      await use.app.pass(500);
      if (how === "is paused") await pause(id);
      await use.app.pass(MINUTE);
      if (how === "is paused") await resume(id);
      await use.app.pass(MINUTE);
      expect(await use.app.status("halfUndone", id)).toMatchObject({
        state: "failed",
        error: {
          kind: "childFailed",
          key: "1",
          compensationErrors: [{ node: "done.compensate", message: "it cannot be undone" }],
        },
      });
      await use.app.expectNothingLeft();
    },
  );
});

describe("sizes", () => {
  test("[S27] [S80] a large state is not sent along with every step that can be undone", async () => {
    const id = await use.app.start("heavyState", { bytes: 950_000, passes: 1 });
    await use.app.drive();
    expect(await use.app.status("heavyState", id)).toMatchObject({ state: "completed" });
    const settled = use.app.counter.calls.filter(isOf("lib:settle"));
    expect(settled.filter(({ failed }) => failed)).toEqual([]);
    const done = use.app.counter.calls.filter(({ name }) => /heavyState:go[A-R]$/.test(name));
    expect(done).toHaveLength(18);
  });

  test("startBatch of 500 runs that have a timeout, from an action", async () => {
    const inputs = Array.from({ length: 501 }, (_none, n) => ({ ms: 1_000 + n }));
    const ids = await use.app.t.action(internal.manager.startBatchInAction, {
      name: "bed",
      inputs,
    });
    expect(new Set(ids).size).toBe(501);
  });
});

describe("loops", () => {
  test("[S79] of two loops one after the other each keeps its newest passes, whatever the other keeps", async () => {
    const id = await use.app.start("twoLoops", { passes: 150 });
    await use.app.drive();
    expect(await use.app.status("twoLoops", id)).toMatchObject({ state: "completed" });
    const steps = await stepsOf(id);
    const passes = (stage: string) => steps.filter((step) => step.stage === stage).length;
    expect(passes("first.done")).toBe(150);
    expect(passes("second.counted")).toBeLessThanOrEqual(102);
  });
});

describe("secrets", () => {
  test("[S97] what a child gives is as secret as the node of the child that made it", async () => {
    const id = await use.app.start("confides", {});
    await use.app.drive();
    expect(await use.app.status("confides", id)).toMatchObject({ output: 6 });
    const jobs = await use.app.inComponent(async (ctx) =>
      ctx.db.system.query("_scheduled_functions").collect(),
    );
    expect(JSON.stringify(jobs)).not.toContain("s3cret");
    expect(JSON.stringify(await timeline("confides", id))).not.toContain("s3cret");
  });
});

describe("pauses", () => {
  test("[S97] [S103] what has ended is not shown as paused", async () => {
    const id = await use.app.start("patient", { leaves: [] });
    await use.app.pass(1_000);
    await pause(id);
    await use.app.pass(2 * MINUTE);
    await resume(id);
    await use.app.pass(MINUTE);
    const ended = (await timeline("patient", id)).filter(({ state }) => state === "completed");
    expect(ended.map(({ node }) => node)).toEqual(["slow", "noted"]);
    expect(ended.map(({ isPaused = false }) => isPaused)).toEqual([false, false]);
  });
});

describe("children", () => {
  test("[S55] [S110] the first of those that begin together has lost its function: its siblings are canceled, and do not begin", async () => {
    const id = await use.app.start("twoAfter", {});
    await use.app.pass(100);
    await pause(id);
    await use.app.pass(MINUTE);
    const first = await use.app.inComponent(async (ctx) => {
      const runs = await ctx.db.query("runs").collect();
      const child = runs.find(({ index, parentRun }) => index === 0 && parentRun === id);
      if (child?.first === undefined) throw new Error("It does not wait for its turn");
      await ctx.db.patch("runs", child._id, { first: { ...child.first, action: { fn: GONE } } });
      return child._id;
    });
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("twoAfter", id)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed", key: "0", cause: { kind: "removedNode" } },
    });
    const other = (await use.app.tree(id)).find(
      ({ runId, parentRunId }) => parentRunId === id && runId !== first,
    );
    expect(other).toMatchObject({ state: "canceled", steps: [] });
    await use.app.expectNothingLeft();
  });
});

describe("deep trees", () => {
  test("[S65] [S86] 100 runs under each other are canceled, from the top", async () => {
    const id = await use.app.start("wells", { depth: 99 });
    await use.app.pass(1_000);
    expect(await use.app.tree(id)).toHaveLength(100);
    await cancel(id);
    await use.app.drive();
    const states = (await use.app.tree(id)).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(["canceled"]));
    await use.app.expectNothingLeft();
  });
});

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
      await use.app.t.mutation(internal.review.startWith, {
        name,
        input: name === "toppled" ? { n: 1 } : {},
        callback: "replaced",
        next,
      });
      await use.app.pass(1_000);
      const ended = (await use.app.log()).filter((line) => line.startsWith("ended"));
      expect(ended).toEqual(["ended canceled"]);
    },
  );

  test("[S89] [S101] [S102] a step cancels the run, whose callback has it begin anew", async () => {
    const id = await use.app.t.mutation(internal.review.startWith, {
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

describe("in the transaction that starts a run", () => {
  test.each(["chain", "patientTwice", "sleeper", "twoAfter"])(
    "[S83] [S89] %s is canceled: nothing of it runs",
    async (name) => {
      const id = await use.app.t.mutation(internal.review.startAnd, {
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
    const id = await use.app.t.mutation(internal.review.startAnd, {
      name,
      input: name === "sleeper" ? { ms: 1_000 } : {},
      how: "pause",
    });
    await use.app.pass(HOUR);
    expect(await use.app.log()).toEqual([]);
    await use.app.expectNothingLeft();
    await resume(id);
    await use.app.drive();
    expect(await use.app.status(name, id)).toMatchObject({ state: "completed" });
  });

  test("[S69] it is sent an event", async () => {
    const id = await use.app.t.mutation(internal.review.startAnd, {
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

test.each(["its time", "a resume after its time"])(
  "[S73] a step that runs because of %s sends its own run such an event: it is for the next node",
  async (why) => {
    const id = await use.app.start("impatient", {});
    await use.app.pass(100);
    if (why !== "its time") await pause(id);
    await use.app.pass(2 * HOUR);
    if (why !== "its time") await resume(id);
    await use.app.drive();
    expect(await use.app.status("impatient", id)).toMatchObject({
      output: {
        word: { timedOut: true },
        again: { timedOut: false, event: { name: "word", value: "own" } },
      },
    });
    expect(await use.app.log()).toEqual(["said true"]);
    const said = use.app.counter.calls.filter(({ name }) => name.endsWith("impatient:said"));
    expect(said).toHaveLength(1);
    await use.app.expectNothingLeft();
  },
);

test("[S81] loops whose bodies do nothing come to their end, in several transactions", async () => {
  const id = await use.app.start("idleLoops", { passes: 150 });
  for (let n = 0; n < 75; n++) await send("idleLoops", id, "word", n);
  await use.app.drive();
  for (let n = 75; n < 150; n++) await send("idleLoops", id, "word", n);
  await use.app.drive();
  expect(await use.app.status("idleLoops", id)).toMatchObject({ state: "completed", output: 149 });
  await use.app.expectNothingLeft();
});

describe("at the very moment", () => {
  const limits = { attempt: 10 * MINUTE, run: HOUR, parent: 10 * MINUTE };
  const moments = Object.entries(limits).flatMap(([what, ms]) =>
    [-1, 0, 1].map((by) => ({ what, by, ms: ms + by })),
  );

  test.each(moments)(
    "[S38] [S40] [S41] [S101] what takes $ms ms ends $by ms from when the time of the $what is over: the run ends once",
    async ({ what, ms, by }) => {
      const id = await use.app.t.mutation(internal.manager.start, {
        name: "raced",
        input: { what, ms },
        context: "c",
      });
      await use.app.drive();
      const { state } = (await use.app.status("raced", id))!;
      if (by < 0) expect(state).toBe("completed");
      if (by > 0) expect(state).toBe(what === "run" ? "timedOut" : "failed");
      const log = await use.app.log();
      const calls = log.filter((line) => line.startsWith("{"));
      expect(calls.map((line) => (JSON.parse(line) as { seen: string }).seen)).toEqual([state]);
      expect(log.filter((line) => line === "undone")).toHaveLength(state === "completed" ? 0 : 1);
      await use.app.expectNothingLeft();
    },
  );
});

describe("a parent that steers its own run", () => {
  test.each(["handler", "finalize"])("[S103] it pauses in its %s", async (where) => {
    const id = await use.app.start("pausesInParent", { where, how: "pause" });
    await use.app.pass(HOUR);
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

test("[S79] [S102] passes that were still to be forgotten when a run was restarted are not those of the new generation", async () => {
  const id = await use.app.start("twoLoops", { passes: 5 });
  await use.app.drive();
  const loop = (await stepsOf(id)).find(({ stage }) => stage === "second")?._id;
  await use.app.t.mutation(internal.manager.restart, { name: "twoLoops", runId: id });
  await use.app.drive();
  await use.app.inComponent(async (ctx) => {
    const at = { permanent: true, pass: [2], createdAt: 0 };
    const page = { run: id, loop, names: ["second"], pass: [], from: 2, to: 5, undoable: [], at };
    const continuation = await ctx.db.insert("continuations", { fn: "", page });
    await ctx.scheduler.runAfter(0, component.features.iterations.removeMoreIterations, {
      continuation,
    });
  });
  await use.app.drive();
  const counted = (await stepsOf(id)).filter(({ stage }) => stage === "second.counted");
  expect(counted).toHaveLength(5);
});
