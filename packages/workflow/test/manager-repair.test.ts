import { describe, expect, test } from "vitest";
import type { Id } from "../src/component/_generated/dataModel.js";
import { isOf } from "./component.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";
import { clutter, restore } from "./tampering.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const repair = async () => await use.app.t.mutation(internal.manager.repair, {});
const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

async function scheduled(): Promise<string[]> {
  return await use.app.inComponent(async (ctx) => {
    const jobs = await ctx.db.system.query("_scheduled_functions").collect();
    return jobs
      .filter((job) => job.state.kind === "pending" && !isOf("watchdog:sweep")(job))
      .map(({ name, scheduledTime }) => `${name} ${scheduledTime}`)
      .sort();
  });
}

describe("after a restore", () => {
  test("[S120] every run that has not ended goes on when it is due, and not before", async () => {
    const begun = Date.now();
    const sleeper = await use.app.start("sleeper", { ms: 2 * HOUR });
    const later = await use.app.t.mutation(internal.manager.start, {
      name: "leaf",
      input: { n: 1 },
      runAfter: 3 * HOUR,
    });
    const limited = await use.app.start("tooLong", { ms: 5 * HOUR });
    const parent = await use.app.start("limited", { ms: 4 * HOUR });
    const awaited = await use.app.start("awaited", {});
    await use.app.t.mutation(internal.manager.sendEvent, {
      name: "awaited",
      run: awaited,
      event: "canceled",
      payload: "x",
    });
    const brief = await use.app.start("brief", { leaves: [] });
    await use.app.advance(MINUTE);
    expect(await restore(use.app)).toBeGreaterThan(5);
    await use.app.advance(9 * MINUTE);
    // Nothing moves by itself.
    expect(await scheduled()).toEqual([]);
    await repair();
    await use.app.drive();
    expect(await use.app.status("sleeper", sleeper)).toMatchObject({ endedAt: begun + 2 * HOUR });
    expect(await use.app.status("leaf", later)).toMatchObject({
      state: "completed",
      startedAt: begun + 3 * HOUR,
    });
    expect(await use.app.status("tooLong", limited)).toMatchObject({
      state: "timedOut",
      endedAt: begun + HOUR,
    });
    expect(await use.app.status("limited", parent)).toMatchObject({
      state: "failed",
      error: { kind: "timedOut", node: "inTime" },
      endedAt: begun + 10 * MINUTE,
    });
    expect(await use.app.status("awaited", awaited)).toMatchObject({
      output: { second: { timedOut: true } },
    });
    expect(await use.app.status("brief", brief)).toBeNull();
  });

  test("[S86] [S120] a run whose sleep has lost all that was scheduled for it: it can be canceled, or repaired when it is late", async () => {
    const canceled = await use.app.start("sleeper", { ms: HOUR });
    const repaired = await use.app.start("sleeper", { ms: HOUR });
    await use.app.advance(MINUTE);
    expect(await restore(use.app)).toBeGreaterThan(1);
    await use.app.t.mutation(internal.runs.cancel, { runId: canceled });
    expect(await use.app.status("sleeper", canceled)).toMatchObject({ state: "canceled" });
    await use.app.advance(2 * HOUR);
    await repair();
    await use.app.advance(MINUTE);
    expect(await use.app.status("sleeper", repaired)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });

  test("[S120] what was under way: steps that were to run at once, actions, children, compensations", async () => {
    const retried = await use.app.start("flaky", { goodAttempt: 1 });
    const routed = await use.app.start("routed", { n: 1 });
    const list = await use.app.start("list", { leaves: [{ n: 1 }, { n: 2 }] });
    expect(await restore(use.app)).toBeGreaterThan(2);
    await repair();
    await use.app.drive();
    // The action had not begun: that was its first attempt all the same.
    expect(await use.app.status("flaky", retried)).toMatchObject({
      state: "completed",
      output: { attempt: 2 },
    });
    expect(await use.app.status("routed", routed)).toMatchObject({ state: "completed" });
    expect((await use.app.status("list", list))?.state).toMatch(/completed|failed/);
    const saga = await use.app.start("saga", { fail: "no" });
    await use.app.drive(async () => (await use.app.steps(saga)).includes("wait waiting"));
    await use.app.t.mutation(internal.runs.cancel, { runId: saga });
    await restore(use.app);
    await repair();
    await use.app.drive();
    expect(await use.app.status("saga", saga)).toMatchObject({ state: "canceled" });
    expect(await use.app.log()).toContain("undo reserve 7: canceled");
  });

  test("[S120] [S59] children that are still to be inserted", { tags: ["large"] }, async () => {
    const id = await use.app.start("reduces", { of: 1_001 });
    await use.app.drive(async () => (await pagesLeft()) > 0);
    await restore(use.app);
    await repair();
    await use.app.drive();
    expect(await pagesLeft()).toBe(0);
    expect(await use.app.status("reduces", id)).toMatchObject({
      state: "completed",
      output: { children: { sum: (1_000 * 1_001) / 2, last: 1_000 } },
    });
  });

  test(
    "[S120] what goes on in pages: a cancel, a restart, a removal",
    { tags: ["large"] },
    async () => {
      const leaves = Array.from({ length: 260 }, (_none, n) => ({ n, ms: HOUR }));
      const canceled = await use.app.start("list", { leaves });
      await use.app.advance(1_000);
      await use.app.t.mutation(internal.runs.cancel, { runId: canceled });
      const chain = await use.app.start("chain", {});
      await use.app.drive(
        async () => (await use.app.status("chain", chain))?.state === "completed",
      );
      await clutter(use.app, chain);
      await use.app.t.mutation(internal.manager.restart, { name: "chain", runId: chain });
      await restore(use.app);
      await repair();
      await use.app.drive();
      expect(await use.app.status("chain", chain)).toMatchObject({
        state: "completed",
        generation: 2,
      });
      const states = await use.app.inComponent(async (ctx) => {
        const runs = await ctx.db.query("runs").collect();
        return runs.filter(({ root }) => root !== undefined).map(({ state }) => state);
      });
      expect(new Set(states)).toEqual(new Set(["canceled"]));
      await clutter(use.app, chain);
      await use.app.t.mutation(internal.manager.cleanup, { runId: chain });
      await restore(use.app);
      await repair();
      await use.app.drive();
      const left = await use.app.inComponent(async (ctx) => {
        const steps = await ctx.db.query("steps").collect();
        return steps.filter(({ run }) => run === (chain as Id<"runs">)).length;
      });
      expect(left).toBe(0);
    },
  );

  test("[S103] [S120] what is paused stays so, and goes on when it is resumed", async () => {
    const begun = Date.now();
    const later = await use.app.t.mutation(internal.manager.start, {
      name: "leaf",
      input: { n: 1 },
      runAfter: 3 * HOUR,
    });
    const sleeper = await use.app.start("sleeper", { ms: 2 * HOUR });
    await use.app.advance(1_000);
    for (const id of [later, sleeper]) await pause(id);
    await restore(use.app);
    await repair();
    await use.app.advance(HOUR);
    expect(await use.app.status("sleeper", sleeper)).toMatchObject({ paused: true });
    expect(await scheduled()).toEqual([]);
    for (const id of [later, sleeper]) await resume(id);
    await use.app.drive();
    expect(await use.app.status("leaf", later)).toMatchObject({ startedAt: begun + 3 * HOUR });
    expect(await use.app.status("sleeper", sleeper)).toMatchObject({ endedAt: begun + 2 * HOUR });
  });

  test("[S120] in pages: 120 runs", { tags: ["large"] }, async () => {
    const inputs = Array.from({ length: 120 }, () => ({ ms: HOUR }));
    const ids = await use.app.t.mutation(internal.manager.startBatch, { name: "sleeper", inputs });
    await use.app.advance(MINUTE);
    await restore(use.app);
    await repair();
    await use.app.drive();
    const states = await Promise.all(
      ids.map(async (id) => (await use.app.status("sleeper", id))?.state),
    );
    expect(new Set(states)).toEqual(new Set(["completed"]));
    await use.app.expectNothingLeft();
  });

  test("[S120] twice does no harm, nor where nothing was lost", async () => {
    await use.app.start("tooLong", { ms: 30 * MINUTE });
    await use.app.start("awaited", {});
    await use.app.start("patient", { leaves: [] });
    await use.app.advance(2 * MINUTE);
    const before = await scheduled();
    await repair();
    await use.app.advance(1);
    expect(await scheduled()).toEqual(before);
    await restore(use.app);
    await repair();
    await repair();
    await use.app.advance(1);
    expect(await scheduled()).toEqual(before);
    use.app.counter.clear();
    await use.app.drive();
    const entered = use.app.counter.calls.filter(({ name }) => name.endsWith("tooLong:entry"));
    expect(entered).toHaveLength(1);
  });
});

async function pagesLeft(): Promise<number> {
  return await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => (await ctx.db.query("childPages").collect()).length),
  );
}

describe("a scheduled function that was canceled or cleaned away by hand", () => {
  test.each([
    ["canceled", false],
    ["gone", true],
  ])(
    "[S111] of a run that sleeps, %s: it is shown as stalled, and repair mends it",
    async (_what, gone) => {
      const begun = Date.now();
      const id = await use.app.start("sleeper", { ms: 2 * HOUR });
      await use.app.advance(MINUTE);
      expect(await use.app.status("sleeper", id)).toMatchObject({ stalled: false });
      await restore(use.app, { gone });
      expect(await use.app.status("sleeper", id)).toMatchObject({
        state: "running",
        stalled: true,
        active: [{ node: "a", stalled: true, dueAt: begun + 2 * HOUR }],
      });
      await repair();
      expect(await use.app.status("sleeper", id)).toMatchObject({ stalled: false });
      await use.app.drive();
      expect(await use.app.status("sleeper", id)).toMatchObject({ endedAt: begun + 2 * HOUR });
    },
  );

  test("[S111] of a step that is due: the watchdog's next sweep finds it", async () => {
    const busy = await use.app.start("slow", { ms: 9_000 });
    const id = await use.app.start("routed", { n: 1 });
    await use.app.inComponent(async (ctx) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      const entries = jobs.filter(({ name }) => name.includes("routed"));
      expect(entries).toHaveLength(1);
      for (const { _id } of entries) await ctx.scheduler.cancel(_id);
    });
    expect(await use.app.status("routed", id)).toMatchObject({ stalled: true });
    await use.app.drive();
    expect(await use.app.status("routed", id)).toMatchObject({ state: "completed" });
    expect(await use.app.status("slow", busy)).toMatchObject({ state: "completed" });
  });

  test("[S111] of a page of something: the next sweep finds it", { tags: ["large"] }, async () => {
    const chain = await use.app.start("chain", {});
    await use.app.drive();
    await clutter(use.app, chain);
    await use.app.t.mutation(internal.manager.cleanup, { runId: chain });
    await use.app.inComponent(async (ctx) => {
      const [rest] = await ctx.db.query("continuations").collect();
      await ctx.scheduler.cancel(rest!.job!);
    });
    await use.app.drive();
    const left = await use.app.inComponent(
      async (ctx) => (await ctx.db.query("steps").collect()).length,
    );
    expect(left).toBe(0);
  });

  test("[S47] of a parent whose finalize takes long nothing is missing: it is not begun again", async () => {
    const id = await use.app.start("patient", { leaves: [{ n: 1 }] });
    const event = { name: "patient", run: id, event: "decision", payload: "yes" };
    await use.app.t.mutation(internal.manager.sendEvent, event);
    await use.app.drive();
    expect(await use.app.status("patient", id)).toMatchObject({ state: "completed" });
    const { calls } = use.app.counter;
    expect(calls.filter(isOf("watchdog:sweep")).length).toBeGreaterThan(1);
    expect(calls.filter(({ name }) => name.endsWith("patient:allFinalize"))).toHaveLength(1);
  });

  test("[S96] a running action whose scheduled function has failed is stalled until the watchdog checks it", async () => {
    const id = await use.app.start("slow", { ms: 1_000 });
    await restore(use.app);
    expect(await use.app.status("slow", id)).toMatchObject({
      stalled: true,
      active: [{ node: "wait", state: "running", stalled: true }],
    });
    await repair();
    await use.app.drive();
    expect(await use.app.status("slow", id)).toMatchObject({ state: "completed", stalled: false });
  });
});

test(
  "[S120] a repair comes to its end though what is scheduled is more than one transaction reads",
  { tags: ["large"] },
  async () => {
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
  },
);
