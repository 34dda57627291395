/** @module-tag large */
import { makeFunctionReference } from "convex/server";
import { describe, expect, test } from "vitest";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

virtualTime();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const onComplete = internal.callbacks.ended;
const { echo, flaky, hang, wait, write } = internal.jobs;
const { views } = components.workpool;

const labels = (n: number) => Array.from({ length: n }, (_, i) => ({ label: `${i}` }));
const delayed = (app: TestApp, n: number, runAfter: number) =>
  app.t.mutation((ctx) =>
    app.pool.enqueueMutationBatch(ctx, write, labels(n), { runAfter, onComplete }),
  );
const busyFor = (app: TestApp, ms: number) =>
  app.t.mutation((ctx) => app.pool.enqueueAction(ctx, wait, { ms }));
const repair = (app: TestApp) => app.t.mutation((ctx) => app.pool.repair(ctx));
const sweeps = (app: TestApp) =>
  app.counter.totals((call) => call.name === "watchdog:sweep").rootExecutions;
const roots = (app: TestApp) => app.counter.totals((call) => call.name !== "inline").rootExecutions;
const summary = (app: TestApp) => app.t.query((ctx) => ctx.runQuery(views.summary, {}));
const stalled = async (app: TestApp) => {
  const paginationOpts = { cursor: null, numItems: 100 };
  const { page } = await app.t.query((ctx) => ctx.runQuery(views.delayed, { paginationOpts }));
  return page.map((row) => row.stalled);
};

test("a delayed start that is not lost any more as that is confirmed stays as it is", async () => {
  const app = new TestApp();
  await delayed(app, 1, 5 * SECOND);
  const work = () => app.inPool((ctx) => ctx.db.query("works").first());
  const before = await work();
  const startLost = makeFunctionReference<"mutation">("recovery:startLost");
  await app.inPool((ctx) => ctx.runMutation(startLost, { lost: [before!._id] }));
  expect(await work()).toEqual(before);
});

describe.each([
  ["canceled by hand", false],
  ["gone, as after a restore from a backup", true],
])("a delayed work whose start is %s", (_, gone) => {
  test("is started by the next check after its time, in a pool that is busy", async () => {
    const app = new TestApp();
    await busyFor(app, 20 * MINUTE);
    await delayed(app, 1, 50 * SECOND);
    expect(await app.losePending("worker:startDue", { gone })).toBe(1);
    await app.drive(79 * SECOND);
    expect(await app.labels("ended")).toEqual([]);
    // The watchdog checks 30 s, 90 s, … after the pool became busy; and 30 s after the work is due.
    await app.drive(2 * SECOND);
    expect(await app.labels("ended")).toEqual(["success"]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("is started soon after the pool becomes busy, where it was idle: till then nothing checks", async () => {
    const app = new TestApp();
    await delayed(app, 1, 5 * SECOND);
    await app.losePending("worker:startDue", { gone });
    await app.drive(60 * MINUTE);
    expect(await app.labels("ended")).toEqual([]);
    expect(roots(app)).toBe(0);
    await busyFor(app, 1);
    await app.drive(31 * SECOND);
    expect(await app.labels("ended")).toEqual(["success"]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("is seen to be stalled, and overdue, by whoever looks at the pool", async () => {
    const app = new TestApp();
    await delayed(app, 1, 5 * MINUTE);
    await delayed(app, 1, 5 * MINUTE + SECOND);
    expect(await stalled(app)).toEqual([false, false]);
    await app.inPool(async (ctx) => {
      const work = await ctx.db.query("works").first();
      await ctx.scheduler.cancel(work!.due!.job!);
    });
    expect(await stalled(app)).toEqual([true, false]);
    await app.losePending("worker:startDue", { gone });
    expect(await stalled(app)).toEqual([true, true]);
    expect(await summary(app)).toMatchObject({ delayed: 2, overdue: 0 });
    await app.drive(7 * MINUTE);
    expect(await summary(app)).toMatchObject({ delayed: 2, overdue: 2 });
  });

  test("is repaired: what is overdue starts at once, what is not starts in time", async () => {
    const app = new TestApp();
    const now = Date.now();
    await delayed(app, 1, 5 * SECOND);
    await delayed(app, 1, 60 * MINUTE);
    await app.losePending("worker:startDue", { gone });
    await app.drive(10 * MINUTE);
    app.counter.clear();
    await repair(app);
    await app.drive(SECOND);
    expect(await app.labels("ended")).toEqual(["success"]);
    expect(await stalled(app)).toEqual([false]);
    await app.driveOut();
    expect((await app.events("write")).map(({ at }) => at)).toEqual([
      now + 10 * MINUTE,
      now + 60 * MINUTE,
    ]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    // Each is one execution, as is the start in time, the sweep that the repair asks for, and the
    // last one of each burst.
    expect(roots(app) - sweeps(app)).toBe(2 + 1);
    expect(sweeps(app)).toBeLessThanOrEqual(3);
  });
});

test("a lost start is made up for, though the work was enqueued in the very transaction that left the pool idle", async () => {
  const app = new TestApp();
  await app.t.mutation((ctx) =>
    app.pool.enqueueMutation(
      ctx,
      write,
      { label: "first" },
      { onComplete: internal.callbacks.later },
    ),
  );
  await app.drive(SECOND);
  expect(await app.losePending("worker:startDue")).toBe(1);
  await app.drive(3 * MINUTE);
  expect(await app.labels("write")).toEqual(["first", "later"]);
});

test("that no delayed work is left is not concluded from a stale snapshot: a start that it lacks, and that is lost, is found", async () => {
  let lag = 0;
  const app = new TestApp({ maxParallelism: 3 }, () => lag);
  for (const ms of [10, 20])
    await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.wait, { ms }));
  await app.drive(30 * SECOND - 10);
  await app.t.mutation((ctx) =>
    app.pool.enqueueAction(
      ctx,
      internal.jobs.sleep,
      { label: "late", ms: 10 },
      { runAfter: 20 * SECOND },
    ),
  );
  await app.losePending("worker:startDue", { gone: true });
  // The sweep 30 s after the first start sees the pool as it was before that.
  lag = 5;
  await app.drive(15 * SECOND);
  lag = 0;
  await app.driveOut();
  expect(await app.labels("end")).toEqual(["late"]);
});

describe("a repair", () => {
  test(
    "of 500 works goes on over as many transactions as it takes",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 20 });
      await delayed(app, 250, 5 * SECOND);
      await delayed(app, 250, 50 * MINUTE);
      await app.losePending("worker:startDue");
      await app.drive(10 * MINUTE);
      await repair(app);
      await app.drive(MINUTE);
      expect(await app.labels("ended")).toHaveLength(250);
      expect(await app.leftovers()).toMatchObject({ works: 250, continuations: 0 });
      await app.drive(45 * MINUTE);
      expect(await app.labels("ended")).toHaveLength(500);
      await app.driveOut();
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
      expect(app.counter.violations).toEqual([]);
    },
  );

  test("changes nothing where nothing was lost: all starts once, and in time", async () => {
    const app = new TestApp();
    const now = Date.now();
    await delayed(app, 3, 5 * SECOND);
    await busyFor(app, SECOND);
    await repair(app);
    await repair(app);
    await app.driveOut();
    const writes = await app.events("write");
    expect(writes.map(({ label, at }) => [label, at - now])).toEqual([
      ["0", 5 * SECOND],
      ["1", 5 * SECOND],
      ["2", 5 * SECOND],
    ]);
    expect(app.counter.totals((call) => call.name === "worker:startDue").executions).toBe(1);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("of a pool that nothing was ever enqueued to does nothing, but for one sweep", async () => {
    const app = new TestApp();
    await repair(app);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    expect(roots(app)).toBe(1);
  });

  test("after a restore from a backup, which brings no scheduled function back, has what waits for a slot go on at once", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(
        ctx,
        hang,
        [...labels(2), ...labels(2)].map((job) => ({ ...job, times: 1 })),
        {
          onComplete,
        },
      ),
    );
    await app.drive(SECOND);
    await app.losePending("watchdog:sweep", { gone: true });
    for (let i = 0; i < 2; i++)
      await app.inPool(async (ctx) => {
        const held = await ctx.db
          .query("slots")
          .withIndex("by_work", (q) => q.gt("work", undefined))
          .collect();
        const system = ctx.db as unknown as { delete(table: string, id: string): Promise<void> };
        if (await ctx.db.system.get("_scheduled_functions", held[i]!.job!))
          await system.delete("_scheduled_functions", held[i]!.job!);
      });
    await app.drive(60 * MINUTE);
    expect(await app.labels("ended")).toEqual([]);
    await repair(app);
    await app.drive(SECOND);
    // Those that ran have failed, the others ran.
    expect((await app.labels("ended")).sort()).toEqual([
      ...Array(2).fill("failed"),
      ...Array(2).fill("success"),
    ]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe("a work that waits for its next attempt, and whose start is lost", () => {
  test("is tried again by the sweep 30 s after it is due, though nothing runs: the watchdog stays on for what is due soon", async () => {
    const app = new TestApp();
    const retry = { maxAttempts: 2, initialBackoffMs: 200 * SECOND, base: 1 };
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, flaky, { label: "a", succeedsAt: 2 }, { retry, onComplete }),
    );
    await app.drive(SECOND);
    const due = await app.inPool(async (ctx) => (await ctx.db.query("works").first())!.due!.at);
    await app.losePending("worker:startDue");
    await app.drive(due - Date.now() + 29 * SECOND);
    expect(await app.labels("ended")).toEqual([]);
    await app.drive(2 * SECOND);
    expect(await app.labels("ended")).toEqual(["success"]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe("the watchdog, for the sake of delayed works", () => {
  test("takes no sweep more than without them: each that comes is the last one of the burst that its start is", async () => {
    const app = new TestApp();
    await busyFor(app, SECOND);
    // Due 100, 220, 340 and 460 s from now: each starts in an idle pool, and would have a sweep of
    // its own after it.
    for (let i = 0; i < 4; i++) await delayed(app, 1, (100 + 120 * i) * SECOND);
    await app.driveOut();
    expect(await app.labels("ended")).toHaveLength(4);
    expect(sweeps(app)).toBeLessThanOrEqual(1 + 4);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("does not poll while works are delayed for long, as many as there are", async () => {
    const app = new TestApp();
    for (let i = 1; i <= 50; i++) await delayed(app, 1, i * 12 * 60 * MINUTE);
    // Two, so that there is a last sweep.
    await busyFor(app, SECOND);
    await busyFor(app, SECOND);
    await app.drive(11 * 60 * MINUTE);
    expect(sweeps(app)).toBe(1);
  });

  test("checks once for all that are due soon", async () => {
    const app = new TestApp();
    await app.setMaxParallelism(0);
    for (let i = 1; i <= 20; i++) await delayed(app, 1, i * 20 * SECOND);
    // Has it check: nothing that is enqueued to a paused pool does.
    await repair(app);
    await app.driveOut();
    expect(sweeps(app)).toBe(2);
    expect(await app.leftovers()).toMatchObject({ waiting: 20, scheduled: 0 });
  });

  test(
    "takes no more of them than for works that are enqueued when they are due",
    { tags: ["large"] },
    async () => {
      const [atOnce, before] = [new TestApp(), new TestApp()];
      for (let i = 1; i <= 60; i++) {
        await atOnce.t.mutation((ctx) => atOnce.pool.enqueueMutation(ctx, write, { label: "a" }));
        await atOnce.drive(10 * SECOND);
      }
      await atOnce.driveOut();
      for (let i = 0; i < 60; i++) await delayed(before, 1, i * 10 * SECOND);
      await before.driveOut();
      expect(await before.labels("ended")).toHaveLength(60);
      expect(sweeps(before)).toBeLessThanOrEqual(sweeps(atOnce));
    },
  );
});

describe("a delayed work that cannot be started", () => {
  test("is set aside by the sweep or the repair that finds it, and the others start", async () => {
    const app = new TestApp();
    const value = "x".repeat(20_000);
    await app.t.mutation(async (ctx) => {
      for (const each of [value, 1, 2])
        await app.pool.enqueueAction(ctx, echo, { value: each }, { runAfter: SECOND, onComplete });
    });
    await app.inPool(async (ctx) => {
      const large = await ctx.db.query("largeValues").first();
      await ctx.db.delete("largeValues", large!._id);
    });
    await app.losePending("worker:startDue");
    await app.drive(MINUTE);
    await repair(app);
    await app.driveOut();
    expect(await app.labels("ended")).toEqual(["success", "success"]);
    expect(await app.leftovers()).toEqual({ ...NOTHING_LEFT, works: 1, setAside: 1 });
  });
});

test("slots that somebody has deleted are made again by the sweep that finds works waiting for them", async () => {
  const app = new TestApp({ maxParallelism: 3 });
  const enqueue = (label: string) =>
    app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label }));
  await enqueue("before");
  await app.driveOut();
  await app.inPool(async (ctx) => {
    for (const { _id } of await ctx.db.query("slots").collect()) await ctx.db.delete("slots", _id);
  });
  await enqueue("after");
  await app.drive(40_000);
  expect(await app.labels("write")).toEqual(["before", "after"]);
  await app.driveOut();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});
