import { describe, expect, test } from "vitest";
import { TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";

virtualTime();

const onComplete = internal.callbacks.ended;

/** The executions since the last clear that a deployment bills, without the enqueueing calls. */
const rootExecutions = (app: TestApp) =>
  app.counter.totals((call) => call.name !== "inline").rootExecutions;

describe("what works cost, in root executions", () => {
  test("one action on an idle pool: 3", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.echo, { value: 1 }, { onComplete }),
    );
    await app.drive();
    expect(rootExecutions(app)).toBe(3);
  });

  test("one mutation or query on an idle pool: 1", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "w" }, { onComplete }),
    );
    await app.drive();
    expect(rootExecutions(app)).toBe(1);
    await app.t.mutation((ctx) =>
      app.pool.enqueueQuery(ctx, internal.jobs.count, { label: "w" }, { onComplete }),
    );
    await app.drive();
    expect(rootExecutions(app)).toBe(2);
  });

  test.each([10, 100])(
    "100 actions at once, parallelism %i: 3.1 each at most",
    { tags: ["large"] },
    async (maxParallelism) => {
      const app = new TestApp({ maxParallelism });
      await app.t.mutation((ctx) =>
        app.pool.enqueueActionBatch(
          ctx,
          internal.jobs.echo,
          Array.from({ length: 100 }, (_, value) => ({ value })),
        ),
      );
      await app.drive();
      // The drain that finds that nothing waits any more takes some.
      expect(rootExecutions(app)).toBeLessThanOrEqual(maxParallelism === 10 ? 310 : 300);
    },
  );

  test("a serial pool limited to five works a second: 20 mutations, parallelism 1: 1.2 each at most, and no time between them", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const started = Date.now();
    for (let i = 0; i < 20; i++)
      await app.t.mutation((ctx) =>
        app.pool.enqueueMutation(ctx, internal.jobs.write, { label: `${i}` }),
      );
    await app.drive();
    expect(rootExecutions(app)).toBeLessThanOrEqual(24);
    // Each of convex-test's timers takes 1 ms of virtual time.
    expect(Date.now() - started).toBeLessThanOrEqual(20);
  });

  test("a delayed start or a retry: 1 more", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "w" }, { runAfter: 1_000 }),
    );
    await app.drive();
    expect(rootExecutions(app)).toBe(2);
    app.counter.clear();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(
        ctx,
        internal.jobs.flaky,
        { label: "f", succeedsAt: 2 },
        { retry: true },
      ),
    );
    await app.drive();
    // Two attempts of 3, each of which calls a mutation of its own, and the start of the second.
    expect(rootExecutions(app)).toBe(2 * (3 + 1) + 1);
  });

  test("each link of a chain of callbacks: 3, if it takes the only free slot again", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.hang, { label: "a" }));
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(
        ctx,
        internal.jobs.echo,
        { value: 0 },
        { onComplete: internal.callbacks.chain, context: 9 },
      ),
    );
    await app.drive(1_000);
    // The one that hangs has begun, and said so.
    expect(rootExecutions(app)).toBe(10 * 3 + 3);
  });

  test("large arguments are written once, for one call more", async () => {
    const app = new TestApp();
    const text = "x".repeat(200_000);
    await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.size, { text }));
    await app.drive();
    const { bytesWritten, scheduledFunctionArgsBytes } = app.counter.totals();
    expect(bytesWritten + scheduledFunctionArgsBytes).toBeLessThanOrEqual(205_000);
    expect(rootExecutions(app)).toBe(3 + 1);
  });

  test("an idle or a paused pool: nothing", async () => {
    const app = new TestApp({ maxParallelism: 0 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, internal.jobs.echo, [{ value: 1 }, { value: 2 }]),
    );
    await app.drive();
    expect(rootExecutions(app)).toBe(0);
    expect(await app.leftovers()).toMatchObject({ scheduled: 0, waiting: 2 });
  });

  test(
    "a completion touches its own work and slot, whatever else runs",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 100 });
      await app.t.mutation((ctx) =>
        app.pool.enqueueActionBatch(
          ctx,
          internal.jobs.echo,
          Array.from({ length: 100 }, (_, value) => ({ value })),
        ),
      );
      await app.drive();
      const completions = app.counter.calls.filter((call) => call.name === "complete:complete");
      for (const { total } of completions) {
        expect(total.documentsRead).toBeLessThanOrEqual(6);
        expect(total.documentsWritten).toBe(2);
      }
    },
  );
});

test("a sweep of a pool without limits reads 6 documents, as it did before there were any", async () => {
  const app = new TestApp({ maxParallelism: 1 });
  await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.hang, { label: "a" }));
  app.counter.clear();
  await app.drive(100_000);
  const sweeps = app.counter.calls.filter(({ name }) => name === "watchdog:sweep");
  // What it looks at in a stale snapshot is apart: the slots, and their functions.
  expect(sweeps.map(({ self }) => self.documentsRead)).toEqual([6, 6]);
});
