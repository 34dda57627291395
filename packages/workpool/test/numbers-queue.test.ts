import { createFunctionHandle } from "convex/server";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { enqueueWork } from "../src/core/index.js";
import { seeForOwner } from "../src/core/owner-looks.js";
import { lookFairly, randomLane } from "../src/core/fair.js";
import { readGate } from "../src/core/gate.js";
import { rangesOf, WIDTH } from "../src/core/owners.js";
import { lookAtLanes } from "../src/core/queue.js";
import { TestApp, virtualTime } from "./app.js";
import { internal } from "./host/_generated/api.js";
import { host } from "./host/pool.js";
import { HostApp, loadHost } from "./host-app.js";
import { seeded } from "./seeded.js";

/* What the numbers of the queue, of fairness and of executors are for. */

virtualTime();
beforeAll(loadHost);

/** A pool of so many slots, of which all are held, and so many works that wait. */
async function saturated(slots: number, waiting: number) {
  const app = new HostApp();
  await app.setMaxParallelism(slots);
  await app.t.run(async (ctx) => {
    const gate = await ctx.db.query("gate").first();
    await ctx.db.patch("gate", gate!._id, { open: false, closedAt: Date.now() });
    for await (const { _id, number } of ctx.db.query("slots"))
      await ctx.db.patch("slots", _id, { work: `${number}/0`, startedAt: Date.now() });
    const fn = await createFunctionHandle(internal.pool.run);
    for (let n = 0; n < waiting; n++) {
      const row = { work: `w${n}`, fn, args: { label: "w", ms: 60_000 } };
      await ctx.db.insert("waiting", { ...row, lane: n % slots, at: ctx.db.vars.commitTs });
    }
  });
  return app;
}

/** Ends the work of the first slot. */
async function endFirst(app: HostApp) {
  const slot = await app.t.run(async (ctx) => (await ctx.db.query("slots").first())!._id);
  await app.t.mutation(internal.pool.ended, { slot, label: "0", ms: 0 });
}

/** Works in these lanes of the queue. */
async function waitingIn(lanes: readonly (readonly [number, string?])[]) {
  const app = new HostApp();
  await app.t.run(async (ctx) => {
    for (const [n, [lane, key]] of lanes.entries()) {
      const fair = key === undefined ? undefined : { key, weight: 1 };
      await ctx.db.insert("waiting", { work: `${n}`, lane, fair, at: ctx.db.vars.commitTs });
    }
  });
  return app;
}

describe("of the queue", () => {
  test("an end reads a dozen works at most, though the pool has more slots", async () => {
    const app = await saturated(24, 30);
    app.counter.clear();
    await endFirst(app);
    const looks = app.counter.totals(({ name }) => name === "pool:lookAtLanes");
    expect(looks.executions).toBe(1);
    expect(looks.documentsRead).toBeLessThanOrEqual(12);
  });

  test("few wait if every fourth lane has a work, and many if each has one", async () => {
    const look = { lane: 0, count: 8 };
    const seen = async (every: number) => {
      const lanes = Array.from({ length: 50 / every }, (_, n) => [n * every] as const);
      const app = await waitingIn(lanes);
      return await app.t.run((ctx) => lookAtLanes(ctx, { looks: [look] }));
    };
    expect(await seen(4)).toMatchObject([{ areFew: true }]);
    expect(await seen(1)).toMatchObject([{ areFew: false }]);
  });

  test("rows are small, as an end reads many: arguments of 2 kB are stored apart", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(0);
    await app.enqueue({ label: "x".repeat(2_000), ms: 1 });
    const rows = await app.t.run((ctx) => ctx.db.query("waiting").collect());
    expect(rows.map(({ args }) => args)).toEqual([undefined]);
  });

  test("an end tries 16 works at most that cannot start; others are left to a drain", async () => {
    const app = await saturated(1, 0);
    await app.t.run(async (ctx) => {
      for (let n = 0; n < 20; n++) await enqueueWork(ctx, { work: `gone${n}`, args: {} }, host);
    });
    await endFirst(app);
    const gone = () => app.t.run((ctx) => ctx.db.query("gone").collect());
    expect(await gone()).toHaveLength(16);
    await app.drive(1_000);
    expect(await gone()).toHaveLength(20);
  });
});

describe("of keys of fairness", () => {
  const fair = { key: "a", weight: 1 };

  test("a pool of 200 has no lane that is a key's", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999);
    const app = await waitingIn([[randomLane({}, 200)], [randomLane({ fair }, 200), "a"]]);
    const { rows } = await app.t.run((ctx) =>
      lookFairly(ctx, { count: 2, lanes: 200, slots: 200 }),
    );
    expect(rows).toHaveLength(2);
  });

  test("ends of one moment take different works of one key", async () => {
    vi.spyOn(Math, "random").mockImplementation(seeded(1));
    const lanes = 64;
    const app = await waitingIn(
      Array.from({ length: 100 }, () => [randomLane({ fair }, lanes), "a"]),
    );
    const taken = new Set<string>();
    for (let n = 0; n < 8; n++) {
      const look = { count: 1, lanes, slots: lanes };
      taken.add((await app.t.run((ctx) => lookFairly(ctx, look))).rows[0]!);
    }
    expect(taken.size).toBeGreaterThanOrEqual(4);
  });

  test("to fill a slot, few slots are read, though a key holds 200", async () => {
    const app = await waitingIn([[randomLane({ fair }, 200), "a"]]);
    await app.t.run(async (ctx) => {
      const held = { work: "w", fair: "a", startedAt: 0, handOvers: 0, heldSince: 0 };
      for (let number = 0; number < 200; number++)
        await ctx.db.insert("slots", { number, ...held });
    });
    const read = await app.t.run(async (ctx) => {
      await lookFairly(ctx, { count: 1, lanes: 200, slots: 200 });
      return (await ctx.meta.getTransactionMetrics()).documentsRead.used;
    });
    expect(read).toBeLessThanOrEqual(8);
  });
});

describe("of executors", () => {
  test("on the smallest class, which runs 64 actions at once, they and their works are most of these", async () => {
    const app = new TestApp({}, undefined, "s16");
    await app.setMaxParallelism(200);
    const atOnce = await app.inPool(async (ctx) => {
      const { cap } = await rangesOf(ctx, (await readGate(ctx))!);
      return cap + cap / WIDTH;
    });
    expect(atOnce).toBeLessThanOrEqual(64);
    expect(atOnce).toBeGreaterThan(48);
  });

  test("works in the lanes of another owner are left to it for a fifth of a second", async () => {
    const app = await waitingIn([[30]]);
    const range = { lo: 0, hi: 25, first: 0, end: 25, lane: 0, shares: true };
    const look = { ...range, spares: true, count: 5, kept: 0, more: 0 };
    const seen = async () => (await app.t.run((ctx) => seeForOwner(ctx, look))).rows.length;
    expect(await seen()).toBe(1);
    await app.t.run(async (ctx) => {
      const args = { workId: "w", label: "w", ms: 0 };
      const job = await ctx.scheduler.runAfter(60_000, internal.pool.run, args as never);
      const until = Date.now() + 10_000;
      await ctx.db.insert("executors", { range: 1, job, asks: false, until });
    });
    await vi.advanceTimersByTimeAsync(150);
    expect(await seen()).toBe(0);
    await vi.advanceTimersByTimeAsync(100);
    expect(await seen()).toBe(1);
  });
});
