/** @module-tag large */
import { makeFunctionReference } from "convex/server";
import { describe, expect, test, vi } from "vitest";
import { sweep } from "../src/component/watchdog.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

virtualTime();

const onComplete = internal.callbacks.ended;
const { echo, hang, sleep, write } = internal.jobs;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const retry = { maxAttempts: 2, initialBackoffMs: 100, base: 1 };

const results = async (app: TestApp) =>
  (await app.events("ended")).map((event) => event.data.result);
const slotOf = (app: TestApp, work: string) =>
  app.inPool((ctx) =>
    ctx.db
      .query("slots")
      .withIndex("by_work", (q) => q.eq("work", work))
      .first(),
  );
const enqueueHang = (app: TestApp, options = {}, times = 1) =>
  app.t.mutation((ctx) =>
    app.pool.enqueueAction(ctx, hang, { label: "a", times }, { onComplete, ...options }),
  );

describe("a running work whose scheduled function will not report", () => {
  test.each([
    ["failed", /failed/],
    ["canceled", /canceled/],
    ["gone", /gone/],
    ["success", /ended without reporting/],
  ] as const)(
    "a lost completion that leaks its slot for days: %s: is seen 30 s after its start, fails, and its slot goes on",
    async (state, why) => {
      const app = new TestApp({ maxParallelism: 1 });
      await enqueueHang(app);
      await app.t.mutation((ctx) =>
        app.pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete }),
      );
      await app.drive(5 * SECOND);
      await app.endJob(state);
      await app.drive(24 * SECOND);
      expect(await results(app)).toEqual([]);
      await app.drive(2 * SECOND);
      expect(await results(app)).toEqual([
        { kind: "failed", error: expect.stringMatching(why) },
        { kind: "success", returnValue: 1 },
      ]);
      await app.driveOut();
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("a suspect that ends before it is confirmed: what runs in its slot by then goes on", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const enqueue = (ms: number) =>
      app.t.mutation((ctx) => app.pool.enqueueAction(ctx, sleep, { label: "a", ms }));
    const first = await enqueue(SECOND);
    await app.drive(SECOND / 2);
    const { _id: slot, job } = (await slotOf(app, first))!;
    await app.drive(SECOND);
    const second = await enqueue(MINUTE);
    const recover = makeFunctionReference<"mutation">("watchdog:recover");
    expect(await app.inPool((ctx) => ctx.runMutation(recover, { slot, job }))).toBe(false);
    expect(await slotOf(app, second)).toMatchObject({ _id: slot });
  });

  test("is tried again where it may be: the loss counts as an attempt", async () => {
    const app = new TestApp();
    const id = await enqueueHang(app, { retry });
    await app.drive(SECOND);
    await app.endJob("failed");
    await app.drive(30 * SECOND);
    expect(await app.t.query((ctx) => app.pool.status(ctx, id))).toEqual({ state: "finished" });
    expect(await results(app)).toEqual([{ kind: "success", returnValue: "a" }]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("together with all others, while its slot is left to an executor that is gone: what waits starts", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    await enqueueHang(app);
    await enqueueHang(app, {}, 2);
    await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete }));
    await app.drive(28 * SECOND);
    const executor = { range: 0, asks: true, until: Date.now() + 10 * SECOND };
    await app.inPool((ctx) => ctx.db.insert("executors", executor));
    for (const { job } of await app.inPool((ctx) => ctx.db.query("slots").collect()))
      await app.setJob(job!, "gone");
    await app.driveOut();
    expect(await results(app)).toContainEqual({ kind: "success", returnValue: 1 });
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("and was canceled while it ran, has ended as canceled", async () => {
    const app = new TestApp();
    const id = await enqueueHang(app, { retry });
    await app.drive(SECOND);
    await app.t.mutation((ctx) => app.pool.cancel(ctx, id));
    await app.endJob("failed");
    await app.driveOut();
    expect(await results(app)).toEqual([{ kind: "canceled" }]);
  });

  test("reports after all when it was given up: that changes nothing", async () => {
    const app = new TestApp();
    const id = await enqueueHang(app, { retry }, 2);
    const slot = await app.inPool((ctx) =>
      ctx.db
        .query("slots")
        .withIndex("by_work", (q) => q.eq("work", id))
        .first(),
    );
    await app.drive(SECOND);
    await app.endJob("failed");
    await app.drive(35 * SECOND);
    // The second attempt runs.
    const complete = makeFunctionReference<"mutation">("complete:complete");
    const late = {
      workId: id,
      attempt: 1,
      slot: slot?._id,
      outcome: { kind: "success", returnValue: "late" },
    };
    await app.inPool((ctx) => ctx.runMutation(complete, late));
    expect(await results(app)).toEqual([]);
    expect(await app.leftovers()).toMatchObject({ works: 1, heldSlots: 1 });
  });

  test("a lost completion that leaks its slot for days: whose report cannot be taken in by any way is lost, not stuck", async () => {
    const app = new TestApp();
    const { complete } = await import("../src/component/complete.js");
    const registered = complete as unknown as { _handler: () => unknown };
    const broken = vi.spyOn(registered, "_handler").mockImplementation(() => {
      throw new Error("the completion failed");
    });
    await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete }));
    await app.drive(SECOND);
    broken.mockRestore();
    expect(await app.leftovers()).toMatchObject({ works: 1, heldSlots: 1 });
    await app.driveOut();
    expect(await results(app)).toMatchObject([{ kind: "failed" }]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("whose completion waits in the scheduler is not lost, and a cancel leaves it its result", async () => {
    const app = new TestApp();
    const id = await enqueueHang(app);
    await app.drive(SECOND);
    const slot = await slotOf(app, id);
    const later = makeFunctionReference<"mutation">("complete:completeLater");
    const outcome = { kind: "success", returnValue: "kept" };
    const ended = { workId: id, attempt: 1, slot: slot!._id, outcome };
    await app.inPool((ctx) => ctx.runMutation(later, ended));
    // The action ends, without having reported itself, and is looked at.
    await app.setJob(slot!.job!, "success");
    await app.inPool(async (ctx) => {
      const sweep = makeFunctionReference<"mutation">("watchdog:sweep");
      const generation = (await ctx.db.query("watch").first())!.generation;
      await ctx.runMutation(sweep, { generation });
    });
    await app.t.mutation((ctx) => app.pool.cancel(ctx, id));
    expect(await results(app)).toEqual([]);
    await app.driveOut();
    expect(await results(app)).toEqual([{ kind: "success", returnValue: "kept" }]);
  });

  test("soon after another that was lost is seen 30 s after the sweep that has seen that one", async () => {
    const app = new TestApp();
    const labels = ["a", "b"];
    for (const label of labels)
      await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, hang, { label }, { onComplete }));
    await app.drive(100 * SECOND);
    await app.endJob("failed");
    await app.drive(175 * SECOND);
    expect(await results(app)).toHaveLength(1);
    await app.endJob("failed");
    await app.drive(31 * SECOND);
    expect(await results(app)).toHaveLength(2);
  });

  test("a mutation's is seen 10 s after its start", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, write, { label: "w" }, { onComplete }),
    );
    await app.endJob("canceled");
    await app.drive(11 * SECOND);
    expect(await results(app)).toMatchObject([{ kind: "failed" }]);
    expect(await app.labels("write")).toEqual([]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("200 at once are all seen by one sweep", { tags: ["large"] }, async () => {
    const app = new TestApp({ maxParallelism: 200 });
    const labels = Array.from({ length: 200 }, (_, i) => ({ label: `${i}` }));
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutationBatch(ctx, write, labels, { onComplete }),
    );
    for (let i = 0; i < 200; i++)
      await app.inPool(async (ctx) => {
        const jobs = await ctx.db.system.query("_scheduled_functions").collect();
        const job = jobs.find(
          (job) => job.name === "worker:runMutation" && job.state.kind === "pending",
        );
        if (job !== undefined) await ctx.scheduler.cancel(job._id);
      });
    await app.drive(11 * SECOND);
    expect(await app.labels("ended")).toHaveLength(200);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("with large arguments are seen over several transactions", { tags: ["large"] }, async () => {
    const app = new TestApp({ maxParallelism: 24 });
    const text = "x".repeat(900_000);
    await app.t.mutation(async (ctx) => {
      for (let i = 0; i < 12; i++)
        await app.pool.enqueueAction(ctx, internal.jobs.hangWith, { text }, { onComplete });
    });
    await app.t.mutation(async (ctx) => {
      for (let i = 0; i < 12; i++)
        await app.pool.enqueueAction(ctx, internal.jobs.hangWith, { text }, { onComplete });
    });
    await app.drive(SECOND);
    await app.inPool(async (ctx) => {
      for (const slot of await ctx.db.query("slots").collect())
        await ctx.scheduler.cancel(slot.job!);
    });
    await app.drive(31 * SECOND);
    expect(await app.labels("ended")).toHaveLength(24);
    expect(
      app.counter.totals((call) => call.name === "watchdog:sweep").rootExecutions,
    ).toBeGreaterThan(1);
  });
});

describe("a work that only takes long", () => {
  test("polling that costs: is left alone, and watching it for 9 minutes takes 3 sweeps: 6 root executions in all", async () => {
    const app = new TestApp({ maxParallelism: 10 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.wait, { ms: 9 * MINUTE }, { onComplete }),
    );
    await app.driveOut();
    expect(await app.labels("ended")).toEqual(["success"]);
    expect(sweeps(app)).toBe(3);
    const executed = app.counter.totals((call) => call.name !== "inline").rootExecutions;
    expect(executed).toBe(6);
  });

  test("for 30 minutes takes at most 6 sweeps", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.wait, { ms: 30 * MINUTE }),
    );
    await app.driveOut();
    expect(sweeps(app)).toBeLessThanOrEqual(6);
    expect(sweeps(app)).toBeGreaterThanOrEqual(4);
  });

  test("a busy pool of short works is not looked at more often", { tags: ["large"] }, async () => {
    const app = new TestApp({ maxParallelism: 2 });
    for (let i = 0; i < 180; i++) {
      await app.t.mutation((ctx) =>
        app.pool.enqueueAction(ctx, internal.jobs.wait, { ms: 15 * SECOND }),
      );
      await app.drive(10 * SECOND);
    }
    expect(sweeps(app)).toBeLessThanOrEqual(6);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("in the scheduler, as nothing has begun it, is not lost either", async () => {
    const app = new TestApp();
    const id = await enqueueHang(app);
    await app.drive(SECOND);
    await app.inPool(async (ctx) => {
      const slot = await ctx.db
        .query("slots")
        .withIndex("by_work", (q) => q.eq("work", id))
        .first();
      const anything = makeFunctionReference<"mutation">("watchdog:sweep");
      await ctx.db.patch("slots", slot!._id, {
        job: await ctx.scheduler.runAfter(60 * MINUTE, anything, { generation: 0 }),
      });
    });
    await app.drive(30 * MINUTE);
    expect(await results(app)).toEqual([]);
    expect(await app.leftovers()).toMatchObject({ heldSlots: 1 });
  });
});

const sweeps = (app: TestApp) =>
  app.counter.totals((call) => call.name === "watchdog:sweep").rootExecutions;

describe("a pool that is saturated or paused", () => {
  test.each([1, 0])(
    "polling that costs: maxParallelism %i, one enqueue each 15 s for 5 minutes: at most 5 root executions",
    async (maxParallelism) => {
      const app = new TestApp({ maxParallelism });
      for (let i = 0; i < 20; i++) {
        await app.t.mutation((ctx) =>
          app.pool.enqueueAction(ctx, internal.jobs.wait, { ms: 60 * MINUTE }),
        );
        await app.drive(15 * SECOND);
      }
      const executed = app.counter.totals((call) => call.name !== "inline").rootExecutions;
      expect(executed).toBeLessThanOrEqual(maxParallelism === 0 ? 0 : 5);
    },
  );
});

describe("a work that cannot be processed", () => {
  /** The record of a waiting work whose large arguments are gone. */
  async function withBrokenRecord() {
    const app = new TestApp({ maxParallelism: 1 });
    const value = "x".repeat(20_000);
    const id = await app.t.mutation(async (ctx) => {
      await app.pool.enqueueAction(ctx, sleep, { label: "first", ms: 100 });
      const id = await app.pool.enqueueAction(ctx, echo, { value }, { onComplete });
      await app.pool.enqueueAction(ctx, sleep, { label: "third", ms: 100 });
      return id;
    });
    const kept = await app.inPool(async (ctx) => {
      const value = await ctx.db.query("largeValues").first();
      await ctx.db.delete("largeValues", value!._id);
      return value!.value;
    });
    return { app, id, kept };
  }

  test("a poison document that stops the loop for good: is set aside with its error, and the rest goes on; repaired, it can be retried", async () => {
    const { app, id, kept } = await withBrokenRecord();
    await app.drive();
    expect(await app.labels("end")).toEqual(["first", "third"]);
    const list = () => app.t.query((ctx) => ctx.runQuery(components.workpool.setAside.list, {}));
    expect(await list()).toMatchObject(
      [{ workId: id, name: "jobs:echo", error: /is gone/ }].map((row) => ({
        ...row,
        error: expect.stringMatching(row.error),
      })),
    );
    expect(await app.leftovers()).toMatchObject({
      works: 1,
      setAside: 1,
      heldSlots: 0,
      waiting: 0,
    });
    expect(await app.t.query((ctx) => app.pool.status(ctx, id))).toMatchObject({
      state: "pending",
    });
    const retryIt = () =>
      app.t.mutation((ctx) => ctx.runMutation(components.workpool.setAside.retry, { id }));
    await expect(retryIt()).rejects.toThrow("is gone");
    expect(await list()).toHaveLength(1);
    await app.inPool(async (ctx) => {
      const largeArgs = await ctx.db.insert("largeValues", { value: kept });
      await ctx.db.patch("works", ctx.db.normalizeId("works", id)!, { largeArgs });
    });
    expect(await retryIt()).toBe(true);
    expect(await retryIt()).toBe(false);
    await app.drive();
    expect(await app.labels("ended")).toEqual(["success"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("is tried as often as it may once it is retried, though it was canceled before", async () => {
    const app = new TestApp({ maxParallelism: 0 });
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(
        ctx,
        internal.jobs.flaky,
        { label: "a", succeedsAt: 2 },
        { onComplete, retry },
      ),
    );
    await app.inPool(async (ctx) => {
      const row = await ctx.db.query("waiting").first();
      await ctx.db.delete("waiting", row!._id);
      await ctx.db.insert("setAside", { work: id, error: "It could not be canceled", at: 0 });
      await ctx.db.patch("works", ctx.db.normalizeId("works", id)!, { canceled: true });
    });
    await app.t.mutation((ctx) => ctx.runMutation(components.workpool.setAside.retry, { id }));
    await app.setMaxParallelism(1);
    await app.drive();
    expect(await app.labels("ended")).toEqual(["success"]);
  });

  test("can be canceled instead", async () => {
    const { app, id } = await withBrokenRecord();
    await app.drive();
    await app.inPool((ctx) =>
      ctx.db.patch("works", ctx.db.normalizeId("works", id)!, { largeArgs: undefined }),
    );
    await app.t.mutation((ctx) => app.pool.cancel(ctx, id));
    expect(await app.labels("ended")).toEqual(["canceled"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("a poison document that stops the loop for good: as its recovery throws, is set aside: the sweep goes on with the others", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    const context = "x".repeat(20_000);
    await enqueueHang(app, { context }, 9);
    await enqueueHang(app, {}, 9);
    await app.drive(SECOND);
    await app.inPool(async (ctx) => {
      for (const slot of await ctx.db.query("slots").collect())
        await ctx.scheduler.cancel(slot.job!);
      const value = await ctx.db.query("largeValues").first();
      await ctx.db.delete("largeValues", value!._id);
    });
    await app.driveOut();
    expect(await app.labels("ended")).toEqual(["failed"]);
    expect(await app.leftovers()).toMatchObject({
      setAside: 1,
      heldSlots: 0,
      works: 1,
      scheduled: 0,
    });
  });
});

describe("a work is lost, and so are the watchdog's own functions: an ordinary day finds it", () => {
  /** The next `count` sweeps, the ones in reserve too, fail uncatchably. */
  const sweepsFail = (count: number) => {
    const spy = vi.spyOn(sweep as unknown as { _handler: () => Promise<null> }, "_handler");
    for (let i = 0; i < count; i++) spy.mockRejectedValueOnce(new Error("out of time"));
  };
  const faults: Record<string, (app: TestApp) => Promise<unknown> | void> = {
    "a sweep fails": () => sweepsFail(1),
    "a sweep and the one in reserve fail": () => sweepsFail(2),
    "four in a row fail": () => sweepsFail(4),
    "a restore from a backup brings no scheduled function back": (app) =>
      app.inPool(async (ctx) => {
        const system = ctx.db as unknown as { delete(table: string, id: string): Promise<void> };
        for (const job of await ctx.db.system.query("_scheduled_functions").collect())
          await system.delete("_scheduled_functions", job._id);
      }),
  };
  test.each(Object.keys(faults))("%s", async (fault) => {
    const app = new TestApp({ maxParallelism: 3 });
    await enqueueHang(app);
    await app.drive(SECOND);
    await app.endJob("failed");
    await faults[fault]!(app);
    for (let i = 0; i < 6; i++) {
      await app.drive(10 * MINUTE);
      await app.t.mutation((ctx) =>
        app.pool.enqueueAction(ctx, internal.jobs.wait, { ms: SECOND }),
      );
    }
    await app.driveOut();
    expect(await app.labels("ended")).toEqual(["failed"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe("what is scheduled besides", () => {
  test("the watchdog's own sweep that was canceled is scheduled again by whoever joins the queue", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await enqueueHang(app);
    await app.drive(SECOND);
    await app.endJob("failed");
    await app.inPool(async (ctx) => {
      const watch = await ctx.db.query("watch").first();
      await ctx.scheduler.cancel(watch!.job!);
      await ctx.scheduler.cancel(watch!.reserve!);
    });
    await app.drive(5 * MINUTE);
    expect(await app.labels("ended")).toEqual([]);
    await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete }));
    await app.drive(SECOND);
    expect(await app.labels("ended")).toEqual(["failed", "success"]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("the watchdog's sweep and the one in reserve, both lost, are made up for by what else it is to look after", async () => {
    const app = new TestApp({ maxParallelism: 3 });
    await enqueueHang(app);
    await app.drive(SECOND);
    await app.endJob("failed");
    await app.losePending("watchdog:sweep");
    await app.drive(5 * MINUTE);
    expect(await app.labels("ended")).toEqual([]);
    await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 1 }));
    await app.drive(SECOND);
    expect(await app.labels("ended")).toEqual(["failed"]);
  });

  test("the watchdog's sweep and the one in reserve, both lost in a paused pool, come back when it is resumed", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    await enqueueHang(app);
    await app.drive(SECOND);
    await app.endJob("failed");
    await app.setMaxParallelism(0);
    await app.losePending("watchdog:sweep");
    await app.drive(5 * MINUTE);
    expect(await app.labels("ended")).toEqual([]);
    await app.setMaxParallelism(2);
    await app.drive(SECOND);
    expect(await app.labels("ended")).toEqual(["failed"]);
  });

  test.each(["is canceled", "is gone", "throws"] as const)(
    "the watchdog's own sweep that %s is made up for by the one in reserve, a minute later",
    async (how) => {
      const app = new TestApp({ maxParallelism: 1 });
      await enqueueHang(app);
      await app.drive(SECOND);
      await app.endJob("failed");
      const watch = await app.inPool((ctx) => ctx.db.query("watch").first());
      if (how === "throws") {
        const registered = sweep as unknown as { _handler: () => Promise<null> };
        vi.spyOn(registered, "_handler").mockRejectedValueOnce(new Error("it throws"));
      } else await app.setJob(watch!.job!, how === "is gone" ? "gone" : "canceled");
      await app.drive(88 * SECOND);
      expect(await app.labels("ended")).toEqual([]);
      await app.drive(3 * SECOND);
      expect(await app.labels("ended")).toEqual(["failed"]);
      await app.driveOut();
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test(
    "one sweep is scheduled at most, and one in reserve, whatever comes and goes",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 3 });
      for (let i = 0; i < 30; i++) {
        await app.t.mutation((ctx) =>
          app.pool.enqueueAction(ctx, internal.jobs.wait, { ms: (i % 7) * SECOND }),
        );
        await app.drive(((i * 13) % 11) * SECOND);
        const scheduled = await app.inPool(async (ctx) =>
          (await ctx.db.system.query("_scheduled_functions").collect()).filter(
            (job) => job.name === "watchdog:sweep" && job.state.kind === "pending",
          ),
        );
        const reserve = scheduled.filter((job) => job.args[0].reserve === true);
        expect(reserve.length).toBeLessThanOrEqual(1);
        expect(scheduled.length - reserve.length).toBeLessThanOrEqual(1);
      }
    },
  );
});
