/** @module-tag large */
import { describe, expect, test } from "vitest";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

// Pools of up to 200: on the smallest class works would share actions, of which carriers.test.ts is.
const use = useTestApp({ deploymentClass: "s256" });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });
const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });
const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });

async function active(name: string, runId: string) {
  return (await use.app.status(name, runId))?.active ?? [];
}

async function decide(runId: string, payload = "yes"): Promise<string> {
  const event = { name: "patient", run: runId, event: "decision", payload };
  return await use.app.t.mutation(internal.manager.sendEvent, event);
}

/** A run of `patient` at its sleep: it began a minute ago. */
async function sleeping(leaves: { n: number; ms?: number; fails?: boolean }[] = []) {
  const id = await use.app.start("patient", { leaves });
  await use.app.advance(MINUTE + 1);
  expect(await active("patient", id)).toMatchObject([{ node: "rest" }]);
  return id;
}

/** The same at its event, an hour later. */
async function waiting(leaves: { n: number; ms?: number; fails?: boolean }[] = []) {
  const id = await sleeping(leaves);
  await use.app.advance(HOUR);
  expect(await active("patient", id)).toMatchObject([{ node: "decision" }]);
  return id;
}

describe("pause", () => {
  test("[S103] what runs ends, and nothing new starts until the run is resumed", async () => {
    const id = await use.app.start("patient", { leaves: [] });
    await use.app.advance(1_000);
    expect(await pause(id)).toBe(true);
    expect(await use.app.status("patient", id)).toMatchObject({
      state: "running",
      paused: true,
      stalled: false,
      active: [{ node: "slow", state: "running", paused: true }],
    });
    await use.app.drive();
    // The action has ended, and its result is kept; the mutation that follows has not run.
    expect(await use.app.steps(id)).toEqual(["slow completed", "noted pending"]);
    expect(await use.app.log()).toEqual([]);
    expect(await use.app.slotsHeld()).toBe(0);
    await use.app.expectNothingLeft();
    await use.app.advance(24 * HOUR);
    expect(await resume(id)).toBe(true);
    await use.app.advance(1);
    expect(await use.app.log()).toEqual(["noted slow"]);
    expect(await use.app.status("patient", id)).toMatchObject({
      paused: false,
      active: [{ node: "rest", dueAt: Date.now() - 1 + HOUR }],
    });
  });

  test("[S103] status says when the time of a run and of a parent is over, which goes on counting", async () => {
    const begun = Date.now();
    const id = await use.app.start("watched", {});
    await use.app.advance(1_000);
    await pause(id);
    await use.app.advance(MINUTE);
    expect(await use.app.status("watched", id)).toMatchObject({
      paused: true,
      timesOutAt: begun + HOUR,
      active: [{ node: "all", timesOutAt: begun + 10 * MINUTE }],
    });
    await use.app.drive();
    const status = await use.app.status("watched", id);
    expect(status).toMatchObject({ state: "failed", endedAt: begun + 10 * MINUTE });
    expect(status).not.toHaveProperty("timesOutAt");
  });

  test("[S103] a sleep that fell due meanwhile is over at once, one that did not goes on until its time", async () => {
    const late = await sleeping();
    await pause(late);
    await use.app.drive();
    await use.app.advance(2 * HOUR);
    expect(await active("patient", late)).toMatchObject([{ node: "rest", paused: true }]);
    await resume(late);
    await use.app.advance(1);
    expect(await active("patient", late)).toMatchObject([{ node: "decision" }]);

    const early = await sleeping();
    const dueAt = (await active("patient", early))[0]!.dueAt!;
    await pause(early);
    await use.app.advance(HOUR / 2);
    await resume(early);
    await use.app.advance(dueAt - Date.now() - 1);
    expect(await active("patient", early)).toMatchObject([{ node: "rest", dueAt }]);
    await use.app.advance(2);
    expect(await active("patient", early)).toMatchObject([{ node: "decision" }]);
  });

  test("[S103] an event that came meanwhile, in time, is taken; one more than will ever be is refused", async () => {
    const id = await waiting();
    await pause(id);
    expect(await decide(id, "yes")).toBe("kept");
    await use.app.advance(3 * HOUR);
    await resume(id);
    // Before the run has gone on, another comes.
    await expect(decide(id, "no")).rejects.toThrow(/keeps 1 of them/);
    await use.app.drive();
    expect(await use.app.status("patient", id)).toMatchObject({
      output: { decision: { timedOut: false, event: "yes" } },
    });
    await use.app.expectNothingLeft();
  });

  test("[S73] [S103] an event that comes after the time for it was over is refused: no later node takes it", async () => {
    const id = await waiting();
    await pause(id);
    await use.app.advance(3 * HOUR);
    await expect(decide(id)).rejects.toThrow(/past every node/);
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("patient", id)).toMatchObject({
      output: { decision: { timedOut: true } },
    });
  });

  test("[S103] an event without a timeout waits on", async () => {
    const id = await use.app.start("approval", {});
    await use.app.drive();
    await pause(id);
    await resume(id);
    await use.app.drive();
    expect(await active("approval", id)).toMatchObject([{ node: "decision", state: "waiting" }]);
    const event = { name: "approval", run: id, event: "decision", payload: { by: "Ada" } };
    expect(await use.app.t.mutation(internal.manager.sendEvent, event)).toBe("taken");
  });

  test("[S103] a wait for the next attempt", async () => {
    const id = await use.app.start("flaky", { goodAttempt: 2 });
    await use.app.drive(async () => (await active("flaky", id))[0]?.state === "waiting");
    await pause(id);
    await use.app.advance(HOUR);
    expect(await active("flaky", id)).toMatchObject([{ attempt: 2, paused: true }]);
    await use.app.expectNothingLeft();
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("flaky", id)).toMatchObject({
      state: "completed",
      output: { attempt: 2, previous: "attempt 1 failed" },
    });
  });

  test("[S103] an attempt that fails meanwhile is tried again afterwards", async () => {
    const id = await use.app.start("slow", { ms: 20_000 });
    await use.app.advance(1_000);
    await pause(id);
    await use.app.advance(MINUTE);
    expect(await active("slow", id)).toMatchObject([
      { attempt: 2, state: "waiting", paused: true, errors: [{ kind: "timedOut" }] },
    ]);
    await resume(id);
    await use.app.advance(2_000);
    expect(await active("slow", id)).toMatchObject([{ attempt: 2, state: "running" }]);
    await use.app.drive();
    expect(await use.app.status("slow", id)).toMatchObject({ state: "failed" });
    await use.app.expectNothingLeft();
  });

  test("[S103] an action that waits in the pool's line has not begun: it leaves the line, and comes back", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 12; n++) ids.push(await use.app.start("slow", { ms: 5_000 }));
    const [eleventh, twelfth] = ids.slice(10) as [string, string];
    await use.app.advance(1_000);
    await pause(eleventh);
    expect(await active("slow", eleventh)).toMatchObject([{ state: "pending", paused: true }]);
    await use.app.advance(5_000);
    expect(await active("slow", twelfth)).toMatchObject([{ state: "running" }]);
    expect(await active("slow", eleventh)).toMatchObject([{ state: "pending", paused: true }]);
    await use.app.drive();
    await resume(eleventh);
    await use.app.drive();
    expect(await use.app.status("slow", eleventh)).toMatchObject({ state: "completed" });
    const executed = use.app.counter.calls.filter(({ name }) => name.endsWith("slow:wait"));
    expect(executed).toHaveLength(12);
    await use.app.expectNothingLeft();
  });

  test("[S40] [S103] a parent whose handler waits in the line: its time goes on, and is not counted anew", async () => {
    for (let n = 0; n < 10; n++) await use.app.start("slow", { ms: 5_000 });
    const id = await use.app.start("timed", { n: 1 });
    await use.app.advance(1_000);
    const deadlines = async () =>
      await use.app.inComponent(async (ctx) => {
        const all = await ctx.db.query("deadlines").collect();
        return all.map(({ at }) => at);
      });
    const before = await deadlines();
    expect(before).toHaveLength(1);
    await pause(id);
    await use.app.advance(1_000);
    await resume(id);
    await use.app.advance(10);
    expect(await deadlines()).toEqual(before);
    await use.app.drive();
    expect(await use.app.status("timed", id)).toMatchObject({ state: "completed" });
    expect(await deadlines()).toEqual([]);
  });

  test("[S103] a run that has not begun", async () => {
    const begun = Date.now();
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "leaf",
      input: { n: 1 },
      runAfter: HOUR,
    });
    await pause(id);
    await resume(id);
    await use.app.advance(HOUR - 1);
    expect(await use.app.status("leaf", id)).toMatchObject({ state: "pending", paused: false });
    await pause(id);
    await use.app.advance(HOUR);
    expect(await use.app.status("leaf", id)).toMatchObject({ state: "pending", paused: true });
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("leaf", id)).toMatchObject({
      state: "completed",
      startedAt: begun + 2 * HOUR - 1,
    });
  });

  test("[S103] a parent: children that run end, those that wait do not start; then they do", async () => {
    const leaves = Array.from({ length: 5 }, (_none, n) => ({ n, ms: 1_000 }));
    const id = await use.app.start("twoAtOnce", { leaves });
    await use.app.advance(500);
    await pause(id);
    await use.app.advance(MINUTE);
    expect(await use.app.status("twoAtOnce", id)).toMatchObject({
      paused: true,
      active: [{ node: "all", children: { total: 5, done: 2, running: 0 } }],
    });
    await use.app.expectNothingLeft();
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("twoAtOnce", id)).toMatchObject({ state: "completed", output: 5 });
    await use.app.expectNothingLeft();
  });

  test("[S103] a parent whose last child ends meanwhile goes on afterwards, once", async () => {
    const id = await use.app.start("list", { leaves: [{ n: 1, ms: 1_000 }] });
    await use.app.advance(500);
    await pause(id);
    await use.app.drive();
    expect(await active("list", id)).toMatchObject([{ node: "all", children: { done: 1 } }]);
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("list", id)).toMatchObject({ state: "completed", output: [10] });
    await use.app.expectNothingLeft();
  });

  test("[S103] children paused by themselves, one that runs and one that waits for its turn, go on with the run above", async () => {
    const id = await use.app.start("twoAtOnce", {
      leaves: [1, 2, 3, 4].map((n) => ({ n, ms: 1_000 })),
    });
    await use.app.advance(500);
    const children = async () => (await use.app.tree(id)).slice(1);
    const [first, , , last] = await children();
    for (const child of [first, last]) expect(await pause(child?.runId ?? "")).toBe(true);
    await pause(id);
    await use.app.drive();
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("twoAtOnce", id)).toMatchObject({ state: "completed", output: 4 });
    await use.app.expectNothingLeft();
  });

  test("[S103] a child paused by itself before its turn stays so when that comes", async () => {
    const id = await use.app.start("twoAtOnce", {
      leaves: [1, 2, 3].map((n) => ({ n, ms: 1_000 })),
    });
    await use.app.advance(500);
    const [, , , last] = await use.app.tree(id);
    await pause(last?.runId ?? "");
    await use.app.drive();
    expect(await active("twoAtOnce", id)).toMatchObject([{ children: { done: 2, total: 3 } }]);
    await resume(last?.runId ?? "");
    await use.app.drive();
    expect(await use.app.status("twoAtOnce", id)).toMatchObject({ state: "completed" });
  });

  test("[S48] [S103] a parent one of whose children fails meanwhile fails afterwards", async () => {
    const id = await use.app.start("list", {
      leaves: [
        { n: 1, ms: 1_000, fails: true },
        { n: 2, ms: 10_000 },
      ],
    });
    await use.app.advance(500);
    await pause(id);
    await use.app.advance(MINUTE);
    expect(await use.app.status("list", id)).toMatchObject({ state: "running", paused: true });
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("list", id)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed", key: "0" },
    });
    await use.app.expectNothingLeft();
  });

  test("[S95] [S103] a parent one of whose children is being undone waits for that, though it is resumed", async () => {
    const begun = Date.now();
    const id = await use.app.start("lenient", {});
    await use.app.advance(1_000);
    await pause(id);
    await resume(id);
    await use.app.drive();
    const status = await use.app.status("lenient", id);
    expect(status).toMatchObject({ state: "completed", output: ["it fails"] });
    expect((status as { endedAt: number }).endedAt - begun).toBe(MINUTE);
  });

  test("[S103] while a parent's finalize runs: it runs once", async () => {
    const id = await waiting([{ n: 1 }]);
    await decide(id);
    await use.app.advance(1_000);
    expect((await active("patient", id)).map(({ node }) => node)).toContain("all.finalize");
    await pause(id);
    await use.app.drive();
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("patient", id)).toMatchObject({
      state: "completed",
      output: { all: [10] },
    });
    const calls = use.app.counter.calls.filter(({ name }) => name.endsWith("patient:allFinalize"));
    expect(calls).toHaveLength(1);
  });

  test("[S103] what is under it, on all levels, in pages", { tags: ["large"] }, async () => {
    const leaves = Array.from({ length: 90 }, (_none, n) => ({ n, ms: 1_000 }));
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
    const id = await use.app.start("wide", { lists: 3, leaves });
    await use.app.advance(500);
    const begun = () =>
      use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work")).length;
    expect(begun()).toBe(200);
    await pause(id);
    await use.app.drive();
    // Those that ran have ended; those that waited in the pool's line have not begun.
    expect(begun()).toBe(200);
    await use.app.expectNothingLeft();
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("wide", id)).toMatchObject({ state: "completed" });
    expect(begun()).toBe(270);
    await use.app.expectNothingLeft();
  });

  test(
    "[S103] paused and resumed before the pages are through: the last word counts",
    { tags: ["large"] },
    async () => {
      const leaves = Array.from({ length: 90 }, (_none, n) => ({ n, ms: 1_000 }));
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
      const id = await use.app.start("wide", { lists: 3, leaves });
      await use.app.advance(500);
      await pause(id);
      await resume(id);
      await pause(id);
      await use.app.drive();
      expect(await use.app.status("wide", id)).toMatchObject({ state: "running", paused: true });
      const begun = () =>
        use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work")).length;
      const before = begun();
      await use.app.advance(HOUR);
      expect(begun()).toBe(before);
      await resume(id);
      await pause(id);
      await resume(id);
      await use.app.drive();
      expect(await use.app.status("wide", id)).toMatchObject({ state: "completed" });
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S103] pages of a pause that come after a resume, as they were lost, pause nothing",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("napping", { of: 300 });
      await use.app.advance(1_000);
      await pause(id);
      await use.app.counter.uncounted(() =>
        use.app.inComponent(async (ctx) => {
          const [page] = await ctx.db.query("continuations").collect();
          await ctx.scheduler.cancel(page!.job!);
        }),
      );
      await resume(id);
      await use.app.advance(60_000);
      await use.app.t.mutation(internal.manager.repair, {});
      await use.app.drive();
      expect(await use.app.status("napping", id)).toMatchObject({ output: 300 });
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S103] a child paused while the pages of a resume from above are still to come stays paused",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("napping", { of: 300 });
      await use.app.advance(1_000);
      const child = (await use.app.tree(id)).find(({ index }) => index === 290)!.runId;
      const pages = async () =>
        (await use.app.inComponent((ctx) => ctx.db.query("continuations").collect())).length;
      await pause(child);
      await pause(id);
      await use.app.drive(async () => (await pages()) === 0);
      await resume(id);
      expect(await pages()).toBe(1);
      // It was paused before, and is again: the last word counts.
      await pause(child);
      await use.app.drive(async () => (await pages()) === 0);
      expect(await use.app.status("naps", child)).toMatchObject({ paused: true });
      await use.app.drive();
      expect(await use.app.log()).toHaveLength(299);
      await resume(child);
      await use.app.drive();
      expect(await use.app.status("napping", id)).toMatchObject({
        state: "completed",
        output: 300,
      });
    },
  );

  test("[S41] [S103] timeouts go on counting: the run ends, and is undone, though it is paused", async () => {
    const id = await use.app.start("tooLong", { ms: 2 * HOUR });
    const begun = Date.now();
    await use.app.advance(MINUTE);
    await pause(id);
    await use.app.drive();
    expect(await use.app.status("tooLong", id)).toMatchObject({
      state: "timedOut",
      endedAt: begun + HOUR,
      paused: false,
    });
    expect(await use.app.log()).toEqual(["undone"]);
    await use.app.expectNothingLeft();
  });

  test("[S83] [S103] a run that is paused can be canceled", async () => {
    const id = await use.app.start("twoAtOnce", { leaves: [{ n: 1, ms: 1_000 }, { n: 2 }] });
    await use.app.advance(500);
    await pause(id);
    expect(await cancel(id)).toBe(true);
    await use.app.drive();
    expect(await use.app.status("twoAtOnce", id)).toMatchObject({ state: "canceled" });
    expect(await resume(id)).toBe(false);
    await use.app.expectNothingLeft();
  });

  test("[S103] a step may pause its own run: what it did stays, and what follows waits", async () => {
    const id = await use.app.start("pausesItself", { first: true });
    await use.app.drive();
    expect(await use.app.log()).toEqual(["pausing"]);
    expect(await use.app.status("pausesItself", id)).toMatchObject({
      paused: true,
      active: [{ node: "after", paused: true }],
    });
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("pausesItself", id)).toMatchObject({ state: "completed" });
    expect(await use.app.log()).toEqual(["pausing", "after"]);
  });

  test("[S103] twice is as once; of a run that has ended, or is not paused, nothing happens", async () => {
    const id = await sleeping();
    expect([await pause(id), await pause(id)]).toEqual([true, true]);
    expect([await resume(id), await resume(id)]).toEqual([true, false]);
    await use.app.advance(HOUR);
    expect(await active("patient", id)).toMatchObject([{ node: "decision" }]);
    const ended = await use.app.start("leaf", { n: 1 });
    await use.app.drive();
    expect(await pause(ended)).toBe(false);
    expect(await use.app.status("leaf", ended)).toMatchObject({ paused: false });
  });
});
