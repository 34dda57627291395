import { describe, expect, test, vi } from "vitest";
import { cancelGroup, enqueueGroup, type GroupOptions, groupStatus } from "../src/client/index.js";
import { mostAtOnce, NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

virtualTime();

const onDone = internal.callbacks.groupDone;
const onEach = internal.callbacks.ended;
const { sleep, flaky, write } = internal.jobs;
const { workpool } = components;

const sleeps = (n: number, ms = 100) =>
  Array.from({ length: n }, (_, i) => ({ label: `${i}`, ms }));
const enqueue = (app: TestApp, n: number, options: GroupOptions = {}, ms = 100) =>
  app.t.mutation((ctx) =>
    enqueueGroup(workpool, ctx, "action", sleep, sleeps(n, ms), { onDone, ...options }),
  );
const done = async (app: TestApp) => (await app.events("done")).map((event) => event.data.result);
/** Of `n` mutations those fail whose places are given. */
const mutations = (app: TestApp, n: number, failing: number[], options: GroupOptions = {}) =>
  app.t.mutation((ctx) =>
    enqueueGroup(
      workpool,
      ctx,
      "mutation",
      write,
      Array.from({ length: n }, (_, i) => ({ label: `${i}`, fails: failing.includes(i) })),
      { onDone, ...options },
    ),
  );

async function poolOf(maxParallelism: number): Promise<TestApp> {
  const app = new TestApp();
  await app.setMaxParallelism(maxParallelism);
  return app;
}

describe("a group", () => {
  test("calls back once, when its last member has ended", async () => {
    const app = await poolOf(4);
    const started = Date.now();
    const groupId = await enqueue(app, 10, { context: { batch: 1 } });
    expect(await app.t.query((ctx) => groupStatus(workpool, ctx, groupId))).toEqual({
      state: "running",
      total: 10,
      canceling: false,
    });
    await app.drive();
    expect(await app.events("done")).toMatchObject([
      {
        data: {
          groupId,
          context: { batch: 1 },
          result: { kind: "success", total: 10, succeeded: 10, failed: 0, canceled: 0 },
        },
      },
    ]);
    expect((await app.events("done"))[0]!.at).toBeGreaterThanOrEqual(started + 100);
    expect(await app.t.query((ctx) => groupStatus(workpool, ctx, groupId))).toEqual({
      state: "finished",
    });
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test.each([1, 3, 7])(
    "runs %i members at once, as it was told, and leaves the rest of the pool to others",
    async (concurrency) => {
      const app = new TestApp();
      await app.setMaxParallelism(20);
      const started = Date.now();
      await enqueue(app, 20, { concurrency });
      await app.t.mutation((ctx) =>
        app.pool.enqueueAction(ctx, internal.jobs.wait, { ms: 1 }, { onComplete: onEach }),
      );
      await app.drive();
      expect(mostAtOnce(await app.events())).toBe(concurrency);
      expect((await app.events("ended"))[0]!.at - started).toBeLessThan(10);
      // A seat that is given up is taken at once.
      expect(Date.now() - started).toBe(Math.ceil(20 / concurrency) * 100);
      expect(await done(app)).toHaveLength(1);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("of nothing is done at once", async () => {
    const app = new TestApp();
    await enqueue(app, 0);
    expect(await done(app)).toEqual([
      { kind: "success", total: 0, succeeded: 0, failed: 0, canceled: 0 },
    ]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("by default the first failure cancels the rest; what runs goes on, and then it calls back", async () => {
    const app = await poolOf(3);
    await app.t.mutation((ctx) =>
      enqueueGroup(
        workpool,
        ctx,
        "action",
        flaky,
        Array.from({ length: 80 }, (_, i) => ({
          label: `${i}`,
          ms: i === 1 ? 50 : 200,
          ...(i === 1 ? {} : { succeedsAt: 1 }),
        })),
        { onDone, onEach },
      ),
    );
    await app.drive(150);
    expect(await done(app)).toEqual([]);
    expect(await app.leftovers()).toMatchObject({ works: 2 });
    await app.drive();
    expect(await done(app)).toEqual([
      {
        kind: "failed",
        error: "attempt 1 failed",
        total: 80,
        succeeded: 2,
        failed: 1,
        canceled: 77,
      },
    ]);
    expect(await app.labels("ended")).toHaveLength(80);
    expect(await app.labels("attempt")).toHaveLength(3);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test.each([
    [2, [3, 5], "success", 20],
    [2, [3, 5, 9], "failed", undefined],
    ["all", [0, 1, 2, 3, 4], "success", 20],
  ] as const)(
    "tolerating %s failures, of 20 members %j fail: %s",
    async (tolerate, failing, kind, ran) => {
      const app = await poolOf(1);
      await mutations(app, 20, [...failing], { tolerate });
      await app.drive();
      const [result, ...more] = await done(app);
      expect(more).toEqual([]);
      expect(result).toMatchObject({ kind, total: 20, failed: failing.length });
      expect(result.succeeded + result.failed + result.canceled).toBe(20);
      if (ran !== undefined) expect(result.canceled).toBe(0);
      else expect(result.canceled).toBe(10);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("is not done before its last member, nor runs too many, where the stale snapshot shows none of its members", async () => {
    const { look } = await import("../src/component/members.js");
    const registered = look as unknown as { _handler: () => unknown };
    vi.spyOn(registered, "_handler").mockImplementation(() => ({ standing: [], seated: [] }));
    const app = await poolOf(10);
    await enqueue(app, 20, { concurrency: 3 });
    await app.drive();
    expect(mostAtOnce(await app.events())).toBe(3);
    expect(await done(app)).toMatchObject([{ kind: "success", succeeded: 20 }]);
    expect((await app.events()).at(-1)).toMatchObject({ what: "done" });
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("a member's retry keeps its seat, and only its last failure counts", async () => {
    const app = new TestApp();
    const retryBehavior = { maxAttempts: 2, initialBackoffMs: 100, base: 1 };
    await app.t.mutation((ctx) =>
      enqueueGroup(
        workpool,
        ctx,
        "action",
        flaky,
        [
          { label: "a", succeedsAt: 2 },
          { label: "b", succeedsAt: 1 },
        ],
        {
          onDone,
          retryBehavior,
          concurrency: 1,
        },
      ),
    );
    await app.drive();
    expect(await app.labels("attempt")).toEqual(["a", "a", "b"]);
    expect(await done(app)).toMatchObject([{ kind: "success", succeeded: 2 }]);
  });

  test("is canceled: what has not begun never starts, and it calls back when the last has ended", async () => {
    const app = await poolOf(2);
    const group = await enqueue(app, 30, { concurrency: 4 });
    await app.drive(50);
    await app.t.mutation((ctx) => cancelGroup(workpool, ctx, group));
    await app.t.mutation((ctx) => cancelGroup(workpool, ctx, group));
    expect(await done(app)).toEqual([]);
    await app.drive();
    expect(await done(app)).toEqual([
      { kind: "canceled", total: 30, succeeded: 2, failed: 0, canceled: 28 },
    ]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("is canceled with nothing running: it calls back at once", async () => {
    const app = await poolOf(0);
    const group = await enqueue(app, 5, { concurrency: 2 });
    await app.t.mutation((ctx) => cancelGroup(workpool, ctx, group));
    expect(await done(app)).toMatchObject([{ kind: "canceled", canceled: 5 }]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("a member that was lost is one that failed", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      enqueueGroup(
        workpool,
        ctx,
        "action",
        internal.jobs.hang,
        [
          { label: "a", times: 1 },
          { label: "a", times: 0 },
        ],
        { onDone, tolerate: "all", concurrency: 1 },
      ),
    );
    await app.drive(1_000);
    await app.endJob("failed");
    await app.driveOut();
    expect(await done(app)).toEqual([
      { kind: "success", total: 2, succeeded: 1, failed: 1, canceled: 0 },
    ]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[POOL 5] a poison document that stops the loop for good: a member that cannot be started as its seat is given to it is set aside, and the seat goes on", async () => {
    const app = await poolOf(3);
    const large = "x".repeat(20_000);
    const jobs = [0, large, large, 3, 4].map((value) => ({ value }));
    await app.t.mutation((ctx) =>
      enqueueGroup(workpool, ctx, "action", internal.jobs.echo, jobs, {
        onDone,
        onEach,
        concurrency: 1,
      }),
    );
    const broken = await app.inPool(async (ctx) => {
      const values = await ctx.db.query("largeValues").collect();
      for (const value of values) await ctx.db.delete("largeValues", value._id);
      return values.map((value) => value.value);
    });
    await app.drive();
    expect(await app.labels("ended")).toEqual(["success", "success", "success"]);
    expect(await done(app)).toEqual([]);
    expect(await app.leftovers()).toEqual({ ...NOTHING_LEFT, works: 2, setAside: 2, groups: 1 });
    // Repaired, they are retried, and then the group is done.
    const list = await app.t.query((ctx) => ctx.runQuery(workpool.setAside.list, {}));
    for (const { workId } of list) {
      await app.inPool(async (ctx) => {
        const largeArgs = await ctx.db.insert("largeValues", { value: broken[0] });
        await ctx.db.patch("works", ctx.db.normalizeId("works", workId)!, { largeArgs });
      });
      await app.t.mutation((ctx) => ctx.runMutation(workpool.setAside.retry, { id: workId }));
    }
    await app.driveOut();
    expect(await done(app)).toMatchObject([{ kind: "success", total: 5, succeeded: 5 }]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("its callback throws: the group is done all the same, and the error is kept", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      enqueueGroup(workpool, ctx, "mutation", write, [{ label: "a" }], {
        // Its arguments are others, so that it throws.
        onDone: internal.callbacks.throwing as unknown as typeof onDone,
      }),
    );
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    expect(await app.inPool((ctx) => ctx.db.query("failedCallbacks").collect())).toHaveLength(1);
  });

  test("whose members settle themselves takes 2.2 root executions a member at most, and no seat is left free", async () => {
    const app = await poolOf(10);
    await app.setMaxParallelism(10);
    app.counter.clear();
    await app.t.mutation((ctx) =>
      enqueueGroup(
        workpool,
        ctx,
        "action",
        internal.settlers.act,
        Array.from({ length: 200 }, (_, i) => ({ label: `${i}` })),
        {
          onDone,
          settles: true,
          concurrency: 5,
        },
      ),
    );
    await app.drive();
    expect(await app.labels("settled")).toHaveLength(200);
    expect(await done(app)).toMatchObject([{ kind: "success", succeeded: 200 }]);
    const executed = app.counter.totals((call) => call.name !== "inline").rootExecutions;
    expect(executed).toBeLessThanOrEqual(440);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("with more than one call can carry comes in pages, and its members in order", async () => {
    const app = await poolOf(1);
    const text = "x".repeat(900_000);
    const argsList = Array.from({ length: 20 }, (_, i) => ({ label: `${i}`, text }));
    await app.t.action((ctx) =>
      enqueueGroup(workpool, ctx, "mutation", write, argsList, { onDone, concurrency: 3 }),
    );
    expect(app.counter.totals((call) => call.name === "groups:add").executions).toBe(2);
    await app.drive();
    expect(await done(app)).toMatchObject([{ kind: "success", total: 20, succeeded: 20 }]);
    expect(await app.labels("write")).toHaveLength(20);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});
