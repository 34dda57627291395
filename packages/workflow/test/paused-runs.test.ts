/** @module-tag large */
import { describe, expect, test } from "vitest";
import type { Page, TimelineEntry } from "../src/index.js";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";
import { clutter, restore } from "./tampering.js";

// Pools of up to 200: on the smallest class works would share actions, of which carriers.test.ts is.
const use = useTestApp({ deploymentClass: "s256" });
const MINUTE = 60_000;
const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

async function timeline(name: string, runId: string): Promise<TimelineEntry[]> {
  const page = { numItems: 500, cursor: null };
  const found = await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.steps, { name, runId, page }),
  );
  return (found as unknown as Page<TimelineEntry>).page;
}

describe("pauses", () => {
  test("[S97] [S103] what has ended is not shown as paused", async () => {
    const id = await use.app.start("patient", { leaves: [] });
    await use.app.advance(1_000);
    await pause(id);
    await use.app.advance(2 * MINUTE);
    await resume(id);
    await use.app.advance(MINUTE);
    const ended = (await timeline("patient", id)).filter(({ state }) => state === "completed");
    expect(ended.map(({ node }) => node)).toEqual(["slow", "noted"]);
    expect(ended.map(({ isPaused = false }) => isPaused)).toEqual([false, false]);
  });
});

const HOUR = 60 * MINUTE;
const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });

async function restart(name: string, runId: string, from?: string): Promise<void> {
  await use.app.t.mutation(internal.manager.restart, { name, runId, ...(from ? { from } : {}) });
}

/** Under which parent a run stands, by its place. */
async function childAt(runId: string, index: number): Promise<string> {
  const found = (await use.app.tree(runId)).find(
    (run) => run.parentRunId === runId && run.index === index,
  );
  if (found === undefined) throw new Error(`There is no child ${index}`);
  return found.runId;
}

describe("runs of a tree, each paused by itself", () => {
  test("[S103] a child that waits for its turn does not begin, though its turn comes", async () => {
    const leaves = [1, 2, 3].map((n) => ({ n, ms: 1_000 }));
    const id = await use.app.start("twoAtOnce", { leaves });
    await use.app.advance(500);
    const third = await childAt(id, 2);
    expect(await pause(third)).toBe(true);
    await use.app.advance(MINUTE);
    expect(await use.app.status("leaf", third)).toMatchObject({ paused: true });
    const works = () => use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work"));
    expect(works()).toHaveLength(2);
    expect(await resume(third)).toBe(true);
    await use.app.drive();
    expect(works()).toHaveLength(3);
    expect(await use.app.status("twoAtOnce", id)).toMatchObject({ state: "completed", output: 3 });
    await use.app.expectNothingLeft();
  });

  test("[S103] a child goes on with the run above it, and can be paused again", async () => {
    const id = await use.app.start("oneBadEnd", {});
    await use.app.advance(1_000);
    const only = await childAt(id, 0);
    await pause(only);
    await pause(id);
    await resume(id);
    expect(await use.app.status("sleeper", only)).toMatchObject({ paused: false });
    expect(await pause(only)).toBe(true);
    await use.app.advance(HOUR);
    expect(await use.app.status("sleeper", only)).toMatchObject({ state: "running", paused: true });
    await resume(only);
    await use.app.drive();
    expect(await use.app.status("oneBadEnd", id)).toMatchObject({ state: "completed" });
  });

  test("[S103] a child that is resumed by itself waits for the run above it, which is paused", async () => {
    const id = await use.app.start("oneBadEnd", {});
    await use.app.advance(1_000);
    const only = await childAt(id, 0);
    await pause(only);
    await pause(id);
    expect(await resume(only)).toBe(true);
    expect(await use.app.status("sleeper", only)).toMatchObject({ active: [{ paused: true }] });
    await use.app.advance(10 * HOUR);
    expect(await use.app.status("sleeper", only)).toMatchObject({
      state: "running",
      active: [{ paused: true }],
    });
    expect(await resume(only)).toBe(false);
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("oneBadEnd", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });

  test(
    "[S103] a run that is being restarted in pages does not begin before it is resumed",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("chain", {});
      await use.app.drive();
      await clutter(use.app, id);
      await restart("chain", id, "b");
      expect(await use.app.status("chain", id)).toMatchObject({ state: "pending" });
      expect(await pause(id)).toBe(true);
      await use.app.advance(MINUTE);
      expect(await use.app.log()).toEqual(["a", "b", "c", "d"]);
      expect(await use.app.status("chain", id)).toMatchObject({ state: "running", paused: true });
      await resume(id);
      await use.app.drive();
      expect(await use.app.log()).toEqual(["a", "b", "c", "d", "b", "d"]);
      expect(await use.app.status("chain", id)).toMatchObject({ state: "completed" });
    },
  );

  test(
    "[S50] [S103] more failures than a parent lets pass, while it is paused: it fails afterwards",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
      const id = await use.app.start("forgiving", { of: 140 });
      await use.app.advance(1_000);
      await pause(id);
      const below = (await use.app.tree(id)).filter(({ parentRunId }) => parentRunId === id);
      for (const { runId, index } of below) if (index % 2 === 1) await cancel(runId);
      await use.app.advance(HOUR);
      await resume(id);
      await use.app.drive();
      expect(await use.app.status("forgiving", id)).toMatchObject({ state: "failed" });
      await use.app.expectNothingLeft();
    },
  );

  test.each([
    ["paused", "resumed"],
    ["resumed", "paused"],
  ])(
    "[S103] a page of what was %s comes after the run was %s: the last word counts",
    { tags: ["large"] },
    async (_first, last) => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
      const id = await use.app.start("dormitory", { rooms: 2, beds: 140, ms: 2 * HOUR });
      await use.app.advance(1_000);
      if (last === "paused") {
        await pause(id);
        await use.app.advance(1_000);
        await resume(id);
      } else await pause(id);
      // The watchdog finds it, in half a minute.
      await use.app.inComponent(async (ctx) => {
        const pages = await ctx.db.query("continuations").collect();
        expect(pages.length).toBeGreaterThan(0);
        for (const { job } of pages) await ctx.scheduler.cancel(job!);
      });
      if (last === "paused") await pause(id);
      else await resume(id);
      await use.app.advance(HOUR);
      const held = await use.app.inComponent(async (ctx) => {
        const steps = await ctx.db.query("steps").collect();
        return steps.filter((step) => step.state === "waiting").map((step) => step.paused === true);
      });
      expect(held).toHaveLength(1 + 2 + 280);
      expect(new Set(held)).toEqual(new Set([last === "paused"]));
    },
  );

  test(
    "[S49] more failures than a parent lets pass, the last child being well: the error is that of a bad one",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
      const id = await use.app.start("forgiving", { of: 140 });
      await use.app.advance(1_000);
      const below = (await use.app.tree(id)).filter(({ parentRunId }) => parentRunId === id);
      for (const { runId, index } of below) if (index % 2 === 1) await cancel(runId);
      await use.app.drive();
      expect(await use.app.status("forgiving", id)).toMatchObject({
        state: "failed",
        error: {
          kind: "childFailed",
          key: "1",
          cause: { message: 'The run of "leaf" was canceled' },
        },
      });
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S86] [S103] canceled while it is resumed in pages: none below goes on any more",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
      const leaves = Array.from({ length: 120 }, (_none, n) => ({ n, ms: 1_000 }));
      const id = await use.app.start("wide", { lists: 5, leaves });
      await use.app.advance(500);
      await pause(id);
      await use.app.advance(MINUTE);
      await resume(id);
      await cancel(id);
      const woken = async () =>
        await use.app.inComponent(async (ctx) => {
          const jobs = await ctx.db.system.query("_scheduled_functions").collect();
          return jobs.filter(({ name }) => name.endsWith("leaf:entry")).length;
        });
      const before = await woken();
      await use.app.drive();
      expect(await woken()).toBe(before);
      const states = (await use.app.tree(id)).map(({ state }) => state);
      expect(states).not.toContain("running");
      await use.app.expectNothingLeft();
    },
  );
});

const repair = async () => await use.app.t.mutation(internal.manager.repair, {});

/**
 * How often the `onComplete` of runs that were started with a context was called, and with what.
 */
async function ends(): Promise<string[]> {
  const calls = (await use.app.log()).filter((line) => line.startsWith("{"));
  return calls.map((line) => (JSON.parse(line) as { seen: string }).seen);
}

describe("wherever a run is when it is paused", () => {
  /** How long after its start a run of `patient` with two children is there. */
  const moments = {
    "in an action": 10_000,
    "in a sleep": 10 * MINUTE,
    "at an event": HOUR + 10 * MINUTE,
  };
  const below = {
    "with children": 100,
    "in a finalize": 10_000,
  };

  async function at(moment: string): Promise<string> {
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "patient",
      input: { leaves: [{ n: 1 }, { n: 2, ms: 5_000 }] },
      context: "c",
    });
    if (moment in moments) {
      await use.app.advance(moments[moment as keyof typeof moments]);
      return id;
    }
    await use.app.advance(HOUR + 10 * MINUTE);
    await decide(id);
    await use.app.advance(below[moment as keyof typeof below]);
    return id;
  }

  async function decide(run: string): Promise<string> {
    const event = { name: "patient", run, event: "decision", payload: "yes" };
    return await use.app.t.mutation(internal.manager.sendEvent, event);
  }

  const all = [...Object.keys(moments), ...Object.keys(below)];

  test.each(all)("[S89] [S103] canceled after hours, %s: it ends once", async (moment) => {
    const id = await at(moment);
    expect(await pause(id)).toBe(true);
    if (moment === "at an event") expect(await decide(id)).toBe("kept");
    await use.app.advance(5 * HOUR);
    expect(await cancel(id)).toBe(true);
    expect(await resume(id)).toBe(false);
    await use.app.drive();
    expect(await ends()).toEqual(["canceled"]);
    expect(await use.app.status("patient", id)).toMatchObject({ state: "canceled", paused: false });
    await use.app.expectNothingLeft();
  });

  test.each(all)(
    "[S101] [S103] [S120] restored, repaired, and resumed, %s: it ends once",
    async (moment) => {
      const id = await at(moment);
      await pause(id);
      await restore(use.app);
      await repair();
      await repair();
      await use.app.advance(10 * MINUTE);
      expect(await use.app.status("patient", id)).toMatchObject({ paused: true });
      await repair();
      await resume(id);
      await repair();
      const inTime = all.indexOf(moment) < 3 ? await decide(id) : "taken";
      expect(["kept", "taken"]).toContain(inTime);
      await use.app.drive();
      expect(await ends()).toHaveLength(1);
      expect((await use.app.status("patient", id))?.state).toMatch(/completed|failed/);
      await use.app.expectNothingLeft();
    },
  );

  test("[S45] [S103] in the handler of a parent: no child begins before it is resumed", async () => {
    const input = { handlerMs: 5_000, childMs: 1_000, finalizeMs: 0 };
    const id = await use.app.start("timedParent", input);
    // Its second attempt, which succeeds.
    await use.app.advance(8_000);
    await pause(id);
    await use.app.advance(MINUTE);
    const below = await childAt(id, 0);
    expect(await use.app.status("leaf", below)).toMatchObject({ state: "pending" });
    await resume(id);
    await use.app.advance(10_000);
    expect(await use.app.status("timedParent", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });

  test("[S40] [S103] its time is over while its parent is paused: it fails, and nothing is left", async () => {
    const id = await use.app.start("limited", { ms: 4 * HOUR });
    await use.app.advance(MINUTE);
    await pause(id);
    await use.app.drive();
    expect(await use.app.status("limited", id)).toMatchObject({
      state: "failed",
      error: { kind: "timedOut" },
    });
    expect(await resume(id)).toBe(false);
    await use.app.expectNothingLeft();
  });

  test("[S95] [S103] while it is undone it is not paused", async () => {
    const id = await use.app.start("slowlyUndone", {});
    await use.app.drive(
      async () => (await use.app.status("slowlyUndone", id))?.state === "compensating",
    );
    expect(await pause(id)).toBe(false);
    await use.app.drive();
    expect(await use.app.status("slowlyUndone", id)).toMatchObject({ state: "failed" });
    await use.app.expectNothingLeft();
  });
});
