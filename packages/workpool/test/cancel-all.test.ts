import { describe, expect, test, vi } from "vitest";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";

virtualTime();

const onComplete = internal.callbacks.ended;
const { flaky, sleep, write } = internal.jobs;
const cancelAll = (app: TestApp, limit?: number) =>
  app.t.mutation((ctx) => app.pool.cancelAll(ctx, limit === undefined ? {} : { limit }));
const sleeps = (n: number, ms = 1_000) =>
  Array.from({ length: n }, (_, i) => ({ label: `${i}`, ms }));

async function kinds(app: TestApp) {
  const count: Record<string, number> = {};
  for (const kind of await app.labels("ended")) count[kind] = (count[kind] ?? 0) + 1;
  return count;
}

describe("cancelAll", () => {
  test.each([1, 3, 100])(
    "with pages of %i it comes to its end, and misses no work",
    async (limit) => {
      const app = new TestApp({ maxParallelism: 2 });
      await app.t.mutation(async (ctx) => {
        await app.pool.enqueueActionBatch(ctx, sleep, sleeps(9), { onComplete });
        await app.pool.enqueueActionBatch(ctx, sleep, sleeps(3), { onComplete, runAfter: 5_000 });
      });
      await app.drive(100);
      app.counter.clear();
      await cancelAll(app, limit);
      await app.drive(500);
      // Two run, and go on to their end.
      expect(await kinds(app)).toEqual({ canceled: 10 });
      // The last page finds that nothing is left.
      const pages = app.counter.totals((call) => call.name === "cancelAll:nextPage").executions;
      expect(pages).toBe(Math.floor(12 / limit));
      await app.drive();
      expect(await kinds(app)).toEqual({ canceled: 10, success: 2 });
      expect(await app.labels("start")).toHaveLength(2);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("cancelAll({ limit: 1 }) that never ends: a page of 1 ends also where all works run, and none of them can be ended", async () => {
    const app = new TestApp({ maxParallelism: 5 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, sleep, sleeps(5), { onComplete }),
    );
    await app.drive(100);
    await cancelAll(app, 1);
    await app.drive();
    expect(await kinds(app)).toEqual({ success: 5 });
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("works of the transaction that calls it are among them", async () => {
    const app = new TestApp();
    await app.t.mutation(async (ctx) => {
      await app.pool.enqueueMutationBatch(
        ctx,
        write,
        Array.from({ length: 5 }, (_, i) => ({ label: `${i}` })),
        { onComplete },
      );
      await app.pool.cancelAll(ctx);
    });
    await app.drive();
    expect(await app.labels("write")).toEqual([]);
    expect(await kinds(app)).toEqual({ canceled: 5 });
  });

  test.each([
    ["at once", 0],
    ["one after another", 100],
  ])(
    "[S237] after the clock went back, works from before that are among them, and later ones are not: enqueued %s",
    async (_how, betweenMs) => {
      const app = new TestApp({ maxParallelism: 0 });
      const enqueue = async (label: string) =>
        await app.t.mutation((ctx) =>
          app.pool.enqueueMutation(ctx, write, { label }, { onComplete }),
        );
      for (const label of ["a", "b", "c"]) {
        await enqueue(label);
        await app.drive(betweenMs);
      }
      await app.drive(1_000);
      vi.setSystemTime(Date.now() - 3_600_000);
      await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 1 }));
      await enqueue("late");
      await app.drive();
      expect(await kinds(app)).toEqual({ canceled: 3 });
      expect(await app.leftovers()).toMatchObject({ works: 1, waiting: 1 });
    },
  );

  test("what is enqueued after it was called is left alone, by callbacks in its own pages too", async () => {
    const app = new TestApp({ maxParallelism: 0 });
    const { again } = internal.callbacks;
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutationBatch(
        ctx,
        write,
        Array.from({ length: 6 }, (_, i) => ({ label: `${i}` })),
        { onComplete: again },
      ),
    );
    await app.t.mutation(async (ctx) => {
      await app.pool.cancelAll(ctx, { limit: 2 });
      await app.pool.enqueueMutation(ctx, write, { label: "late" });
    });
    await app.drive();
    expect(await app.leftovers()).toMatchObject({ works: 7, waiting: 7 });
    await app.setMaxParallelism(5);
    await app.drive();
    expect((await app.labels("write")).sort()).toEqual(["late", ...Array(6).fill("renewed")]);
  });

  test("a work that runs, and fails with attempts left, is not tried again", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, flaky, { label: "a", ms: 100 }, { retry: true, onComplete }),
    );
    await app.drive(50);
    await cancelAll(app);
    await app.drive();
    expect(await kinds(app)).toEqual({ canceled: 1 });
    expect(await app.labels("attempt")).toHaveLength(1);
  });

  test(
    "a page ends early where its callbacks need much of the transaction, and none of them fails",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 0 });
      // Each callback writes 3,000 of the 16,000 documents that a transaction may write.
      const { writesMuch } = internal.callbacks;
      await app.t.mutation((ctx) =>
        app.pool.enqueueMutationBatch(
          ctx,
          write,
          Array.from({ length: 12 }, (_, i) => ({ label: `${i}` })),
          { onComplete: writesMuch },
        ),
      );
      await cancelAll(app);
      await app.drive();
      expect(await app.inPool((ctx) => ctx.db.query("failedCallbacks").collect())).toEqual([]);
      const wrote = await app.t.run((ctx) =>
        ctx.db
          .query("events")
          .withIndex("by_label", (q) => q.eq("label", "wrote much"))
          .collect(),
      );
      expect(wrote).toHaveLength(12);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test(
    "more works than one transaction can cancel are canceled, within the limits of each transaction",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 0 });
      await app.t.mutation((ctx) =>
        app.pool.enqueueMutationBatch(
          ctx,
          write,
          Array.from({ length: 1_200 }, (_, i) => ({ label: `${i}` })),
        ),
      );
      await cancelAll(app, 1_000);
      await app.drive();
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
      expect(app.counter.violations).toEqual([]);
    },
  );

  test("a page size that cannot be meant is refused", async () => {
    const app = new TestApp();
    for (const limit of [0, -1, 1.5, 1_001, NaN])
      await expect(cancelAll(app, limit)).rejects.toThrow(`cancelAll: limit is ${limit}`);
  });

  test("on a pool that nothing was ever enqueued to it does nothing", async () => {
    const app = new TestApp();
    await cancelAll(app);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});
