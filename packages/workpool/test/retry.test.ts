/** @module-tag large */
import { describe, expect, test, vi } from "vitest";
import { DEFAULT_RETRY_BEHAVIOR, type RetryOption } from "../src/client/index.js";
import { retryDelayMs } from "../src/core/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";

virtualTime();

const onComplete = internal.callbacks.ended;

async function runFlaky(
  app: TestApp,
  retry: RetryOption["retry"],
  args: { succeedsAt?: number; nonRetryable?: boolean } = {},
) {
  const options = { onComplete, ...(retry === undefined ? {} : { retry }) };
  await app.t.mutation((ctx) =>
    app.pool.enqueueAction(ctx, internal.jobs.flaky, { label: "flaky", ...args }, options),
  );
  await app.drive();
  const attempts = (await app.events("attempt")).map((event) => event.at);
  const results = (await app.events("ended")).map((event) => event.data.result);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  return { attempts, results, waits: attempts.slice(1).map((at, i) => at - (attempts[i] ?? 0)) };
}

describe("retries", () => {
  test("an action is tried again until it succeeds", async () => {
    const { attempts, results } = await runFlaky(new TestApp(), true, { succeedsAt: 3 });
    expect(attempts).toHaveLength(3);
    expect(results).toEqual([{ kind: "success", returnValue: 3 }]);
  });

  test("retry: true is 5 attempts, after 250, 500, 1000 and 2000 ms, each half as much more or less", async () => {
    const { attempts, waits, results } = await runFlaky(new TestApp(), true);
    expect(attempts).toHaveLength(5);
    waits.forEach((wait, i) => {
      expect(wait).toBeGreaterThanOrEqual(125 * 2 ** i);
      expect(wait).toBeLessThan(375 * 2 ** i);
    });
    expect(results).toEqual([{ kind: "failed", error: "attempt 5 failed" }]);
  });

  test("the waits follow the behavior that was asked for", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const retry = { maxAttempts: 4, initialBackoffMs: 100, base: 3 };
    const { waits } = await runFlaky(new TestApp(), retry);
    expect(waits).toEqual([100, 300, 900]);
  });

  test.each([
    ["nothing is said", undefined, {}, 1],
    ["false", false, { retryActionsByDefault: true }, 1],
    ["the pool retries by default", undefined, { retryActionsByDefault: true }, 5],
  ] as const)("how often it runs when %s", async (_, retry, options, attempts) => {
    const { attempts: made } = await runFlaky(new TestApp(options), retry);
    expect(made).toHaveLength(attempts);
  });

  test("a RetryAfter says when the next attempt comes", async () => {
    const app = new TestApp();
    const retry = { maxAttempts: 2, initialBackoffMs: 10, base: 1 };
    const args = { label: "r", times: 1, afterMs: 20_000 };
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.refused, args, { retry }),
    );
    await app.drive();
    const [first = NaN, second] = (await app.events("attempt")).map(({ at }) => at);
    expect(second).toBeGreaterThanOrEqual(first + 20_000);
    expect(second).toBeLessThan(first + 20_500);
  });

  test("the pool's own default behavior is what true means", async () => {
    const defaultRetryBehavior = { maxAttempts: 2, initialBackoffMs: 10, base: 1 };
    const { attempts } = await runFlaky(new TestApp({ defaultRetryBehavior }), true);
    expect(attempts).toHaveLength(2);
  });

  test("a NonRetryableError stops at once", async () => {
    const { attempts, results } = await runFlaky(new TestApp(), true, { nonRetryable: true });
    expect(attempts).toHaveLength(1);
    expect(results).toMatchObject([{ kind: "failed", error: "attempt 1 failed" }]);
  });

  test("mutations are not retried", async () => {
    const app = new TestApp({ retryActionsByDefault: true });
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(
        ctx,
        internal.jobs.write,
        { label: "w", fails: true },
        { onComplete },
      ),
    );
    await app.drive();
    expect(await app.labels("ended")).toEqual(["failed"]);
  });

  test("a work that waits for its next attempt holds no slot, and has one scheduled function", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const retry = { maxAttempts: 2, initialBackoffMs: 10_000, base: 1 };
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.flaky, { label: "f" }, { retry }),
    );
    await app.drive(100);
    expect(await app.leftovers()).toMatchObject({ heldSlots: 0, scheduled: 1, works: 1 });
    expect(await app.t.query((ctx) => app.pool.status(ctx, id))).toEqual({
      state: "pending",
      previousAttempts: 1,
    });
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, { label: "between", ms: 1 }),
    );
    await app.drive(100);
    expect(await app.labels("end")).toEqual(["between"]);
  });

  test("the arguments are the same on every attempt, large ones too", async () => {
    const app = new TestApp();
    const label = "x".repeat(50_000);
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.flaky, { label, succeedsAt: 2 }, { retry: true }),
    );
    await app.drive();
    expect(await app.labels("attempt")).toEqual([label, label]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("works that failed together do not come back together", () => {
    const random = vi.spyOn(Math, "random");
    const waits = [0, 0.25, 0.999].map((value) => {
      random.mockReturnValue(value);
      return retryDelayMs(DEFAULT_RETRY_BEHAVIOR, 2);
    });
    expect(waits).toEqual([250, 375, expect.closeTo(749.5)]);
  });

  test("no wait is longer than maxBackoffMs, or than a year", () => {
    const base = { ...DEFAULT_RETRY_BEHAVIOR, maxAttempts: 2_000 };
    expect(retryDelayMs({ ...base, maxBackoffMs: 700 }, 20)).toBe(700);
    expect(retryDelayMs(base, 1_999)).toBe(365 * 24 * 60 * 60 * 1000);
  });
});
