/** @module-tag large */
import { expect, test } from "vitest";
import { Workpool } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { loggedEvents, watchLog } from "./logged.js";

/* Limits that count what works use, such as tokens. */

virtualTime();
watchLog();
const { echo, flaky } = internal.jobs;
const limits = {
  tokens: { rate: { limit: 1_000, per: "10s" }, unit: "tokens" },
  own: { perKey: 5, rate: { limit: 100, per: "10s" }, unit: "credits" },
};

function budgeted() {
  const app = new TestApp();
  const pool = new Workpool(components.workpool, { limits });
  const starts: number[] = [];
  app.counter.onCall(({ name, startedAt }) => {
    if (name.endsWith("jobs:echo")) starts.push(startedAt);
  });
  const use = async (estimate: number, used?: number) =>
    await app.t.mutation((ctx) =>
      pool.enqueueAction(
        ctx,
        echo,
        { value: { usage: { tokens: used } } },
        { limits: { tokens: { estimate, spend: "usage.tokens" } } },
      ),
    );
  const left = async () => (await app.t.query((ctx) => pool.limits.get(ctx, "tokens")))?.left;
  return { app, pool, starts, use, left };
}

test("[S223] a start takes what was estimated, and the end books the difference, either way", async () => {
  const { app, starts, use, left } = budgeted();
  await use(400, 100);
  expect(await left()).toBe(600);
  await app.drive(50);
  expect(await left()).toBeGreaterThanOrEqual(900);
  await use(400, 700);
  await app.drive(50);
  expect(await left()).toBeLessThan(220);
  await use(400);
  expect(starts).toHaveLength(2);
  await app.drive();
  expect(starts).toHaveLength(3);
  expect(starts[2]! - starts[1]!).toBeGreaterThanOrEqual(1_700);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S223] below zero nothing of it starts until it has come back, however little it needs", async () => {
  const { app, starts, use, left } = budgeted();
  await use(100, 3_000);
  await app.drive(50);
  expect(await left()).toBeLessThan(-1_900);
  await use(1, 1);
  await app.drive(19_000);
  expect(starts).toHaveLength(1);
  await app.drive(2_000);
  expect(starts).toHaveLength(2);
  // More than there can be waits for all that there can be.
  await use(5_000, 10);
  await app.drive();
  expect(starts).toHaveLength(3);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S223] what needs much is not held up by all that needs little, but takes in turn", async () => {
  const { app, pool, use } = budgeted();
  await use(1_000, 1_000);
  const cheap: Awaited<ReturnType<typeof use>>[] = [];
  const enqueue = async (count: number) => {
    for (let made = 0; made < count; made++) cheap.push(await use(100, 100));
  };
  await enqueue(15);
  const dear = await use(900, 900);
  await enqueue(15);
  // It is looked at when 900 are there, and a turn of the others comes before.
  await app.drive(20_000);
  const status = await app.t.query((ctx) => pool.statusBatch(ctx, [dear, ...cheap]));
  expect(status.map(({ state }) => state === "finished").slice(0, 1)).toEqual([true]);
  expect(status.filter(({ state }) => state === "finished").length).toBeLessThan(20);
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S223] what was used is paid back within a year, whatever a result says", async () => {
  const { app, starts, use, left } = budgeted();
  await use(1, 1e300);
  await app.drive(50);
  expect(await left()).toBeGreaterThan(-1e10);
  // It waits, which it could not if nobody could be scheduled to look.
  await use(1, 1);
  expect(starts).toHaveLength(1);
});

test("[S223] an attempt that fails, or whose result does not say, is booked as estimated", async () => {
  const { app, pool, use, left } = budgeted();
  await app.t.mutation((ctx) =>
    pool.enqueueAction(
      ctx,
      flaky,
      { label: "x" },
      { limits: { tokens: { estimate: 300, spend: "usage" } } },
    ),
  );
  await app.drive(50);
  await use(200);
  await app.drive(50);
  const now = (await left())!;
  expect(now).toBeGreaterThanOrEqual(500);
  expect(now).toBeLessThan(515);
  // One that succeeds and does not say is told.
  expect(loggedEvents("uncounted")).toMatchObject([{ limit: "tokens", spend: "usage.tokens" }]);
  await app.drive();
});

test("[S224] who waits goes on earlier if less was used than was estimated", async () => {
  const { app, pool, starts, use } = budgeted();
  await app.t.mutation((ctx) =>
    pool.enqueueAction(
      ctx,
      internal.jobs.sleep,
      { label: "slow", ms: 500 },
      { limits: { tokens: { estimate: 1_000, spend: "length" } } },
    ),
  );
  await use(1_000, 1);
  await app.drive();
  // The text "slow" is 4 long.
  const [slow] = await app.events("end");
  expect(slow?.label).toBe("slow");
  expect(starts).toHaveLength(1);
  // Else 10 s after the other has started.
  expect(starts[0]! - slow!.at).toBeLessThan(1_000);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S224] [S264] with keys each has its own, and what is not valid is refused", async () => {
  const { app, pool } = budgeted();
  const give = async (limits: object) =>
    await app.t.mutation((ctx) =>
      pool.enqueueAction(ctx, echo, { value: 1 }, { limits: limits as never }),
    );
  for (const key of ["a", "a", "b"]) await give({ own: { estimate: 100, key } });
  expect(await app.leftovers()).toMatchObject({ limited: 1, heldSlots: 2 });
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  await expect(give({ tokens: true })).rejects.toThrow(/counts tokens: give \{ estimate/);
  await expect(give({ tokens: { estimate: 0 } })).rejects.toThrow(/"tokens" is 0: it must be/);
  for (const spend of [5, "", null, {}, () => 1])
    await expect(give({ tokens: { estimate: 5, spend } })).rejects.toThrow(
      /The spend for the limit "tokens" is .*: it must say where the result has a number/,
    );
  expect(
    () => new Workpool(components.workpool, { limits: { x: { total: 1, unit: "y" } } }),
  ).toThrow(/has the unit y, and no rate/);
});
