import { createFunctionHandle } from "convex/server";
import { expect, test } from "vitest";
import { internal as own } from "../src/component/_generated/api.js";
import type { Doc, Id } from "../src/component/_generated/dataModel.js";
import type { MutationCtx } from "../src/component/_generated/server.js";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const HOUR = 3_600_000;

/** A run that has less time than it needs, and whose deadline nobody watches any more. */
async function unwatched(name: string): Promise<string> {
  const id = await use.app.start(name, {});
  await use.app.advance(1_000);
  expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: false });
  await use.app.inComponent(async (ctx) => {
    const deadline = await ctx.db.query("deadlines").first();
    await ctx.scheduler.cancel(deadline!.job!);
    await ctx.scheduler.cancel(deadline!.check!);
  });
  expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
  return id;
}

const ends = [
  ["oversleeps", "timedOut"],
  ["outlasts", "failed"],
] as const;

test.each(ends)(
  "[S111] the scheduled function of a timeout was canceled by hand, of %s: repair mends it",
  async (name, state) => {
    const id = await unwatched(name);
    await use.app.t.mutation(components.workflow.steering.repair, {});
    await use.app.advance(1_000);
    expect(await use.app.status(name, id)).toMatchObject({ stalled: false });
    await use.app.advance(HOUR);
    expect(await use.app.status(name, id)).toMatchObject({ state, error: { kind: "timedOut" } });
    await use.app.drive();
    await use.app.expectNothingLeft();
  },
);

test.each(ends)(
  "[S111] the same of %s is detected when its time is up, by the next sweep",
  async (name, state) => {
    const id = await unwatched(name);
    await use.app.advance(2 * HOUR);
    expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
    // Something else runs: so the watchdog is on.
    await use.app.start("brief", { leaves: [] });
    await use.app.advance(2 * 60_000);
    expect(await use.app.status(name, id)).toMatchObject({ state, error: { kind: "timedOut" } });
    await use.app.drive();
    await use.app.expectNothingLeft();
  },
);

type Job = Doc<"steps">["job"];

/** Instead of a scheduled function, one that does the same a day later; or none. */
async function postponed(ctx: MutationCtx, job: Job, isLost: boolean) {
  const was = job === undefined ? null : await ctx.db.system.get("_scheduled_functions", job);
  if (was === null) throw new Error("Nothing is scheduled");
  await ctx.scheduler.cancel(was._id);
  if (isLost) return { job: was._id };
  const fn = was.name.startsWith("features/deadlines")
    ? own.features.deadlines.expire
    : own.engine.entry.enter;
  return {
    job: await ctx.scheduler.runAt(was.scheduledTime + 24 * HOUR, fn, was.args[0] as never),
  };
}

/**
 * Has the scheduler be far behind with what runs wait for; what the last of them waits for is lost.
 */
const waitFor = {
  timeouts: async (ctx: MutationCtx) => {
    const all = await ctx.db.query("deadlines").collect();
    for (const { _id, job, check } of all) {
      await ctx.scheduler.cancel(check!);
      await ctx.db.patch("deadlines", _id, await postponed(ctx, job, _id === all.at(-1)?._id));
    }
  },
  sleeps: async (ctx: MutationCtx) => {
    const all = (await ctx.db.query("steps").collect()).filter(({ kind }) => kind === "sleep");
    for (const { _id, job, check } of all) {
      // What stands in for a wake-up that does not come is lost as well.
      if (check !== undefined) await ctx.scheduler.cancel(check);
      await ctx.db.patch("steps", _id, await postponed(ctx, job, _id === all.at(-1)?._id));
    }
  },
};

test.each([
  ["timeouts", "oversleeps", 2, "timedOut"],
  ["sleeps", "wholeDay", 25, "completed"],
] as const)(
  "[S111] of many %s that are late, and stay so, one is lost: it is detected though it is the last",
  { tags: ["large"] },
  async (what, name, hours, state) => {
    const ids: string[] = [];
    for (let n = 0; n < 120; n++) ids.push(await use.app.start(name, {}));
    await use.app.advance(1_000);
    ids.push(await use.app.start(name, {}));
    await use.app.advance(1_000);
    await use.app.inComponent(waitFor[what]);
    await use.app.advance(hours * HOUR);
    const states = async () => {
      const all = await Promise.all(ids.map(async (id) => (await use.app.status(name, id))?.state));
      const last = all.pop();
      return { last, others: [...new Set(all)] };
    };
    expect(await states()).toEqual({ last: "running", others: ["running"] });
    // Something else runs: so the watchdog is on.
    await use.app.start("brief", { leaves: [] });
    await use.app.advance(2 * 60_000);
    expect(await states()).toEqual({ last: state, others: ["running"] });
  },
);

test("[S111] the same of what goes on in transactions of its own", async () => {
  const id = await use.app.start("leaf", { n: 1 });
  await use.app.drive();
  await use.app.inComponent(async (ctx) => {
    const { repairMore: behind } = own.features.repair;
    for (let n = 0; n < 120; n++) {
      const fn = await createFunctionHandle(behind);
      const continuation = await ctx.db.insert("continuations", { fn, page: null });
      const job = await ctx.scheduler.runAfter(24 * HOUR, behind, { continuation });
      await ctx.db.patch("continuations", continuation, { job });
    }
    const fn = await createFunctionHandle(own.features.retention.removeMore);
    await ctx.db.insert("continuations", { fn, page: id });
  });
  const steps = async () =>
    await use.app.inComponent(async (ctx) => {
      const ofRun = ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", id as Id<"runs">));
      return (await ofRun.collect()).length;
    });
  expect(await steps()).toBeGreaterThan(0);
  await use.app.start("brief", { leaves: [] });
  await use.app.advance(2 * 60_000);
  expect(await steps()).toBe(0);
});

test("[S111] a deadline that was left behind by a run which has ended is not looked after for ever", async () => {
  const id = await use.app.start("leaf", { n: 1 });
  await use.app.drive();
  const left = async () =>
    await use.app.inComponent(async (ctx) => (await ctx.db.query("deadlines").collect()).length);
  await use.app.inComponent(async (ctx) => {
    await ctx.db.insert("deadlines", { run: id as Id<"runs">, ms: 1, at: Date.now() - HOUR });
  });
  await use.app.start("brief", { leaves: [] });
  await use.app.drive();
  expect(await left()).toBe(0);
});

test("[S41] [S102] the time of a run is over when it ends: a restart has its own", async () => {
  const id = await use.app.start("napsInTime", {});
  await use.app.advance(HOUR * 0.7);
  expect(await use.app.inComponent((ctx) => ctx.db.query("deadlines").collect())).toEqual([]);
  await use.app.t.mutation(internal.manager.restart, { name: "napsInTime", runId: id });
  await use.app.drive();
  expect(await use.app.status("napsInTime", id)).toMatchObject({ state: "completed" });
});

test("[S40] the time of a parent begins with it, not with its run", async () => {
  expect(await use.app.run("napsFirst", {})).toMatchObject({ state: "completed" });
});

test(
  "[S40] a node that has failed and recovered in time is timed no longer",
  { tags: ["large"] },
  async () => {
    expect(await use.app.run("recoversInTime", {})).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  },
);

test("[S105] a run is not removed while something under it is undone", async () => {
  const id = await use.app.start("endsBefore", {});
  await use.app.advance(240_000);
  expect(await use.app.status("endsBefore", id)).toMatchObject({ state: "completed" });
  await use.app.drive();
  expect(await use.app.inComponent(async (ctx) => await ctx.db.query("runs").collect())).toEqual(
    [],
  );
});

test("[S236] the time of a parent is up while it is paused and its handler runs: it recovers, whatever that gives", async () => {
  const id = await use.app.start("handlesSlowly", {});
  await use.app.advance(30_000);
  await use.app.t.mutation(components.workflow.steering.pause, { run: { runId: id } });
  await use.app.advance(120_000);
  await use.app.t.mutation(components.workflow.steering.resume, { run: { runId: id } });
  await use.app.drive();
  expect(await use.app.status("handlesSlowly", id)).toMatchObject({
    state: "completed",
    output: "timedOut",
  });
  await use.app.expectNothingLeft();
});

test("[S147] the time of a parent is up while its handler waits for a slot: that never began", async () => {
  await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 0 });
  const id = await use.app.start("handlesSlowly", {});
  await use.app.advance(90_000);
  expect(await use.app.status("handlesSlowly", id)).toMatchObject({ output: "timedOut" });
  const page = { numItems: 9, cursor: null };
  const steps = { name: "handlesSlowly", runId: id, page };
  const told = (await use.app.t.query(internal.manager.steps, steps)) as { page: object[] };
  const [handler] = told.page;
  expect(handler).toMatchObject({ state: "timedOut", queuedMs: 60_000, durationMs: 0 });
  expect(handler).not.toHaveProperty("beganAt");
  await use.app.expectNothingLeft();
});
