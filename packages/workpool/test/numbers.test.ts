import { describe, expect, test, vi } from "vitest";
import { Workpool } from "../src/client/index.js";
import { checkLimits, waitsForLimit } from "../src/core/index.js";
import { fullAtOf, leftOf, mayStartAt, paceOf, takenAt } from "../src/core/limits/rate.js";
import { countWaiting } from "../src/core/limits/refuse.js";
import { reportBy } from "../src/core/report.js";
import { TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/* What the numbers of the pool are for, where nothing else fails without them. */

virtualTime();

const { sleep } = internal.jobs;
const limitsOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`limit${n}`, { total: 1 }]));

test("the gate holds 100 limits, and no more: each enqueue reads it", () => {
  checkLimits(limitsOf(100));
  expect(() => checkLimits(limitsOf(101))).toThrow(/101 limits: a pool has at most 100/);
});

test(
  "what a rate gives back is whole, though fractions of a ms are not exact",
  { tags: ["large"] },
  () => {
    const now = Date.UTC(2026, 0, 1);
    for (let limit = 3; limit < 400; limit++) {
      const pace = paceOf({ limit, per: "1s", burst: limit });
      const bucket = { taken: 0, at: now };
      for (; bucket.taken < pace.burst; bucket.taken = takenAt(pace, bucket, now) + 1)
        expect(mayStartAt(pace, fullAtOf(pace, bucket, now), 1)).toBeLessThanOrEqual(now);
      expect(leftOf(pace, fullAtOf(pace, bucket, now), now)).toBe(0);
    }
  },
);

describe("of many that wait for a limit", () => {
  async function waiting(limits: number, works: number) {
    const app = new TestApp();
    const pool = new Workpool(components.workpool, { maxParallelism: 2, limits: limitsOf(limits) });
    const keys = { limits: { limit0: true as const } };
    const ids = await app.t.mutation((ctx) =>
      pool.enqueueActionBatch(
        ctx,
        sleep,
        Array.from({ length: works }, () => ({ label: "a", ms: 60_000 })),
        keys,
      ),
    );
    return { app, pool, last: ids.at(-1)! };
  }

  test("as many as 200 are counted that come before one", async () => {
    const { app, last } = await waiting(1, 220);
    expect(await app.inPool((ctx) => waitsForLimit(ctx, last))).toMatchObject({ place: 201 });
  });

  test("none is overlooked behind 100 lines whose works have gone on", async () => {
    const app = new TestApp();
    await app.inPool(async (ctx) => {
      for (let hash = 0; hash <= 100; hash++)
        await ctx.db.insert("lines", { line: `${hash}`, blockedBy: "limit0", hash });
      const row = { work: "last", line: "100", at: ctx.db.vars.commitTs };
      await ctx.db.insert("limited", row);
    });
    const asked = { permit: "limit0", lines: [], most: 1 };
    expect(await app.inPool((ctx) => countWaiting(ctx, asked))).toBe(1);
  });

  test("100 are counted for a limit, and 1,000 for all together", async () => {
    const { app, pool } = await waiting(20, 120);
    const one = await app.t.query((ctx) => pool.limits.get(ctx, "limit0"));
    expect(one).toMatchObject({ waiting: 100, waitingIsAtLeast: true });
    const listed = await app.t.query((ctx) => pool.limits.list(ctx));
    const first = listed.find(({ name }) => name === "limit0");
    expect(first).toMatchObject({ waiting: 50, waitingIsAtLeast: true });
  });
});

test("[S132] a report that is refused once is repeated within a second", async () => {
  const report = vi.fn(async () => {});
  report.mockRejectedValueOnce(new Error("TooManyWrites"));
  const reported = reportBy([report], Date.now(), async () => {});
  await vi.advanceTimersByTimeAsync(200);
  expect(report).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(800);
  expect(report).toHaveBeenCalledTimes(2);
  await reported;
});

test("works that are canceled before they start are counted in 8 documents: they seldom conflict", async () => {
  const app = new TestApp({ maxParallelism: 0 });
  for (let n = 0; n < 60; n++) {
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, sleep, { label: "a", ms: 1 }),
    );
    await app.t.mutation((ctx) => app.pool.cancel(ctx, id));
  }
  const counts = await app.inPool((ctx) => ctx.db.query("counts").collect());
  expect(counts.length).toBeGreaterThan(4);
  expect(counts.length).toBeLessThanOrEqual(8);
});
