import { expect, test, vi } from "vitest";
import { type Limits, type WorkId, Workpool } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/* Limits that say how many works start in a time. */

virtualTime();
const { echo, flaky } = internal.jobs;
const SECOND = 1_000;

function rated(limits: Limits, maxParallelism = 20) {
  const app = new TestApp();
  const made = (defined: Limits) =>
    new Workpool<Limits>(components.workpool, { maxParallelism, limits: defined });
  const pool = made(limits);
  const starts: number[] = [];
  app.counter.onCall(({ name, startedAt }) => {
    if (name.endsWith("jobs:echo")) starts.push(startedAt);
  });
  const many = async (count: number, keys: object, by = pool) => {
    for (let n = 0; n < count; n++)
      await app.t.mutation((ctx) =>
        by.enqueueAction(ctx, echo, { value: n }, { limits: keys as never }),
      );
  };
  return { app, pool, made, many, starts };
}

test("[S216] a rate lets its burst start at once, and then as many as come back, in their order; none is lost", async () => {
  const { app, many, starts } = rated({ api: { rate: { limit: 10, per: "10s", burst: 4 } } });
  const begin = Date.now();
  await many(10, { api: true });
  await many(1, {});
  await app.drive(500);
  // Without the limit nothing waits.
  expect(starts).toHaveLength(5);
  expect(await app.gateIsOpen()).toBe(true);
  await app.drive(3_300);
  expect(starts).toHaveLength(8);
  await app.drive();
  expect(starts).toHaveLength(11);
  expect(Math.max(...starts) - begin).toBeGreaterThanOrEqual(6 * SECOND);
  expect(Math.max(...starts) - begin).toBeLessThan(6 * SECOND + 600);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S216] with keys each has its own bucket, and total and perKey hold beside it", async () => {
  const { app, many, starts } = rated({ tenant: { perKey: 5, rate: { limit: 2, per: "1m" } } });
  for (const key of ["a", "b", "c"]) await many(3, { tenant: key });
  await app.drive(SECOND);
  expect(starts).toHaveLength(6);
  await app.drive();
  expect(starts).toHaveLength(9);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S216] what is tried again does not wait behind others for a rate that counts works", async () => {
  const limits = { api: { rate: { limit: 1, per: "1h", count: "works" } } } as const;
  const { app, pool, many, starts } = rated(limits);
  const retry = { maxAttempts: 2, initialBackoffMs: 500, base: 1 };
  await app.t.mutation((ctx) =>
    pool.enqueueAction(
      ctx,
      flaky,
      { label: "tried", succeedsAt: 2 },
      { limits: { api: true }, retry },
    ),
  );
  await many(1, { api: true });
  await app.drive(10 * SECOND);
  expect(starts).toHaveLength(0);
  expect(await app.labels("attempt")).toHaveLength(2);
});

test.each([
  ["attempts" as const, 2],
  ["works" as const, 4],
])("[S216] it counts %s", { tags: ["large"] }, async (count, ended) => {
  const app = new TestApp();
  const limits = { api: { rate: { limit: 4, per: "1h", count } } };
  const pool = new Workpool(components.workpool, { limits });
  for (let n = 0; n < 4; n++)
    await app.t.mutation((ctx) =>
      pool.enqueueAction(
        ctx,
        flaky,
        { label: `${n}`, succeedsAt: 2 },
        { limits: { api: true }, retry: { maxAttempts: 3, initialBackoffMs: 100, base: 1 } },
      ),
    );
  await app.drive(10 * SECOND);
  const attempts = await app.labels("attempt");
  expect(attempts).toHaveLength(count === "works" ? 8 : 4);
  expect(ended).toBeGreaterThan(0);
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S216] works that start together take of it together", async () => {
  const { app, pool, starts } = rated({ api: { rate: { limit: 2, per: "1m" } } });
  const args = [0, 1, 2, 3, 4].map((value) => ({ value }));
  await app.t.mutation((ctx) =>
    pool.enqueueActionBatch(ctx, echo, args, { limits: { api: true } }),
  );
  await app.drive(SECOND);
  expect(starts).toHaveLength(2);
});

test("[S222] of a rate that is lowered, what was taken before stays taken, though it had come back", async () => {
  const { app, made, many, starts } = rated({ api: { rate: { limit: 2, per: "1s" } } });
  await many(2, { api: true });
  await app.drive(SECOND / 2);
  const lowered = made({ api: { rate: { limit: 2, per: "10h" } } });
  const long = { label: "long", ms: 60 * 60 * SECOND };
  await app.t.mutation((ctx) => lowered.enqueueAction(ctx, internal.jobs.sleep, long));
  // While that runs, the watchdog looks for buckets that are full again.
  await app.drive(30 * 60 * SECOND);
  await many(1, { api: true }, lowered);
  await app.drive(SECOND);
  expect(starts).toHaveLength(2);
});

test("[S217] one that waits is canceled: nothing is left of it, and its turn is the next one's", async () => {
  const { app, pool, many, starts } = rated({ api: { rate: { limit: 1, per: "1m" } } });
  await many(1, { api: true });
  const id = await app.t.mutation((ctx) =>
    pool.enqueueAction(ctx, echo, { value: "canceled" }, { limits: { api: true } }),
  );
  await many(1, { api: true });
  await app.t.mutation((ctx) => pool.cancel(ctx, id));
  await app.drive(61 * SECOND);
  expect(starts).toHaveLength(2);
  await app.drive();
  expect(starts).toHaveLength(2);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S217] while nobody waits nothing is scheduled for it, and one function while many do", async () => {
  const { app, many, starts } = rated({ api: { rate: { limit: 60, per: "1m", burst: 1 } } });
  await many(1, { api: true });
  await app.drive();
  const releases = () =>
    app.counter.calls.filter(({ name }) => name.endsWith("releaseRate")).length;
  expect(releases()).toBe(0);
  await many(21, { api: true });
  await app.drive();
  expect(starts).toHaveLength(22);
  expect(releases()).toBeLessThanOrEqual(24);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S222] a rate that is removed releases who waits, one that is raised or overridden lets them go on earlier", async () => {
  const slow = { api: { rate: { limit: 1, per: "1h" } } };
  const { app, pool, made, many, starts } = rated(slow);
  await many(8, { api: true });
  await app.drive(SECOND);
  expect(starts).toHaveLength(1);
  expect(await app.t.query((ctx) => pool.limits.get(ctx, "api"))).toMatchObject({
    waiting: 7,
    left: 0,
    rate: { limit: 1, per: "1h" },
  });
  const rate = { limit: 3_600, per: "1h", burst: 1 };
  await app.t.mutation((ctx) =>
    pool.limits.override(ctx, "api", { rate, until: Date.now() + 60_000 }),
  );
  await app.drive(2 * SECOND);
  expect(starts.length).toBeGreaterThanOrEqual(2);
  await many(1, {}, made({}));
  await app.drive(SECOND);
  expect(starts).toHaveLength(9);
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S216] if the clock goes back, what was taken comes back from then on, in the same time", async () => {
  const { app, many, starts } = rated({ api: { rate: { limit: 1, per: "1s", burst: 2 } } });
  await many(3, { api: true });
  const begin = (await app.drive(500), Date.now() - 3_600 * SECOND);
  expect(starts).toHaveLength(2);
  vi.setSystemTime(begin);
  await many(2, { api: true });
  await app.drive(6 * SECOND);
  expect(starts).toHaveLength(5);
  expect(starts[2]! - begin).toBeGreaterThanOrEqual(SECOND);
  expect(starts[4]! - starts[2]!).toBeGreaterThanOrEqual(2 * SECOND - 500);
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S216] after the clock went back, a start takes as much as any", async () => {
  const { app, many, starts } = rated({ api: { rate: { limit: 1, per: "1s", burst: 3 } } });
  await many(1, { api: true });
  await app.drive(500);
  vi.setSystemTime(Date.now() - 3_600 * SECOND);
  await many(3, { api: true });
  await app.drive(3 * SECOND);
  expect(starts).toHaveLength(4);
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S222] a releaser that was lost is found by the watchdog", async () => {
  const { app, many, starts } = rated({ api: { rate: { limit: 1, per: "30s" } } });
  await many(3, { api: true });
  await app.t.mutation((ctx) =>
    new Workpool(components.workpool).enqueueAction(ctx, internal.jobs.wait, { ms: 300_000 }),
  );
  expect(await app.losePending("watchdog:releaseRate")).toBe(1);
  await app.drive(300_000);
  await app.drive();
  expect(starts).toHaveLength(3);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S222] a releaser that was lost is found though nothing runs", async () => {
  const { app, many, starts } = rated({ api: { rate: { limit: 1, per: "30s" } } });
  await many(3, { api: true });
  await app.drive(SECOND);
  expect(starts).toHaveLength(1);
  expect(await app.losePending("watchdog:releaseRate")).toBe(1);
  await app.drive(240 * SECOND);
  expect(starts).toHaveLength(3);
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

/** Found by seed 691001776 of the simulator's profile `pool`: a sweep came each 10 s, for ever. */
test("[S222] a releaser that was lost is forgotten if nobody waits for it, though others wait", async () => {
  const { app, pool, many } = rated({
    api: { rate: { limit: 1, per: "30s" } },
    exports: { total: 1 },
  });
  await app.t.mutation(async (ctx) => await pool.limits.pause(ctx, "exports"));
  await many(1, { exports: true });
  await many(1, { api: true });
  const waiting = await app.t.mutation(
    async (ctx) => await pool.enqueueAction(ctx, echo, { value: 2 }, { limits: { api: true } }),
  );
  await app.drive(SECOND);
  expect(await app.losePending("watchdog:releaseRate")).toBe(1);
  await app.t.mutation(async (ctx) => await pool.cancel(ctx, waiting));
  const sweeps = () => app.counter.calls.filter(({ name }) => name.endsWith(":sweep")).length;
  await app.drive(120 * SECOND);
  const before = sweeps();
  await app.drive(3_600 * SECOND);
  expect(sweeps()).toBe(before);
  await app.t.mutation(async (ctx) => await pool.limits.resume(ctx, "exports"));
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

/** Found by seed 35 of the simulator's profile `limits`: it looked twice a second, for an hour. */
test("[S217] while its works wait for slots, the releaser looks ever less often, and in time", async () => {
  const limits = { api: { rate: { limit: 60, per: "1m", burst: 1 } } };
  const { app, pool, many, starts } = rated(limits, 1);
  const enqueued = (ms: number) =>
    app.t.mutation((ctx) => pool.enqueueAction(ctx, internal.jobs.wait, { ms }));
  await enqueued(594 * SECOND);
  const ids: WorkId[] = [];
  for (let n = 0; n < 2; n++)
    ids.push(
      await app.t.mutation((ctx) =>
        pool.enqueueAction(ctx, echo, { value: n }, { limits: { api: true } }),
      ),
    );
  await many(2, { api: true });
  await app.drive(585 * SECOND);
  const releases = app.counter.calls.filter(({ name }) => name.endsWith("releaseRate")).length;
  expect(releases).toBeLessThan(50);
  expect(starts).toHaveLength(0);
  // The next one takes the place of one that is canceled in the queue.
  await app.t.mutation((ctx) => pool.cancel(ctx, ids[0]!));
  await app.drive(10 * SECOND);
  expect(starts).toHaveLength(1);
  await app.drive(2 * SECOND);
  expect(starts).toHaveLength(3);
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test.each(["limits.pause", "config.update"])(
  "[S217] while %s stops the pool nothing looks again and again, and all go on after it",
  async (how) => {
    const { app, pool, many, starts } = rated({
      api: { rate: { limit: 60, per: "1m", burst: 1 } },
    });
    const set = (maxParallelism: number) =>
      app.t.mutation(async (ctx) => {
        if (how === "config.update")
          await ctx.runMutation(components.workpool.config.update, { maxParallelism });
        else if (maxParallelism === 0) await pool.limits.pause(ctx, "maxParallelism");
        else await pool.limits.resume(ctx, "maxParallelism");
      });
    await many(1, {});
    await app.drive(SECOND);
    await set(0);
    await many(4, { api: true });
    await app.drive(60 * SECOND);
    const releases = app.counter.calls.filter(({ name }) => name.endsWith("releaseRate")).length;
    expect(releases).toBeLessThanOrEqual(4);
    expect(starts).toHaveLength(1);
    await set(20);
    await app.drive(10 * SECOND);
    expect(starts).toHaveLength(5);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  },
);

test.each([
  ["no whole limit", { limit: 0.5, per: "1m" }, /rate.limit of the limit "api" is 0.5/],
  ["no time", { limit: 1, per: "soon" }, /rate.per of the limit "api" is "soon"/],
  ["less than a ms", { limit: 1, per: Number.MIN_VALUE }, /rate.per of the limit "api" is 5e-324/],
  ["no burst", { limit: 1, per: "1m", burst: 0 }, /rate.burst of the limit "api" is 0/],
])("[S222] a rate with %s is refused", (_, rate, message) => {
  expect(() => new Workpool(components.workpool, { limits: { api: { rate } } })).toThrow(message);
});
