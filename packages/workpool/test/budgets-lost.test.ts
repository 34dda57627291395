import { expect, test } from "vitest";
import { Workpool } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/* What becomes of permits, rates and budgets where an attempt is lost, or canceled. */

virtualTime();
const { echo, hang, sleep } = internal.jobs;
const SECOND = 1_000;
const limits = {
  exports: { total: 1 },
  api: { rate: { limit: 2, per: "1h" } },
  tokens: { rate: { limit: 1_000, per: "1d" }, unit: "tokens" },
};
const estimated = { estimate: 400, spend: "length" };
const all = { exports: true, api: true, tokens: estimated } as const;

function app() {
  const app = new TestApp();
  const pool = new Workpool(components.workpool, { limits });
  const enqueue = async (options: object = {}, times = 1) =>
    await app.t.mutation((ctx) =>
      pool.enqueueAction(ctx, hang, { label: "a", times }, { limits: all, ...options }),
    );
  /** What is left of each limit: less than one comes back while a test lasts. */
  const left = async () => {
    const of = async (name: keyof typeof limits) =>
      await app.t.query((ctx) => pool.limits.get(ctx, name));
    const [exports, api, tokens] = [await of("exports"), await of("api"), await of("tokens")];
    return { running: exports?.running, api: api?.left, tokens: tokens?.left };
  };
  return { app, pool, enqueue, left };
}

test.each(["failed", "canceled", "gone", "success"] as const)(
  "[S225] an attempt that is lost (%s) gives its permits back with its slot, and its start and its estimate stay taken",
  async (state) => {
    const { app: it, enqueue, left } = app();
    await enqueue();
    await it.drive(5 * SECOND);
    expect(await left()).toEqual({ running: 1, api: 1, tokens: 600 });
    await it.endJob(state);
    await it.drive(26 * SECOND);
    expect(await left()).toEqual({ running: 0, api: 1, tokens: 600 });
    await it.driveOut();
    expect(await it.leftovers()).toEqual(NOTHING_LEFT);
  },
);

test("[S225] each attempt after one that is lost takes of the rate and of the budget again", async () => {
  const { app: it, enqueue, left } = app();
  await enqueue({ retry: { maxAttempts: 2, initialBackoffMs: 100, base: 1 } });
  await it.drive(5 * SECOND);
  await it.endJob("failed");
  await it.drive(28 * SECOND);
  expect(await it.labels("start")).toEqual(["a", "a"]);
  // The second has used 1: its result is "a".
  expect(await left()).toEqual({ running: 0, api: 0, tokens: 1_000 - 400 - 1 });
  await it.driveOut();
  expect(await it.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S226] a work that is canceled while it waits takes nothing, and one that runs is booked by how it ends", async () => {
  const { app: it, pool, left } = app();
  const enqueue = async (label: string, ms: number) =>
    await it.t.mutation((ctx) => pool.enqueueAction(ctx, sleep, { label, ms }, { limits: all }));
  const runs = await enqueue("runs", SECOND);
  const waits = await enqueue("waits", SECOND);
  await it.drive(100);
  for (const id of [waits, runs]) await it.t.mutation((ctx) => pool.cancel(ctx, id));
  expect(await left()).toEqual({ running: 1, api: 1, tokens: 600 });
  await it.drive(2 * SECOND);
  // It was not stopped, and its result is a text of 4.
  expect(await left()).toEqual({ running: 0, api: 1, tokens: 1_000 - 4 });
  expect(await it.labels("start")).toEqual(["runs"]);
  await it.drive();
  expect(await it.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S226] a canceled work that is lost, or fails, leaves its estimate, and is not tried again", async () => {
  const { app: it, pool, enqueue, left } = app();
  const id = await enqueue({ retry: true });
  await it.drive(5 * SECOND);
  await it.t.mutation((ctx) => pool.cancel(ctx, id));
  await it.endJob("failed");
  await it.drive(26 * SECOND);
  expect(await it.labels("start")).toEqual(["a"]);
  expect(await left()).toEqual({ running: 0, api: 1, tokens: 600 });
  await it.driveOut();
  expect(await it.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S228] what a callback enqueues finds what the work has used, also below zero", async () => {
  const { app: it, pool, left } = app();
  await it.t.mutation((ctx) =>
    pool.enqueueActionBatch(ctx, echo, [{ value: "x".repeat(5_000) }, { value: "y" }], {
      limits: { tokens: estimated },
      onComplete: internal.callbacks.spends,
    }),
  );
  await it.drive(SECOND);
  expect(await it.leftovers()).toMatchObject({ works: 2, limited: 2 });
  expect((await left()).tokens).toBeLessThan(-3_900);
});
