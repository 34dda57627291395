/** @module-tag large */
import { expect, test, vi } from "vitest";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";

virtualTime();

const { sleep, flaky, write } = internal.jobs;
const retry = { maxAttempts: 5, initialBackoffMs: 1_000, base: 2 };

/** As Convex's docs say: all timers fire in one turn, also those of what is yet to come. */
test.each<readonly [what: string, ended: number, begin: (app: TestApp) => Promise<unknown>]>([
  ["a lone action", 1, (app) => action(app, "a")],
  ["a lone mutation", 1, (app) => mutation(app)],
  ["a burst above the pool's limit", 40, (app) => burst(app, 40)],
  ["a work that is retried", 1, (app) => flakily(app)],
  ["a delayed work", 1, (app) => action(app, "a", { runAfter: 3_600_000 })],
  ["a burst of delayed works", 20, (app) => burst(app, 20, { runAfter: 60_000 })],
  ["a work that is canceled", 1, (app) => canceled(app)],
  ["a burst of which all is canceled", 40, (app) => allCanceled(app)],
])(
  "[S131] %s: finishAllScheduledFunctions ends, and nothing is left",
  async (_what, ended, begin) => {
    const app = new TestApp({ maxParallelism: 3 });
    await begin(app);
    await app.t.finishAllScheduledFunctions(vi.runAllTimers);
    expect(await app.events("ended")).toHaveLength(ended);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  },
);

test("[S131] works that come after a drain are drained too", async () => {
  const app = new TestApp({ maxParallelism: 3 });
  for (let n = 1; n <= 4; n += 1) {
    await burst(app, n);
    await app.t.finishAllScheduledFunctions(vi.runAllTimers);
  }
  expect(await app.events("ended")).toHaveLength(10);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S131] a batch that finds free slots needs no clock that goes on, as a lone action needs none", async () => {
  const app = new TestApp();
  const values = [1, 2, 3].map((value) => ({ value }));
  await app.t.mutation((ctx) =>
    app.pool.enqueueActionBatch(ctx, internal.jobs.echo, values, { onComplete }),
  );
  vi.runAllTimers();
  await app.t.finishInProgressScheduledFunctions();
  expect(await app.events("ended")).toHaveLength(3);
});

const onComplete = internal.callbacks.ended;

const action = (app: TestApp, label: string, options = {}) =>
  app.t.mutation((ctx) =>
    app.pool.enqueueAction(ctx, sleep, { label, ms: 100 }, { onComplete, ...options }),
  );

const mutation = (app: TestApp) =>
  app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label: "a" }, { onComplete }));

const flakily = (app: TestApp) =>
  app.t.mutation((ctx) =>
    app.pool.enqueueAction(ctx, flaky, { label: "a", succeedsAt: 3 }, { onComplete, retry }),
  );

async function burst(app: TestApp, count: number, options = {}): Promise<void> {
  for (let n = 0; n < count; n += 1) await action(app, `${n}`, options);
}

async function canceled(app: TestApp): Promise<void> {
  const id = await action(app, "a", { runAfter: 60_000 });
  await app.t.mutation((ctx) => app.pool.cancel(ctx, id));
}

async function allCanceled(app: TestApp): Promise<void> {
  await burst(app, 40);
  await app.t.mutation((ctx) => app.pool.cancelAll(ctx));
}
