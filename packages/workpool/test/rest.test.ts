import { describe, expect, test } from "vitest";
import { enqueueSettling } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { loggedEvents, watchLog } from "./logged.js";

/*
 * A work that is alone in the pool takes the watchdog's last sweep along as it ends: so to its rest
 * it costs what it costs to its end.
 */

virtualTime();
watchLog();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const onComplete = internal.callbacks.ended;
const { echo, hang, wait, write } = internal.jobs;

const roots = (app: TestApp) => app.counter.totals((call) => call.name !== "inline").rootExecutions;
const sweeps = (app: TestApp) =>
  app.counter.totals((call) => call.name === "watchdog:sweep").rootExecutions;
const watchOf = (app: TestApp) => app.inPool((ctx) => ctx.db.query("watch").first());
const nextSweep = (app: TestApp) =>
  app.inPool(async (ctx) => {
    const watch = await ctx.db.query("watch").first();
    return watch?.job === undefined ? null : watch.at;
  });
const enqueueWait = (app: TestApp, ms: number) =>
  app.t.mutation((ctx) => app.pool.enqueueAction(ctx, wait, { ms }, { onComplete }));

describe("to its rest, in root executions, a work that is alone", () => {
  test.each<[string, number, number, (app: TestApp) => Promise<unknown>]>([
    [
      "an action takes 3",
      3,
      10,
      (app) => app.t.mutation((ctx) => app.pool.enqueueAction(ctx, echo, { value: 1 })),
    ],
    [
      "a mutation takes 1",
      1,
      10,
      (app) => app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label: "w" })),
    ],
    [
      "an action that settles itself takes 2",
      2,
      10,
      (app) =>
        app.t.mutation((ctx) =>
          enqueueSettling(components.workpool, ctx, "action", internal.settlers.act, [
            { label: "s" },
          ]),
        ),
    ],
    [
      "an action of 9 minutes takes 6, in a pool of 10",
      6,
      10,
      (app) => enqueueWait(app, 9 * MINUTE),
    ],
    ["an action of 9 minutes takes 6, in a pool of 1", 6, 1, (app) => enqueueWait(app, 9 * MINUTE)],
  ])("%s", async (_, most, maxParallelism, enqueue) => {
    const app = new TestApp();
    await app.setMaxParallelism(maxParallelism);
    for (let i = 0; i < 3; i++) {
      app.counter.clear();
      await enqueue(app);
      await app.driveOut();
      expect(roots(app)).toBe(most);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
      expect(await app.gateIsOpen()).toBe(true);
      expect(await watchOf(app)).toMatchObject({ watched: false });
      // An hour later again.
      await app.drive(60 * MINUTE);
      expect(roots(app)).toBe(most);
    }
  });
});

describe("a work that is alone", () => {
  test("has its end reported as it comes", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label: "w" }));
    await app.driveOut();
    expect(sweeps(app)).toBe(0);
    expect(loggedEvents("report")).toMatchObject([{ completed: 1, succeeded: 1, running: 0 }]);
  });

  test(
    "does so once a minute: of those that follow each other closely, the last sweep is the watchdog's own",
    { tags: ["large"] },
    async () => {
      const app = new TestApp();
      const works = 60;
      let flips = 0;
      let watched = (await watchOf(app))?.watched;
      for (let i = 0; i < works; i++) {
        await enqueueWait(app, 100);
        for (const ms of [50, 1_950]) {
          await app.drive(ms);
          const now = (await watchOf(app))?.watched;
          if (now !== watched) flips += 1;
          watched = now;
        }
      }
      // In 2 minutes: off by an end at most 3 times, and by a check at most each 30 s.
      expect(flips).toBeLessThanOrEqual(2 * (3 + 4));
      expect(sweeps(app)).toBeLessThanOrEqual(4);
      await app.driveOut();
      expect(await app.labels("ended")).toHaveLength(works);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("is watched anew after it: one that is lost then is seen 30 s after its start", async () => {
    const app = new TestApp();
    await enqueueWait(app, 100);
    await app.drive(10 * SECOND);
    expect(await nextSweep(app)).toBeNull();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, hang, { label: "a" }, { onComplete }),
    );
    await app.drive(SECOND);
    await app.endJob("failed");
    await app.drive(28 * SECOND);
    expect(await app.labels("ended")).toEqual(["success"]);
    await app.drive(2 * SECOND);
    expect(await app.labels("ended")).toEqual(["success", "failed"]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe("the watchdog stays on at the end of the work that turned it on", () => {
  test("while another runs: that one is watched", async () => {
    const app = new TestApp();
    await enqueueWait(app, 100);
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, hang, { label: "a" }, { onComplete }),
    );
    await app.drive(SECOND);
    expect(await nextSweep(app)).not.toBeNull();
    await app.endJob("failed");
    await app.drive(30 * SECOND);
    expect(await app.labels("ended")).toEqual(["success", "failed"]);
  });

  test("where its callback enqueues another", async () => {
    const app = new TestApp();
    const { again } = internal.callbacks;
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, write, { label: "first" }, { onComplete: again }),
    );
    await app.drive(10);
    expect(await app.labels("write")).toHaveLength(2);
    expect(await nextSweep(app)).not.toBeNull();
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("where a delayed work is due soon, or late: it is started, if nothing else does it", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, write, { label: "late" }, { runAfter: SECOND, onComplete }),
    );
    await app.losePending("worker:startDue");
    await app.drive(SECOND);
    await enqueueWait(app, 100);
    await app.drive(90 * SECOND);
    expect(await app.labels("ended")).toEqual(["success", "success"]);
  });

  test("where something goes on in pages", async () => {
    const app = new TestApp();
    const labels = Array.from({ length: 30 }, (_, i) => ({ label: `${i}` }));
    await enqueueWait(app, 100);
    await app.drive(50);
    await app.t.mutation(async (ctx) => {
      await app.pool.enqueueMutationBatch(ctx, write, labels, { runAfter: 3_600 * SECOND });
      await app.pool.cancelAll(ctx, { limit: 10 });
    });
    expect(await app.losePending("cancelAll:nextPage")).toBe(1);
    await app.drive(31 * SECOND);
    expect(await app.leftovers()).toMatchObject({ works: 0, scheduled: 0, continuations: 0 });
  });

  test("where works were enqueued together: they share one last sweep", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, echo, [{ value: 1 }, { value: 2 }]),
    );
    await app.driveOut();
    expect(sweeps(app)).toBe(1);
  });
});
