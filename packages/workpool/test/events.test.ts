import { makeFunctionReference } from "convex/server";
import { describe, expect, test } from "vitest";
import type { WorkpoolOptions } from "../src/client/index.js";
import { logEvent } from "../src/component/events.js";
import { readGate } from "../src/core/index.js";
import { TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { loggedEvents, watchLog } from "./logged.js";

virtualTime();
watchLog();

const { echo, flaky, sleep, write } = internal.jobs;
const onComplete = internal.callbacks.ended;
const complete = makeFunctionReference<"mutation">("complete:complete");
type LogLevel = NonNullable<WorkpoolOptions["logLevel"]>;

const setLevel = (app: TestApp, logLevel: LogLevel) =>
  app.t.mutation((ctx) => ctx.runMutation(components.workpool.config.update, { logLevel }));
const names = () => loggedEvents().map((event) => event.event);

describe("events", () => {
  test("each work's enqueue, start and end is one line of JSON, at the level INFO", async () => {
    const app = new TestApp({ logLevel: "INFO", maxParallelism: 1 });
    const at = Date.now();
    const [first, second] = await app.t.mutation(async (ctx) => [
      await app.pool.enqueueAction(ctx, sleep, { label: "a", ms: 500 }, { name: "first" }),
      await app.pool.enqueueMutation(ctx, write, { label: "b", fails: true }),
    ]);
    await app.drive();
    const a = { component: "workpool", workId: first, name: "first", kind: "action" };
    const b = { component: "workpool", workId: second, name: "jobs:write", kind: "mutation" };
    const done = at + 500;
    expect(loggedEvents()).toEqual([
      { ...a, event: "enqueued", enqueuedAt: at, runAt: at },
      { ...a, event: "started", attempt: 1, enqueuedAt: at, startedAt: at, startLag: 0 },
      { ...b, event: "enqueued", enqueuedAt: at, runAt: at },
      { ...a, event: "completed", status: "success", attempts: 1, completedAt: done },
      { ...b, event: "started", attempt: 1, enqueuedAt: at, startedAt: done, startLag: 500 },
      { ...b, event: "completed", status: "failed", attempts: 1, completedAt: expect.any(Number) },
    ]);
  });

  test("startLag counts from when a delayed work or a retry was due", async () => {
    const app = new TestApp({ logLevel: "INFO", maxParallelism: 1 });
    await app.t.mutation(async (ctx) => {
      await app.pool.enqueueAction(ctx, sleep, { label: "a", ms: 3_000 });
      await app.pool.enqueueMutation(ctx, write, { label: "b" }, { runAfter: 1_000 });
    });
    await app.drive();
    const lags = loggedEvents("started").map((event) => event.startLag);
    expect(lags).toEqual([0, 2_000]);
  });

  test("a retry is completed as retrying, a cancel as canceled", async () => {
    const app = new TestApp({ logLevel: "INFO" });
    const id = await app.t.mutation(async (ctx) => {
      await app.pool.enqueueAction(ctx, flaky, { label: "f", succeedsAt: 2 }, { retry: true });
      return await app.pool.enqueueAction(ctx, echo, { value: 1 }, { runAfter: 9_000 });
    });
    await app.t.mutation((ctx) => app.pool.cancel(ctx, id));
    await app.drive();
    const ends = loggedEvents("completed").map(({ status, attempts }) => [status, attempts]);
    expect(ends).toEqual([
      ["canceled", 0],
      ["retrying", 1],
      ["success", 2],
    ]);
  });

  test("of a large batch the first 100 are logged, and how many more there are", async () => {
    const app = new TestApp({ logLevel: "INFO", maxParallelism: 0 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutationBatch(
        ctx,
        write,
        Array.from({ length: 300 }, (_, i) => ({ label: `${i}` })),
      ),
    );
    const enqueued = loggedEvents("enqueued");
    expect(enqueued).toHaveLength(101);
    expect(enqueued.at(-1)).toMatchObject({ more: 200 });
  });
});

describe("the log level", () => {
  test("is REPORT until something sets it: no line per work", async () => {
    const app = new TestApp();
    for (let i = 0; i < 3; i++)
      await app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label: "a" }));
    await app.drive();
    expect(loggedEvents()).toEqual([]);
    await app.driveOut();
    expect(loggedEvents().map(({ event }) => event)).toEqual(["report"]);
  });

  test.each([
    ["DEBUG", ["enqueued", "started", "enqueued", "waiting", "started", "completed", "completed"]],
    ["TRACE", ["enqueued", "started", "enqueued", "waiting", "started", "completed", "completed"]],
    ["INFO", ["enqueued", "started", "enqueued", "started", "completed", "completed"]],
    ["REPORT", []],
    ["WARN", []],
    ["ERROR", []],
  ] as const)("%s logs what it should, and no more", async (logLevel, expected) => {
    const app = new TestApp({ maxParallelism: 1 });
    await setLevel(app, logLevel);
    await app.t.mutation(async (ctx) => {
      await app.pool.enqueueMutation(ctx, write, { label: "a" });
      await app.pool.enqueueMutation(ctx, write, { label: "b" });
    });
    await app.drive();
    expect(names()).toEqual(expected);
  });

  test("a warning is left out at ERROR", async () => {
    const app = new TestApp({ logLevel: "ERROR" });
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, write, { label: "a" }, { runAt: 1 }),
    );
    expect(console.warn).not.toHaveBeenCalled();
    await setLevel(app, "WARN");
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, write, { label: "a" }, { runAt: 1 }),
    );
    expect(console.warn).toHaveBeenCalledTimes(1);
  });

  test("it holds for what is set with it", async () => {
    const app = new TestApp({ maxParallelism: 9, logLevel: "ERROR" }, undefined, "s16");
    await app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label: "a" }));
    expect(console.warn).not.toHaveBeenCalled();
  });

  test("set by config.update, it stands until another comes from the class", async () => {
    const app = new TestApp({ logLevel: "WARN" }, undefined, "s16");
    const enqueue = () =>
      app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label: "a" }));
    await enqueue();
    await setLevel(app, "INFO");
    await enqueue();
    await app.drive();
    expect(names()).toContain("enqueued");
    const gate = await app.inPool((ctx) => ctx.db.query("gate").first());
    expect(gate).toMatchObject({ logLevel: "INFO", maxParallelism: 6 });
  });

  test("set alone, it leaves maxParallelism as it is, and the other way round", async () => {
    const app = new TestApp();
    await app.setMaxParallelism(3);
    await setLevel(app, "DEBUG");
    await app.setMaxParallelism(4);
    const gate = await app.inPool((ctx) => ctx.db.query("gate").first());
    expect(gate).toMatchObject({ logLevel: "DEBUG", maxParallelism: 4 });
  });

  test("an attempt's report that comes again is logged at DEBUG only", async () => {
    const app = new TestApp({ logLevel: "DEBUG" });
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete }),
    );
    const slot = await app.inPool(async (ctx) => (await ctx.db.query("slots").first())?._id);
    await app.drive();
    const outcome = { kind: "success" as const, returnValue: 1 };
    const again = { workId: id, attempt: 1, slot, outcome };
    await app.inPool((ctx) => ctx.runMutation(complete, again));
    expect(loggedEvents("dropped")).toMatchObject([{ workId: id, attempt: 1 }]);
  });

  test("what is not logged costs no read: whoever has read the gate knows the level", async () => {
    const app = new TestApp();
    await setLevel(app, "WARN");
    const queries = await app.inPool(async (ctx) => {
      const used = async () => (await ctx.meta.getTransactionMetrics()).databaseQueries.used;
      const start = await used();
      await readGate(ctx);
      const gate = await used();
      for (let i = 0; i < 10; i++) await logEvent(ctx, "INFO", "started", {});
      return { forTheGate: gate - start, forTheLog: (await used()) - gate };
    });
    expect(queries).toEqual({ forTheGate: 1, forTheLog: 0 });
  });

  test("what is not logged leaves an end with the reads that it needs: work, slot and gate, and two before their writes", async () => {
    const app = new TestApp();
    for (let i = 0; i < 3; i++)
      await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, echo, { value: i }));
    await app.drive();
    const ends = app.counter.calls.filter((call) => call.name === "complete:complete");
    // The first has turned the watchdog on, and so checks whether it may turn it off: at the gate,
    // and for a slot that is held.
    expect(ends.map((call) => call.total.documentsRead)).toEqual([5 + 2, 5, 5]);
    expect(ends.map((call) => call.total.databaseQueries)).toEqual([3 + 2, 3, 3]);
  });
});
