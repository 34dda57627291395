import { describe, expect, test } from "vitest";
import type { WorkId } from "../src/client/index.js";
import { TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { loggedEvents, watchLog } from "./logged.js";

virtualTime();
watchLog();

const { flaky, sleep, write } = internal.jobs;
const MINUTE = 60_000;
const sleeps = (n: number, ms: number) =>
  Array.from({ length: n }, (_, i) => ({ label: `${i}`, ms }));
const reports = () => loggedEvents("report");
const enqueueSleeps = (app: TestApp, n: number, ms: number) =>
  app.t.mutation((ctx) => app.pool.enqueueActionBatch(ctx, sleep, sleeps(n, ms)));

describe("the report", () => {
  test(
    "comes once a minute while works end, and says what has ended in it",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 2 });
      const start = Date.now();
      await enqueueSleeps(app, 100, 5_000);
      await app.drive(4 * MINUTE);
      // 2 works each 5 s.
      const ats = reports().map((report) => Number(report.at) - start);
      expect(ats.length).toBeGreaterThanOrEqual(3);
      for (const [i, at] of ats.entries()) {
        const since = ats[i - 1] ?? 0;
        expect(at - since).toBeGreaterThanOrEqual(MINUTE);
        expect(at - since).toBeLessThanOrEqual(MINUTE + 10_000);
      }
      expect(reports()[2]).toMatchObject({
        component: "workpool",
        failed: 0,
        retries: 0,
        canceled: 0,
        running: 2,
        failureRate: 0,
        maxParallelism: 2,
      });
      expect(Number(reports()[2]?.completed)).toBeGreaterThanOrEqual(22);
      expect(Number(reports()[2]?.completed)).toBeLessThanOrEqual(26);
    },
  );

  test("counts every end once, by its kind, with and without a slot", async () => {
    const app = new TestApp({ maxParallelism: 4 });
    const retry = { maxAttempts: 2, initialBackoffMs: 10, base: 1 };
    await app.t.mutation(async (ctx) => {
      for (let i = 0; i < 5; i++) await app.pool.enqueueMutation(ctx, write, { label: "w" });
      await app.pool.enqueueMutation(ctx, write, { label: "w", fails: true });
      await app.pool.enqueueAction(ctx, flaky, { label: "never" }, { retry });
      await app.pool.enqueueAction(ctx, flaky, { label: "second", succeedsAt: 2 }, { retry });
      const ids: WorkId[] = [];
      for (let i = 0; i < 3; i++)
        ids.push(await app.pool.enqueueAction(ctx, sleep, { label: "", ms: 1 }, { runAfter: 99 }));
      for (const id of ids) await app.pool.cancel(ctx, id);
    });
    await app.drive(30_000);
    await app.drive();
    const view = await app.t.query((ctx) => ctx.runQuery(components.workpool.views.summary, {}));
    const counted = { succeeded: 6, failed: 2, retries: 2, canceled: 3 };
    const sum = (["succeeded", "failed", "retries", "canceled"] as const).map((what) => [
      what,
      view.sinceReport[what] + reports().reduce((all, report) => all + Number(report[what]), 0),
    ]);
    expect(Object.fromEntries(sum)).toEqual(counted);
  });

  test("its rates are shares of what ended by itself: attempts, and works", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const retry = { maxAttempts: 2, initialBackoffMs: 10, base: 1 };
    await app.t.mutation(async (ctx) => {
      for (let i = 0; i < 2; i++) await app.pool.enqueueMutation(ctx, write, { label: "w" });
      await app.pool.enqueueAction(ctx, flaky, { label: "never" }, { retry });
      await app.pool.enqueueMutation(ctx, write, { label: "later" }, { runAfter: 2 * MINUTE });
    });
    await app.driveOut();
    const total = (what: string) => reports().reduce((all, each) => all + Number(each[what]), 0);
    expect([total("succeeded"), total("failed"), total("retries")]).toEqual([3, 1, 1]);
    const first = reports()[0];
    // Of 4 attempts 2 failed; of 3 works 1.
    expect(first).toMatchObject({ failureRate: 2 / 4, permanentFailureRate: 1 / 3 });
  });

  test(
    "no work pays for it: no function runs for it, and no end writes more than work, slot and queue",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 10 });
      await enqueueSleeps(app, 600, 2_500);
      await app.drive(2.4 * MINUTE);
      expect(reports().length).toBeGreaterThanOrEqual(2);
      const ends = await app.labels("end");
      expect(ends.length).toBeGreaterThan(500);
      const named = (name: string) => app.counter.calls.filter((call) => call.name === name);
      const written = [...named("complete:complete"), ...named("complete:completeTogether")]
        .map((call) => call.total.documentsWritten)
        .reduce((sum, documents) => sum + documents);
      // And the reports, the gate, and once per executor who it is.
      const others = reports().length + 2 + 2 * named("executor:execute").length;
      expect(written).toBeLessThanOrEqual(3 * ends.length + others);
      const roots = app.counter.byFunction(
        (call) => call.parent === undefined && call.name !== "inline",
      );
      expect(new Set(roots.map((row) => row.name))).toEqual(
        new Set(["watchdog:sweep", "watchdog:drainQueue", "executor:execute"]),
      );
    },
  );

  test(
    "is not logged above its level, but its counts are kept for the views",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 2, logLevel: "WARN" });
      await enqueueSleeps(app, 60, 5_000);
      await app.drive(2.2 * MINUTE);
      expect(reports()).toEqual([]);
      const view = await app.t.query((ctx) => ctx.runQuery(components.workpool.views.summary, {}));
      expect(view.lastReport?.succeeded).toBeGreaterThan(10);
    },
  );

  test("an idle pool makes none", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label: "w" }));
    await app.driveOut();
    const before = reports().length;
    await app.drive(10 * MINUTE);
    expect(reports()).toHaveLength(before);
  });
});

describe("a pool that makes no progress", () => {
  test("a stall that nothing reports: is warned of: works wait, and none has got a slot for minutes", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await enqueueSleeps(app, 3, 20 * MINUTE);
    await app.drive(19 * MINUTE);
    const [first] = loggedEvents("stalled");
    expect(first).toMatchObject({ component: "workpool", running: 1, backlog: 2 });
    expect(Number(first?.longestRunMs)).toBeGreaterThanOrEqual(2 * MINUTE);
    expect(console.warn).toHaveBeenCalledWith(expect.stringContaining('"event":"stalled"'));
  });

  test.each([
    ["nobody waits", 1, 1],
    ["there is a slot for all", 3, 3],
  ])("is not warned of where %s", async (_, maxParallelism, works) => {
    const app = new TestApp({ maxParallelism });
    await enqueueSleeps(app, works, 20 * MINUTE);
    await app.drive(19 * MINUTE);
    expect(loggedEvents("stalled")).toEqual([]);
  });

  test("is not warned of where works only take their turns", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await enqueueSleeps(app, 12, MINUTE);
    await app.drive(11 * MINUTE);
    expect(loggedEvents("stalled")).toEqual([]);
  });

  test("is not warned of where it is paused", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await enqueueSleeps(app, 3, 15 * MINUTE);
    await app.setMaxParallelism(0);
    await app.drive(30 * MINUTE);
    expect(loggedEvents("stalled")).toEqual([]);
  });
});
