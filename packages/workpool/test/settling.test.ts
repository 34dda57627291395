import { createFunctionHandle } from "convex/server";
import { describe, expect, test, vi } from "vitest";
import { enqueueSettling, type RetryBehavior } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { settled } from "./convex/settlers.js";

virtualTime();

const onComplete = internal.callbacks.ended;
const { act, write } = internal.settlers;
type Args = { label: string; ms?: number; how?: string };
const enqueue = (app: TestApp, argsList: Args[], options = {}) =>
  app.t.mutation((ctx) =>
    enqueueSettling(components.workpool, ctx, "action", act, argsList, options),
  );
const rootExecutions = (app: TestApp) =>
  app.counter.totals((call) => call.name !== "inline").rootExecutions;
const results = async (app: TestApp) =>
  (await app.events("ended")).map((event) => event.data.result);
const retryBehavior: RetryBehavior = { maxAttempts: 2, initialBackoffMs: 100, base: 1 };

describe("a work that settles itself", () => {
  test("takes 2 root executions, and its callback gets what it settled with", async () => {
    const app = new TestApp();
    const [id] = await enqueue(app, [{ label: "a" }], { onComplete, context: 7 });
    await app.drive();
    expect(rootExecutions(app)).toBe(2);
    expect((await app.events("ended")).map((event) => event.data)).toEqual([
      { workId: id, context: 7, result: { kind: "success", returnValue: "a" } },
    ]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("is given by a handle as well, of an action or a mutation", async () => {
    const app = new TestApp();
    await app.t.mutation(async (ctx) => {
      const handle = (await createFunctionHandle(act)) as unknown as typeof act;
      await enqueueSettling(components.workpool, ctx, "action", handle, [{ label: "a" }]);
      await enqueueSettling(components.workpool, ctx, "mutation", write, [{ label: "w" }]);
    });
    await app.drive();
    expect(await app.labels("settled")).toEqual(["a"]);
    expect(await app.labels("write")).toEqual(["w"]);
    // Of the mutation 1: it is its own completion.
    expect(rootExecutions(app)).toBe(3);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test.each([10, 100])(
    "100 at once, parallelism %i: 2.2 root executions each at most",
    { tags: ["large"] },
    async (max) => {
      const app = new TestApp({ maxParallelism: max });
      await app.setMaxParallelism(max);
      const argsList = Array.from({ length: 100 }, (_, i) => ({ label: `${i}` }));
      app.counter.clear();
      await enqueue(app, argsList);
      await app.driveOut();
      expect(await app.labels("settled")).toHaveLength(100);
      expect(rootExecutions(app)).toBeLessThanOrEqual(220);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("holds a slot like any other", async () => {
    const app = new TestApp();
    await app.setMaxParallelism(3);
    const started = Date.now();
    await enqueue(
      app,
      Array.from({ length: 9 }, (_, i) => ({ label: `${i}`, ms: 100 })),
    );
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, { label: "s", ms: 100 }),
    );
    await app.drive();
    // 10 works of 100 ms in 3 slots: 4 rounds.
    expect(Date.now() - started).toBe(400);
    expect(await app.labels("settled")).toHaveLength(9);
  });

  test("that failed is tried again, with a token of its own", async () => {
    const app = new TestApp();
    await enqueue(
      app,
      [
        { label: "a", how: "fails once" },
        { label: "b", how: "fails" },
      ],
      {
        onComplete,
        retryBehavior,
      },
    );
    await app.drive();
    expect((await app.events("settled")).map((event) => [event.label, event.data]).sort()).toEqual([
      ["a", 1],
      ["a", 2],
      ["b", 1],
      ["b", 2],
    ]);
    const kinds = (await results(app)).map((result) => result.kind);
    expect(kinds.sort()).toEqual(["failed", "success"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("twice, counts once: the second time it is told so", async () => {
    const app = new TestApp();
    await enqueue(app, [{ label: "a", how: "twice" }], { onComplete });
    await app.drive();
    expect(await app.labels("settled")).toEqual(["a"]);
    expect(await app.labels("stale")).toEqual(["a"]);
    expect(await results(app)).toHaveLength(1);
  });

  test("with the token of an earlier attempt, changes nothing while the next one runs", async () => {
    const app = new TestApp();
    await enqueue(app, [{ label: "a", how: "again", ms: 1_000 }], {
      onComplete,
      retryBehavior: { maxAttempts: 2, initialBackoffMs: 200, base: 1 },
    });
    await app.drive(2_050);
    // The second attempt began about 1.2 s after the first, and takes until 2.2 s.
    expect(await app.labels("stale")).toEqual(["a"]);
    expect(await results(app)).toEqual([]);
    await app.drive();
    expect(await results(app)).toEqual([{ kind: "success", returnValue: "a" }]);
    expect((await app.events("settled")).map((event) => event.data)).toEqual([1, 2]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("whose call loses all its attempts to others, settles by a mutation that is scheduled", async () => {
    const app = new TestApp();
    const registered = settled as unknown as { _handler: () => Promise<null> };
    vi.spyOn(registered, "_handler").mockRejectedValueOnce(new Error("changed while this ran"));
    await enqueue(app, [{ label: "a" }, { label: "b" }], { onComplete });
    await app.drive(1_000);
    expect((await app.labels("settled")).sort()).toEqual(["a", "b"]);
    expect((await results(app)).map((result) => result.kind)).toEqual(["success", "success"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test.each(["forgets", "throws"])("and %s to, has failed some time later", async (how) => {
    const app = new TestApp();
    await enqueue(app, [{ label: "a", how }], { onComplete });
    await app.drive(29_000);
    expect(await results(app)).toEqual([]);
    await app.drive(2_000);
    expect(await results(app)).toMatchObject([{ kind: "failed" }]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("and has not done so some seconds after its timeout, has failed then; what it does later is stale", async () => {
    const app = new TestApp();
    await enqueue(app, [{ label: "a", ms: 100_000 }], { onComplete, timeoutMs: 40_000 });
    await enqueue(app, [{ label: "b", ms: 90_000 }], {
      onComplete,
      timeoutMs: 2_000,
      retryBehavior: { ...retryBehavior, maxAttempts: 1 },
    });
    // Both are first seen to run after 2 s.
    await app.drive(38_900);
    expect(await results(app)).toEqual([]);
    await app.drive(1_000);
    expect(await results(app)).toMatchObject(
      [{ kind: "failed", error: /timeout/ }].map((row) => ({
        ...row,
        error: expect.stringMatching(row.error),
      })),
    );
    await app.drive(36_000);
    expect(await results(app)).toHaveLength(1);
    await app.drive(2_000);
    expect(await results(app)).toHaveLength(2);
    await app.driveOut();
    expect(await app.labels("stale")).toEqual(["b", "a"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test.each([0, -1, NaN, Infinity, 1e300, "1m", null, 5n])(
    "[S264] with a timeout that is none is refused by its name: %s",
    async (timeoutMs) => {
      const app = new TestApp();
      const enqueued = enqueue(app, [{ label: "a" }], { timeoutMs });
      await expect(enqueued).rejects.toThrow(/^Enqueueing: timeoutMs is .*: give a number of ms/);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("waiting, delayed or for its retry, is canceled; running, it goes on", async () => {
    const app = new TestApp();
    await app.setMaxParallelism(1);
    const [running] = await enqueue(app, [{ label: "running", ms: 100 }], { onComplete });
    const [waiting] = await enqueue(app, [{ label: "waiting" }], { onComplete });
    const [delayed] = await enqueue(app, [{ label: "delayed" }], { onComplete, runAfter: 500 });
    await app.drive(50);
    for (const id of [running, waiting, delayed])
      await app.t.mutation((ctx) => app.pool.cancel(ctx, id!));
    await app.drive();
    expect((await results(app)).map((result) => result.kind)).toEqual([
      "canceled",
      "canceled",
      "success",
    ]);
    expect(await app.labels("settled")).toEqual(["running"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});
