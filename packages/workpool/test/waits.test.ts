import { describe, expect, test } from "vitest";
import { type EnqueueOptions, Workpool } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/* Works that wait at most for a time. */

virtualTime();

const limits = { tenant: { perKey: 1 }, exports: { total: 5 } };
const { flaky, sleep } = internal.jobs;
const onComplete = internal.callbacks.ended;

function waiting(maxParallelism = 10) {
  const app = new TestApp();
  const pool = new Workpool(components.workpool, { maxParallelism, limits });
  const enqueue = (
    label: string,
    options: Pick<EnqueueOptions, "waitAtMost" | "limits" | "runAfter"> = {},
    ms = 10_000,
  ) =>
    app.t.mutation(async (ctx) => {
      const all = { onComplete, context: label, ...options };
      return await pool.enqueueAction(ctx, sleep, { label, ms }, all as object);
    });
  const pendingTimers = () =>
    app.inPool(async (ctx) =>
      (await ctx.db.system.query("_scheduled_functions").collect()).filter(
        ({ name, state }) => name.endsWith("endWaits") && state.kind === "pending",
      ),
    );
  /** Each end, by the contexts. */
  const ended = async () =>
    (await app.events("ended")).map(({ data }) => {
      const { context, result } = data;
      return `${context}: ${result.kind === "failed" ? result.error : result.kind}`;
    });
  return { app, pool, enqueue, pendingTimers, ended };
}

const tooLong = (label: string, ms: number, what: string) =>
  `${label}: Timed out waiting: it has waited ${ms} ms ${what}, its waitAtMost`;

describe("a work that waits at most for a time", () => {
  test("[S184] fails if it has got no slot by then, and says so; one that has got one runs on", async () => {
    const { app, enqueue, pendingTimers, ended } = waiting(1);
    await enqueue("first", { waitAtMost: 1 });
    expect(await pendingTimers()).toHaveLength(0);
    await enqueue("short", { waitAtMost: 4_000 });
    await enqueue("second", { waitAtMost: 15_000 });
    await enqueue("long", { waitAtMost: 18_000 });
    await app.drive(5_000);
    expect(await ended()).toEqual([tooLong("short", 4_000, "for a slot of the pool")]);
    await app.drive();
    const long = tooLong("long", 18_000, "for a slot of the pool");
    expect((await ended()).slice(1)).toEqual(["first: success", long, "second: success"]);
    expect(await pendingTimers()).toHaveLength(0);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S184] fails if a limit has kept it back, and says which; those behind it go on", async () => {
    const { app, enqueue, pendingTimers, ended } = waiting();
    for (const label of ["first", "short", "second"])
      await enqueue(label, {
        limits: { tenant: "a" },
        ...(label === "short" && { waitAtMost: 2_000 }),
      });
    await app.drive();
    const short = tooLong("short", 2_000, 'for the limit "tenant" of "a"');
    expect(await ended()).toEqual([short, "first: success", "second: success"]);
    expect(await pendingTimers()).toHaveLength(0);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S184] leaves nothing behind when it is canceled, and counts from when it is due", async () => {
    const { app, pool, enqueue, pendingTimers, ended } = waiting(1);
    const options = { waitAtMost: 3_000, limits: { exports: true } } as const;
    await enqueue("first", { limits: { exports: true } });
    const canceled = await enqueue("canceled", options);
    await enqueue("later", { ...options, runAfter: 5_000 });
    await app.drive(1_000);
    await app.t.mutation((ctx) => pool.cancel(ctx, canceled));
    expect(await pendingTimers()).toHaveLength(0);
    await app.drive(6_500);
    expect(await ended()).toEqual(["canceled: canceled"]);
    await app.drive();
    expect((await ended()).slice(1)).toEqual([
      tooLong("later", 3_000, "for a slot of the pool"),
      "first: success",
    ]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S184] waits no longer because it waits for a slot when its limit lets it go on", async () => {
    const { app, enqueue, ended } = waiting(1);
    await enqueue("first", { limits: { tenant: "a" } });
    await enqueue("second");
    await enqueue("short", { limits: { tenant: "a" }, waitAtMost: 12_000 });
    await app.drive(12_500);
    expect(await ended()).toEqual([
      "first: success",
      tooLong("short", 12_000, "for a slot of the pool"),
    ]);
  });

  test("[S184] waits anew at each attempt, and is not tried again if it has waited too long", async () => {
    const { app, pool, enqueue, ended } = waiting(1);
    const retry = { maxAttempts: 3, initialBackoffMs: 1_000, base: 1 };
    const args = { label: "flaky", ms: 100, succeedsAt: 9 };
    await app.t.mutation((ctx) =>
      pool.enqueueAction(ctx, flaky, args, {
        retry,
        waitAtMost: 4_000,
        onComplete,
        context: "flaky",
      }),
    );
    await app.drive(500);
    await enqueue("other");
    await app.drive();
    expect(await ended()).toEqual([
      tooLong("flaky", 4_000, "for a slot of the pool"),
      "other: success",
    ]);
  });

  test("[S184] fails in time, though another that waited until then is gone by hand", async () => {
    const { app, enqueue, ended } = waiting(1);
    await enqueue("first");
    const waits = async () => await app.inPool((ctx) => ctx.db.query("waits").collect());
    const until = Date.now() + 4_000;
    await app.inPool((ctx) => ctx.db.insert("waits", { until, work: "gone" }));
    await enqueue("short", { waitAtMost: 4_000 });
    expect((await waits()).map((wait) => wait.until)).toEqual([until, until]);
    let rounds = 0;
    await app.drive(5_000, async () => void expect(rounds++).toBeLessThan(12));
    expect(await ended()).toEqual([tooLong("short", 4_000, "for a slot of the pool")]);
    expect(await waits()).toEqual([]);
  });

  test("[S184] of a batch needs two timers, and fails all the same", async () => {
    const { app, pool, enqueue, pendingTimers } = waiting(1);
    await enqueue("first");
    const argsList = Array.from({ length: 30 }, () => ({ label: "many", ms: 1 }));
    await app.t.mutation((ctx) =>
      pool.enqueueActionBatch(ctx, sleep, argsList, { waitAtMost: 2_000 }),
    );
    expect(await pendingTimers()).toHaveLength(2);
    await app.drive();
    expect(await app.labels("start")).toEqual(["first"]);
    expect(await pendingTimers()).toHaveLength(0);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S184] fails though its timer was lost: the watchdog finds it", async () => {
    const { app, enqueue, pendingTimers, ended } = waiting(1);
    await enqueue("first", {}, 120_000);
    await enqueue("short", { waitAtMost: 1 });
    await app.setJob((await pendingTimers())[0]!._id, "gone");
    await app.drive(100_000);
    expect(await ended()).toEqual([tooLong("short", 1, "for a slot of the pool")]);
  });

  test("[S184] fails though its timer was lost while nothing runs", async () => {
    const { app, pool, enqueue, pendingTimers, ended } = waiting();
    await enqueue("first", { limits: { exports: true } });
    await app.drive();
    await app.t.mutation((ctx) => pool.limits.pause(ctx, "exports"));
    await enqueue("second", { limits: { exports: true }, waitAtMost: 1_000 });
    await app.setJob((await pendingTimers())[0]!._id, "gone");
    await app.drive(100_000);
    expect((await ended()).slice(1)).toEqual([tooLong("second", 1_000, 'for the limit "exports"')]);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("costs no function call if it begins in time, and one more in all for those of a batch", async () => {
    const { app, pool } = waiting();
    const options = { limits: { tenant: "a" }, waitAtMost: 60_000 };
    const { echo } = internal.jobs;
    const calls = async () => {
      await app.drive();
      // The watchdog comes in time, whatever there is to do.
      const others = ["inline", "watchdog:sweep"];
      const { rootExecutions } = app.counter.totals(({ name }) => !others.includes(name));
      app.counter.clear();
      return rootExecutions;
    };
    for (let value = 0; value < 10; value++)
      await app.t.mutation((ctx) => pool.enqueueAction(ctx, echo, { value }, options));
    // The executor of those that follow the first asks which of its works are left.
    const all = 3 + 2 * 9 + 1 + 1;
    // The second begins the line, as it sees its limit reached, and has it looked at.
    expect(await calls()).toBe(all + 1);
    const argsList = Array.from({ length: 10 }, (_, value) => ({ value }));
    await app.t.mutation((ctx) => pool.enqueueActionBatch(ctx, echo, argsList, options));
    expect(await calls()).toBe(all + 1);
  });

  test("is refused if that is no time above 0", async () => {
    const { enqueue } = waiting();
    for (const waitAtMost of [0, -1, NaN])
      await expect(enqueue("x", { waitAtMost })).rejects.toThrow(
        `Enqueueing jobs:sleep: waitAtMost is ${waitAtMost}: give a number of ms above 0`,
      );
  });
});
