import { makeFunctionReference } from "convex/server";
import { describe, expect, test } from "vitest";
import { internal as component } from "../src/component/_generated/api.js";
import { components, internal } from "./convex/_generated/api.js";
import type { Id } from "../src/component/_generated/dataModel.js";
import { isOf } from "./component.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });
const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });
const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });
const repair = async () => await use.app.t.mutation(internal.manager.repair, {});

async function restart(name: string, runId: string, from?: string): Promise<void> {
  await use.app.t.mutation(internal.manager.restart, { name, runId, ...(from ? { from } : {}) });
}

/** The pool's last look, and the last rounds of its drain. */
const isOfPool = isOf("watchdog:sweep", "watchdog:drainLine");

/** The scheduled functions that are still to come, but for the pool's own. */
async function scheduled(app: TestApp = use.app): Promise<string[]> {
  return await app.inComponent(async (ctx) => {
    const jobs = await ctx.db.system.query("_scheduled_functions").collect();
    return jobs
      .filter((job) => job.state.kind === "pending" && !isOfPool(job))
      .map(({ name }) => name);
  });
}

/** A restore from a backup: no scheduled function that has not begun is there any more. */
async function restore(): Promise<void> {
  await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      // Nobody but the platform deletes there, so no type allows it.
      const system = ctx.db as unknown as { delete(table: string, id: string): Promise<void> };
      for (const { _id, state } of jobs) {
        if (state.kind !== "pending") continue;
        await ctx.scheduler.cancel(_id);
        await system.delete("_scheduled_functions", _id);
      }
    }),
  );
}

/** So many records inside `b` of a `chain` that to remove them takes several transactions. */
async function clutter(runId: string): Promise<void> {
  await use.app.inComponent(async (ctx) => {
    const run = runId as Id<"runs">;
    const record = {
      run,
      createdAt: 0,
      stage: "b.x",
      kind: "children",
      state: "completed",
    } as const;
    for (let n = 0; n < 1_500; n++)
      await ctx.db.insert("steps", { ...record, attempt: 1, startedAt: 0, endedAt: 0 });
  });
}

/** How often the `onComplete` of runs that were started with a context was called, and with what. */
async function ends(): Promise<string[]> {
  const calls = (await use.app.log()).filter((line) => line.startsWith("{"));
  return calls.map((line) => (JSON.parse(line) as { seen: string }).seen);
}

/** What the steps have written down. */
async function did(): Promise<string[]> {
  return (await use.app.log()).filter((line) => !line.startsWith("{"));
}

/** The machines of the actions that run die: their scheduled functions are over, and nothing was reported. */
async function die(): Promise<void> {
  await use.app.inComponent(async (ctx) => {
    const slots = await ctx.db.query("slots").collect();
    for (const { _id, work } of slots) {
      if (work === undefined) continue;
      const job = await ctx.scheduler.runAfter(HOUR, "x:gone" as never, {});
      await ctx.scheduler.cancel(job);
      await ctx.db.patch("slots", _id, { job });
    }
  });
}

/** Under which parent a run stands, by its place. */
async function childAt(runId: string, index: number): Promise<string> {
  const found = (await use.app.tree(runId)).find(
    (run) => run.parentRunId === runId && run.index === index,
  );
  if (found === undefined) throw new Error(`There is no child ${index}`);
  return found.runId;
}

describe("a step that steers its own run, among others that run together", () => {
  test("[S103] it pauses at once; what follows waits, and goes on as soon as the run is resumed", async () => {
    const id = await use.app.start("steersItself", { how: "pause" });
    await use.app.pass(100);
    expect(await use.app.log()).toEqual(["before", "steers"]);
    expect(await use.app.status("steersItself", id)).toMatchObject({
      paused: true,
      active: [{ node: "after", paused: true }],
    });
    expect(await resume(id)).toBe(true);
    await use.app.pass(100);
    expect(await use.app.status("steersItself", id)).toMatchObject({ state: "completed" });
    expect(await use.app.log()).toEqual(["before", "steers", "after", "last"]);
  });

  test("[S83] it cancels: nothing that follows is executed", async () => {
    const id = await use.app.start("steersItself", { how: "cancel" });
    await use.app.pass(100);
    expect(await use.app.status("steersItself", id)).toMatchObject({ state: "canceled" });
    expect(await use.app.log()).toEqual(["before", "steers"]);
    await use.app.expectNothingLeft();
  });

  test("[S103] it pauses and resumes: the run goes on as if nothing had been", async () => {
    const id = await use.app.start("steersItself", { how: "pauseAndResume" });
    await use.app.pass(100);
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
    await use.app.pass(100);
    if (input.after === "event")
      await use.app.t.mutation(internal.manager.sendEvent, {
        name: "steersBefore",
        run: id,
        event: "begin",
        payload: "now",
      });
    await use.app.pass(100);
    return id;
  };
  const next = ["action", "query", "sleep", "event", "children", "child", "loop", "branch"];
  const places = ["action", "event"].flatMap((after) => next.map((before) => ({ after, before })));

  test.each(places)("[S103] it pauses at once after $after, before $before", async (place) => {
    const id = await steers({ how: "pause", ...place });
    expect(await use.app.status("steersBefore", id)).toMatchObject({ paused: true });
    expect(await scheduled()).toEqual([]);
    await use.app.pass(2 * HOUR);
    expect(await did()).toEqual(["steers"]);
    expect(await resume(id)).toBe(true);
    await use.app.pass(["event", "sleep"].includes(place.before) ? 2 * HOUR : 1_000);
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
    await use.app.pass(2 * HOUR);
    expect(await did()).toEqual(["steers"]);
    expect(await ends()).toEqual(["canceled"]);
    await use.app.expectNothingLeft();
  });

  test("[S79] [S103] it pauses in a pass of a loop", async () => {
    const id = await use.app.start("pausesInLoop", {});
    await use.app.pass(100);
    const before = ["pass 1", "next 1", "pass 2"];
    expect(await use.app.log()).toEqual(before);
    await resume(id);
    await use.app.pass(100);
    expect(await use.app.log()).toEqual([...before, "next 2", "pass 3", "next 3"]);
    expect(await use.app.status("pausesInLoop", id)).toMatchObject({ output: 3 });
  });

  test("[S103] a child pauses the run above it: it goes no further, and no sibling begins", async () => {
    const id = await use.app.start("steersAbove", { how: "pause" });
    await use.app.pass(100);
    expect(await use.app.log()).toEqual(["steers"]);
    await resume(id);
    await use.app.pass(100);
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

describe("an action that was lost", () => {
  test("[S84] of a run that was canceled meanwhile: nothing follows, though its step would recover", async () => {
    const id = await use.app.start("recovers", { ms: HOUR });
    await use.app.pass(1_000);
    await die();
    await cancel(id);
    await use.app.pass(10 * MINUTE);
    expect(await use.app.log()).toEqual([]);
    expect(await use.app.status("recovers", id)).toMatchObject({ state: "canceled" });
  });

  test.each(["restart", "cleanup"])(
    "[S108] of what a %s has removed: nobody is told, and its slot is free",
    async (how) => {
      const id = await use.app.start("recovers", { ms: HOUR });
      await use.app.pass(1_000);
      await cancel(id);
      await die();
      if (how === "restart") await restart("recovers", id);
      else await use.app.t.mutation(internal.manager.cleanup, { runId: id });
      await use.app.pass(10 * MINUTE);
      expect(await use.app.log()).toEqual([]);
      expect(await use.app.slotsHeld()).toBe(how === "restart" ? 1 : 0);
      if (how === "restart")
        expect(await use.app.status("recovers", id)).toMatchObject({
          generation: 2,
          active: [{ node: "act", state: "running", attempt: 1, errors: [] }],
        });
    },
  );

  test.each(["success", "failed"] as const)(
    "[S108] and reports after all before its run is told (%s): the report counts, and nobody is told otherwise",
    async (kind) => {
      const id = await use.app.start("recovers", { ms: HOUR });
      await use.app.pass(1_000);
      await die();
      await use.app.drive(async () => (await scheduled()).some((name) => name.includes("resume")));
      const { step, slot } = await use.app.inComponent(async (ctx) => {
        const all = await ctx.db.query("steps").collect();
        const slots = await ctx.db.query("slots").collect();
        return { step: all.find(({ stage }) => stage === "act")!._id, slot: slots[0]!._id };
      });
      const error = { kind: "thrown", message: "late", workflow: "", node: "act", attempt: 1 };
      await use.app.t.mutation(makeFunctionReference<"mutation">("_workflows/recovers:actDone"), {
        token: { run: id, step, attempt: 1 },
        slot,
        report: kind === "success" ? { kind, output: "acted" } : { kind, error },
        fuse: true,
      });
      expect((await scheduled()).filter((name) => name.endsWith("recovers:resume"))).toEqual([]);
      await use.app.pass(1_000);
      expect(await use.app.log()).toEqual([kind === "success" ? "noted acted" : "noted thrown"]);
    },
  );

  test("[S108] and reports after all: what it says first counts, and nothing is done twice", async () => {
    const id = await use.app.start("recovers", { ms: 20 * MINUTE });
    await use.app.pass(1_000);
    await die();
    await use.app.pass(HOUR);
    expect(await use.app.log()).toEqual(["noted lost"]);
    await use.app.drive();
    expect(await use.app.status("recovers", id)).toMatchObject({ output: "lost" });
    await use.app.expectNothingLeft();
  });

  test("[S103] and whose run is paused before it is told: nothing follows until it is resumed", async () => {
    const id = await use.app.start("recovers", { ms: HOUR });
    await use.app.pass(1_000);
    await die();
    await use.app.drive(async () => (await scheduled()).some((name) => name.includes("resume")));
    await pause(id);
    await use.app.pass(MINUTE);
    expect(await use.app.log()).toEqual([]);
    await resume(id);
    await use.app.pass(1_000);
    expect(await use.app.log()).toEqual(["noted lost"]);
  });

  test("[S103] [S107] and whose run is paused already", async () => {
    const id = await use.app.start("recovers", { ms: HOUR });
    await use.app.pass(1_000);
    await pause(id);
    await die();
    await use.app.pass(10 * MINUTE);
    expect(await use.app.log()).toEqual([]);
    await resume(id);
    await use.app.pass(1_000);
    expect(await use.app.log()).toEqual(["noted lost"]);
  });
});

describe("runs of a tree, each paused by itself", () => {
  test("[S103] a child that waits for its turn does not begin, though its turn comes", async () => {
    const leaves = [1, 2, 3].map((n) => ({ n, ms: 1_000 }));
    const id = await use.app.start("twoAtOnce", { leaves });
    await use.app.pass(500);
    const third = await childAt(id, 2);
    expect(await pause(third)).toBe(true);
    await use.app.pass(MINUTE);
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
    await use.app.pass(1_000);
    const only = await childAt(id, 0);
    await pause(only);
    await pause(id);
    await resume(id);
    expect(await use.app.status("sleeper", only)).toMatchObject({ paused: false });
    expect(await pause(only)).toBe(true);
    await use.app.pass(HOUR);
    expect(await use.app.status("sleeper", only)).toMatchObject({ state: "running", paused: true });
    await resume(only);
    await use.app.drive();
    expect(await use.app.status("oneBadEnd", id)).toMatchObject({ state: "completed" });
  });

  test("[S103] a run that is being restarted in pages does not begin before it is resumed", async () => {
    const id = await use.app.start("chain", {});
    await use.app.drive();
    await clutter(id);
    await restart("chain", id, "b");
    expect(await use.app.status("chain", id)).toMatchObject({ state: "pending" });
    expect(await pause(id)).toBe(true);
    await use.app.pass(MINUTE);
    expect(await use.app.log()).toEqual(["a", "b", "c", "d"]);
    expect(await use.app.status("chain", id)).toMatchObject({ state: "running", paused: true });
    await resume(id);
    await use.app.drive();
    expect(await use.app.log()).toEqual(["a", "b", "c", "d", "b", "d"]);
    expect(await use.app.status("chain", id)).toMatchObject({ state: "completed" });
  });

  test("[S50] [S103] more bad ends than a parent lets pass, while it is paused: it fails afterwards", async () => {
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
    const id = await use.app.start("forgiving", { of: 140 });
    await use.app.pass(1_000);
    await pause(id);
    const below = (await use.app.tree(id)).filter(({ parentRunId }) => parentRunId === id);
    for (const { runId, index } of below) if (index % 2 === 1) await cancel(runId);
    await use.app.pass(HOUR);
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("forgiving", id)).toMatchObject({ state: "failed" });
    await use.app.expectNothingLeft();
  });

  test.each([
    ["paused", "resumed"],
    ["resumed", "paused"],
  ])(
    "[S103] a page of what was %s comes after the run was %s: the last word counts",
    async (_first, last) => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
      const id = await use.app.start("dormitory", { rooms: 2, beds: 140, ms: 2 * HOUR });
      await use.app.pass(1_000);
      if (last === "paused") {
        await pause(id);
        await use.app.pass(1_000);
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
      await use.app.pass(HOUR);
      const held = await use.app.inComponent(async (ctx) => {
        const steps = await ctx.db.query("steps").collect();
        return steps.filter((step) => step.state === "waiting").map((step) => step.held === true);
      });
      expect(held).toHaveLength(1 + 2 + 280);
      expect(new Set(held)).toEqual(new Set([last === "paused"]));
    },
  );

  test("[S49] more bad ends than a parent lets pass, the last child being well: the error is that of a bad one", async () => {
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
    const id = await use.app.start("forgiving", { of: 140 });
    await use.app.pass(1_000);
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
  });

  test("[S86] [S103] canceled while it is resumed in pages: none below goes on any more", async () => {
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
    const leaves = Array.from({ length: 120 }, (_none, n) => ({ n, ms: 1_000 }));
    const id = await use.app.start("wide", { lists: 5, leaves });
    await use.app.pass(500);
    await pause(id);
    await use.app.pass(MINUTE);
    await resume(id);
    await cancel(id);
    const woken = async () =>
      await use.app.inComponent(async (ctx) => {
        const jobs = await ctx.db.system.query("_scheduled_functions").collect();
        return jobs.filter(({ name }) => name.endsWith("leaf:resume")).length;
      });
    const before = await woken();
    await use.app.drive();
    expect(await woken()).toBe(before);
    const states = (await use.app.tree(id)).map(({ state }) => state);
    expect(states).not.toContain("running");
    await use.app.expectNothingLeft();
  });
});

describe("a restart in pages", () => {
  test("[S95] [S102] is canceled halfway: what has been forgotten is not waited for, and is done again", async () => {
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
    const id = await use.app.start("many", { of: 600 });
    await use.app.drive();
    await restart("many", id, "all");
    expect(await use.app.status("many", id)).toMatchObject({ state: "pending" });
    await cancel(id);
    await use.app.drive();
    expect(await use.app.status("many", id)).toMatchObject({ state: "canceled" });
    await use.app.expectNothingLeft();
    await restart("many", id, "after");
    await use.app.drive();
    expect(await use.app.status("many", id)).toMatchObject({ state: "completed", generation: 3 });
    const runs = await use.app.inComponent(
      async (ctx) => (await ctx.db.query("runs").collect()).length,
    );
    expect(runs).toBe(601);
  });
});

describe("restarts", () => {
  test("[S102] canceled and restarted otherwise before the pages of the first restart are through: the last one counts, once", async () => {
    const id = await use.app.start("chain", {});
    await use.app.drive();
    await clutter(id);
    await restart("chain", id, "b");
    await cancel(id);
    await restart("chain", id);
    await use.app.drive();
    expect(await use.app.status("chain", id)).toMatchObject({ state: "completed", generation: 3 });
    expect(await use.app.log()).toEqual(["a", "b", "c", "d", "a", "b", "c", "d"]);
    await use.app.expectNothingLeft();
  });

  test("[S120] a page that is still to come is not scheduled twice by a repair", async () => {
    const id = await use.app.start("chain", {});
    await use.app.drive();
    await clutter(id);
    await restart("chain", id, "b");
    const pages = async () => (await scheduled()).filter((name) => name.endsWith("restartMore"));
    expect(await pages()).toHaveLength(1);
    await repair();
    await repair();
    expect(await pages()).toHaveLength(1);
    await use.app.drive();
    expect(await use.app.log()).toEqual(["a", "b", "c", "d", "b", "d"]);
  });

  test("[S86] [S101] [S102] while what is under the run is still being canceled: each begins anew, once", async () => {
    const leaves = Array.from({ length: 120 }, (_none, n) => ({ n, ms: 1_000 }));
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "wide",
      input: { lists: 3, leaves },
      context: "c",
    });
    await use.app.pass(500);
    await cancel(id);
    await restart("wide", id);
    use.app.counter.clear();
    await use.app.drive();
    const works = use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work"));
    expect(works).toHaveLength(360);
    expect(await use.app.status("wide", id)).toMatchObject({ state: "completed", generation: 2 });
    const states = (await use.app.tree(id)).map(({ state }) => state);
    expect(states).toHaveLength(1 + 3 + 360);
    expect(new Set(states)).toEqual(new Set(["completed"]));
    expect(await ends()).toEqual(["canceled", "completed"]);
    await use.app.expectNothingLeft();
  });

  test("[S92] [S102] what was kept is undone when the new generation is canceled, and then done again", async () => {
    const id = await use.app.start("saga", { fail: "no" });
    await use.app.drive();
    expect(await use.app.log()).toEqual(["reserve", "charge"]);
    await restart("saga", id, "wait");
    await use.app.pass(MINUTE);
    await cancel(id);
    await use.app.drive();
    const undone = ["undo charge 5 of 7, attempt 1", "undo reserve 7: canceled"];
    expect(await use.app.log()).toEqual(["reserve", "charge", ...undone]);
    await restart("saga", id, "ship");
    await use.app.drive();
    expect(await use.app.log()).toEqual(["reserve", "charge", ...undone, "reserve", "charge"]);
    expect(await use.app.status("saga", id)).toMatchObject({ state: "completed", generation: 3 });
    await use.app.expectNothingLeft();
  });

  test("[S102] [S105] a run that takes longer than it was to be kept is not removed before its end", async () => {
    const id = await use.app.start("brief", { leaves: [], ms: 20 * MINUTE });
    await use.app.pass(25 * MINUTE);
    await restart("brief", id);
    await use.app.pass(15 * MINUTE);
    expect(await use.app.status("brief", id)).toMatchObject({ state: "running" });
    await use.app.pass(10 * MINUTE);
    expect(await use.app.status("brief", id)).toMatchObject({ state: "completed" });
    await use.app.drive();
    expect(await use.app.status("brief", id)).toBeNull();
    await use.app.expectNothingLeft();
  });

  test("[S101] [S102] what the callback of the generation before threw is forgotten", async () => {
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "sleeper",
      input: { ms: HOUR },
      context: { throws: "yes" },
    });
    await use.app.drive();
    expect(await use.app.status("sleeper", id)).toHaveProperty("onCompleteError");
    await restart("sleeper", id);
    expect(await use.app.status("sleeper", id)).not.toHaveProperty("onCompleteError");
    await use.app.drive();
    expect(await use.app.status("sleeper", id)).toHaveProperty("onCompleteError");
  });

  test("[S95] of a run under which something is still undone: not restarted, not removed, not yet", async () => {
    const id = await use.app.start("lenient", {});
    await use.app.pass(1_000);
    // As if it had ended before that was begun: its code had no compensation then.
    await use.app.inComponent(async (ctx) => {
      const run = await ctx.db.get("runs", id as Id<"runs">);
      const ended = { state: "canceled", endedAt: Date.now() } as const;
      await ctx.db.patch("runs", run!._id, { ...ended, expiresAt: Date.now() });
      for (const step of await ctx.db.query("steps").collect())
        if (step.run === id && step.state === "waiting")
          await ctx.db.patch("steps", step._id, ended);
      await ctx.scheduler.runAfter(0, component.features.retention.removeExpired, {});
    });
    await expect(restart("lenient", id)).rejects.toThrow(/it goes on/);
    await expect(use.app.t.mutation(internal.manager.cleanup, { runId: id })).rejects.toThrow(
      /it goes on/,
    );
    await use.app.pass(30_000);
    expect(await use.app.status("lenient", id)).not.toBeNull();
    await use.app.drive();
    expect(await use.app.status("lenient", id)).toBeNull();
    const undone = use.app.counter.calls.filter(({ name }) => name.endsWith("doneCompensateDone"));
    expect(undone).toHaveLength(1);
    await use.app.expectNothingLeft();
  });
});

test("[S42] [S104] cleaned up while what is under it is still being canceled: nothing of it is left, nor scheduled", async () => {
  await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
  const id = await use.app.start("dormitory", { rooms: 2, beds: 140, ms: 2 * HOUR });
  await use.app.pass(1_000);
  await cancel(id);
  await use.app.t.mutation(internal.manager.cleanup, { runId: id });
  const left = async (table: "runs" | "steps" | "deadlines" | "continuations") =>
    await use.app.inComponent(async (ctx) => (await ctx.db.query(table).collect()).length);
  await use.app.drive(async () => (await left("continuations")) === 0);
  expect([await left("runs"), await left("steps"), await left("deadlines")]).toEqual([0, 0, 0]);
  expect(await scheduled()).toEqual([]);
});

describe("children that are still being inserted", () => {
  const inserting = async () =>
    await use.app.inComponent(async (ctx) => (await ctx.db.query("childPages").collect()).length);
  const begun = async () => {
    const id = await use.app.start("folds", { of: 1_001 });
    await use.app.drive(async () => (await inserting()) > 0);
    return id;
  };
  const complete = async (id: string) => {
    await use.app.drive();
    expect(await use.app.status("folds", id)).toMatchObject({
      state: "completed",
      output: { children: { sum: (1_000 * 1_001) / 2, last: 1_000 } },
    });
    const runs = await use.app.inComponent(
      async (ctx) => (await ctx.db.query("runs").collect()).length,
    );
    expect(runs).toBe(1_002);
    await use.app.expectNothingLeft();
  };

  test("[S59] [S103] paused and resumed again and again: none is there twice", async () => {
    const id = await begun();
    for (let n = 0; n < 3; n++) {
      await pause(id);
      await resume(id);
    }
    await complete(id);
  });

  test("[S59] [S103] paused: the others are inserted, and none of them begins", async () => {
    const id = await begun();
    await pause(id);
    await use.app.drive();
    expect(await inserting()).toBe(0);
    const works = () => use.app.counter.calls.filter(({ name }) => name.endsWith("quick:n"));
    expect(works().length).toBeLessThan(1_000);
    await use.app.expectNothingLeft();
    await resume(id);
    await complete(id);
    expect(works()).toHaveLength(1_001);
  });

  test("[S59] [S103] [S120] paused, and restored from a backup: all are there when it is resumed", async () => {
    const id = await begun();
    await pause(id);
    await restore();
    await repair();
    await use.app.pass(HOUR);
    await resume(id);
    await complete(id);
  });
});

test("[S120] a repair comes to its end though what is scheduled is more than one transaction reads", async () => {
  const text = "x".repeat(200_000);
  let last = "";
  for (let n = 0; n < 120; n++)
    last = await use.app.t.mutation(internal.manager.start, {
      name: "echo",
      input: { value: text },
      runAfter: HOUR,
    });
  await use.app.inComponent(async (ctx) => {
    const steps = ctx.db
      .query("steps")
      .withIndex("by_run_state", (q) => q.eq("run", last as Id<"runs">));
    for (const { job } of await steps.collect())
      if (job !== undefined) await ctx.scheduler.cancel(job);
  });
  expect(await use.app.status("echo", last)).toMatchObject({ stalled: true });
  await repair();
  const pages = () => use.app.counter.calls.filter(isOf("features/repair:repairMore"));
  await use.app.drive(async () => {
    const left = await use.app.inComponent((ctx) => ctx.db.query("continuations").collect());
    return left.length === 0 || pages().length > 20;
  });
  expect(pages().length).toBeLessThan(10);
  expect(await use.app.status("echo", last)).toMatchObject({ stalled: false });
});

describe("timers", () => {
  test.each([
    { name: "limited", input: { ms: MINUTE }, how: "completes" },
    { name: "limited", input: { ms: HOUR }, how: "is canceled" },
    { name: "limited", input: { ms: HOUR }, how: "fails" },
    { name: "tooLong", input: { ms: MINUTE }, how: "completes" },
    { name: "tooLong", input: { ms: 2 * HOUR }, how: "is canceled" },
    { name: "timedParent", input: { handlerMs: 0, childMs: 0, finalizeMs: 0 }, how: "completes" },
    { name: "flaky", input: { goodAttempt: 2 }, how: "is canceled" },
  ])("[S42] none is left when a run of $name $how", async ({ name, input, how }) => {
    const id = await use.app.start(name, input);
    const hasEnded = async () => "endedAt" in Object((await use.app.status(name, id)) ?? {});
    if (how === "is canceled") {
      await use.app.pass(100);
      expect((await scheduled()).length).toBeGreaterThan(0);
      await cancel(id);
      // What it has done is undone.
      await use.app.pass(10);
    } else await use.app.drive(hasEnded);
    expect(await hasEnded()).toBe(true);
    expect(await scheduled()).toEqual([]);
  });
});

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
      await use.app.pass(moments[moment as keyof typeof moments]);
      return id;
    }
    await use.app.pass(HOUR + 10 * MINUTE);
    await decide(id);
    await use.app.pass(below[moment as keyof typeof below]);
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
    await use.app.pass(5 * HOUR);
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
      await restore();
      await repair();
      await repair();
      await use.app.pass(10 * MINUTE);
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
    await use.app.pass(8_000);
    await pause(id);
    await use.app.pass(MINUTE);
    const below = await childAt(id, 0);
    expect(await use.app.status("leaf", below)).toMatchObject({ state: "pending" });
    await resume(id);
    await use.app.pass(10_000);
    expect(await use.app.status("timedParent", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });

  test("[S40] [S103] its time is over while its parent is paused: it fails, and nothing is left", async () => {
    const id = await use.app.start("limited", { ms: 4 * HOUR });
    await use.app.pass(MINUTE);
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
