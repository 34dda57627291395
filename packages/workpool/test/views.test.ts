import type { FunctionReference, PaginationOptions } from "convex/server";
import { describe, expect, test } from "vitest";
import { TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

virtualTime();

const { echo, flaky, sleep, write } = internal.jobs;
const { views } = components.workpool;
const sleeps = (n: number, ms: number) =>
  Array.from({ length: n }, (_, i) => ({ label: `${i}`, ms }));
const summary = (app: TestApp) => app.t.query((ctx) => ctx.runQuery(views.summary, {}));

type List<Row> = FunctionReference<
  "query",
  "internal",
  { paginationOpts: PaginationOptions },
  { page: Row[]; isDone: boolean; continueCursor: string },
  string | undefined
>;

/** All pages of a list, and how many there were. */
async function pages<Row>(app: TestApp, list: List<Row>, numItems: number) {
  const rows: Row[] = [];
  let cursor: string | null = null;
  for (let count = 1; ; count++) {
    const paginationOpts: PaginationOptions = { cursor, numItems };
    const got = await app.t.query((ctx) => ctx.runQuery(list, { paginationOpts }));
    rows.push(...got.page);
    if (got.isDone) return { rows, count };
    cursor = got.continueCursor;
  }
}

describe("the summary", () => {
  test("of a pool that nothing was ever enqueued to is empty", async () => {
    expect(await summary(new TestApp())).toMatchObject({
      running: 0,
      waiting: 0,
      delayed: 0,
      oldestWaitingSince: null,
      lastReport: null,
      sinceReport: { since: null, succeeded: 0 },
    });
  });

  test("counts by state, and says since when the oldest waits and runs", async () => {
    const app = new TestApp({ maxParallelism: 2, logLevel: "WARN" });
    const start = Date.now();
    await app.t.mutation(async (ctx) => {
      await app.pool.enqueueActionBatch(ctx, sleep, sleeps(3, 60_000));
      await app.pool.enqueueActionBatch(ctx, sleep, sleeps(4, 1), { runAfter: 30_000 });
    });
    await app.drive(1_000);
    await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, sleep, { label: "last", ms: 1 }));
    const seen = await summary(app);
    expect(seen).toMatchObject({
      maxParallelism: 2,
      logLevel: "WARN",
      running: 2,
      waiting: 2,
      waitingIsAtLeast: false,
      delayed: 4,
      delayedIsAtLeast: false,
      oldestRunningSince: start,
    });
    expect(Math.floor(seen.oldestWaitingSince ?? 0)).toBe(start);
  });

  test(
    "does not count without end: it says that there are at least so many",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 0 });
      await app.t.mutation((ctx) =>
        app.pool.enqueueMutationBatch(
          ctx,
          write,
          Array.from({ length: 1_100 }, (_, i) => ({ label: `${i}` })),
        ),
      );
      await app.t.mutation((ctx) =>
        app.pool.enqueueMutationBatch(
          ctx,
          write,
          Array.from({ length: 250 }, (_, i) => ({ label: `${i}` })),
          { runAfter: 99_000 },
        ),
      );
      expect(await summary(app)).toMatchObject({
        waiting: 1_000,
        waitingIsAtLeast: true,
        delayed: 200,
        delayedIsAtLeast: true,
      });
    },
  );

  test("tells what has ended since the last report, and between it and the one before", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await app.t.mutation((ctx) => app.pool.enqueueActionBatch(ctx, sleep, sleeps(30, 4_000)));
    await app.drive(70_000);
    const { lastReport, sinceReport } = await summary(app);
    expect(lastReport?.succeeded).toBeGreaterThan(10);
    expect((lastReport?.succeeded ?? 0) + sinceReport.succeeded).toBe(17);
    expect(sinceReport.since).toBe(lastReport?.at);
  });
});

describe("the lists", () => {
  test("show what waits, in its order, over any number of pages", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const ids = await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, sleep, sleeps(8, 9_000), { name: "nap" }),
    );
    const { rows, count } = await pages(app, views.waiting, 3);
    expect(rows.map((row) => row.workId)).toEqual(ids.slice(1));
    expect(count).toBe(3);
    expect(rows[0]).toMatchObject({ kind: "action", name: "nap", previousAttempts: 0 });
  });

  test("show what runs, and whether it was canceled", async () => {
    const app = new TestApp({ maxParallelism: 5 });
    const start = Date.now();
    const ids = await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, sleep, sleeps(3, 9_000)),
    );
    await app.drive(100);
    const [canceled] = ids;
    if (canceled !== undefined) await app.t.mutation((ctx) => app.pool.cancel(ctx, canceled));
    const { rows } = await pages(app, views.running, 2);
    expect(new Set(rows.map((row) => row.workId))).toEqual(new Set(ids));
    expect(rows.filter((row) => row.canceled).map((row) => row.workId)).toEqual([canceled]);
    expect(rows.map((row) => row.at)).toEqual([start, start, start]);
  });

  test("show what is delayed, the next to come first, retries among them", async () => {
    const app = new TestApp();
    const now = Date.now();
    const retry = { maxAttempts: 2, initialBackoffMs: 100_000, base: 1 };
    await app.t.mutation(async (ctx) => {
      await app.pool.enqueueMutation(ctx, write, { label: "b" }, { runAt: now + 300_000 });
      await app.pool.enqueueMutation(ctx, write, { label: "a" }, { runAt: now + 20_000 });
      await app.pool.enqueueAction(ctx, flaky, { label: "f" }, { retry });
      await app.pool.enqueueMutation(ctx, write, { label: "now" });
    });
    await app.drive(1_000);
    const { rows } = await pages(app, views.delayed, 1);
    expect(rows.map((row) => [row.name, row.previousAttempts])).toEqual([
      ["jobs:write", 0],
      ["jobs:flaky", 1],
      ["jobs:write", 0],
    ]);
    expect(rows[0]?.at).toBe(now + 20_000);
  });

  test("show callbacks that threw, until somebody has seen to them", async () => {
    const app = new TestApp();
    const onComplete = internal.callbacks.throwing;
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      ids.push(
        await app.t.mutation((ctx) =>
          app.pool.enqueueAction(ctx, echo, { value: i }, { onComplete }),
        ),
      );
      await app.drive(100);
    }
    expect((await summary(app)).failedCallbacks).toBe(3);
    const { rows } = await pages(app, views.failedCallbacks, 2);
    expect(rows.map((row) => row.workId)).toEqual(ids.reverse());
    expect(rows[0]).toMatchObject({ error: "the callback failed", resultKind: "success" });
    const id = rows[0]?.id ?? "";
    const forget = () =>
      app.t.mutation((ctx) => ctx.runMutation(views.forgetFailedCallback, { id }));
    await forget();
    await forget();
    expect((await summary(app)).failedCallbacks).toBe(2);
  });

  test("keep to the limits of a transaction, whatever page is asked for and however large the works are", async () => {
    const app = new TestApp({ maxParallelism: 0 });
    const value = "x".repeat(7_500);
    for (let part = 0; part < 3; part++)
      await app.t.mutation((ctx) =>
        app.pool.enqueueActionBatch(
          ctx,
          echo,
          Array.from({ length: 100 }, () => ({ value })),
          { context: value, onComplete: internal.callbacks.ended },
        ),
      );
    const { rows, count } = await pages(app, views.waiting, 10_000);
    expect(rows).toHaveLength(300);
    expect(count).toBe(2);
    expect(app.counter.violations).toEqual([]);
  });
});
