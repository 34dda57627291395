import { describe, expect, test } from "vitest";
import type { WorkId } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";

virtualTime();

const onComplete = internal.callbacks.ended;
const { echo, flaky, sleep, write } = internal.jobs;
const cancel = (app: TestApp, id: WorkId) => app.t.mutation((ctx) => app.pool.cancel(ctx, id));
const retry = { maxAttempts: 3, initialBackoffMs: 10_000, base: 1 };

async function expectEnd(app: TestApp, ...kinds: string[]) {
  await app.drive();
  expect(await app.labels("ended")).toEqual(kinds);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
}

describe("cancel", () => {
  test("a waiting work never starts", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const id = await app.t.mutation(async (ctx) => {
      await app.pool.enqueueAction(ctx, sleep, { label: "first", ms: 100 });
      return await app.pool.enqueueAction(ctx, sleep, { label: "second", ms: 1 }, { onComplete });
    });
    await app.drive(50);
    await cancel(app, id);
    expect(await app.labels("ended")).toEqual(["canceled"]);
    await cancel(app, id);
    await expectEnd(app, "canceled");
    expect(await app.labels("start")).toEqual(["first"]);
    await app.driveOut();
    expect(await app.gateIsOpen()).toBe(true);
  });

  test("a waiting work with large arguments leaves none of them behind", async () => {
    const app = new TestApp({ maxParallelism: 0 });
    const value = "x".repeat(100_000);
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, echo, { value }, { onComplete, context: value }),
    );
    await cancel(app, id);
    await expectEnd(app, "canceled");
  });

  test("a delayed work never starts, and its scheduled function is gone", async () => {
    const app = new TestApp();
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, sleep, { label: "a", ms: 1 }, { runAfter: 5_000, onComplete }),
    );
    await cancel(app, id);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    await expectEnd(app, "canceled");
    expect(await app.labels("start")).toEqual([]);
  });

  test("a work that waits for a retry never starts again", async () => {
    const app = new TestApp();
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, flaky, { label: "a" }, { retry, onComplete }),
    );
    await app.drive(100);
    await cancel(app, id);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    await expectEnd(app, "canceled");
    expect(await app.labels("attempt")).toHaveLength(1);
  });

  test.each(["an action", "a mutation", "a delayed one", "one that waits in the queue"])(
    "in the transaction that enqueued it, it never starts: %s",
    async (which) => {
      const app = new TestApp({ maxParallelism: which === "one that waits in the queue" ? 0 : 1 });
      await app.t.mutation(async (ctx) => {
        const options = { onComplete, ...(which === "a delayed one" ? { runAfter: 99 } : {}) };
        const id =
          which === "a mutation"
            ? await app.pool.enqueueMutation(ctx, write, { label: "a" }, options)
            : await app.pool.enqueueAction(ctx, sleep, { label: "a", ms: 1 }, options);
        await app.pool.cancel(ctx, id);
      });
      await expectEnd(app, "canceled");
      expect(await app.labels("start")).toEqual([]);
      expect(await app.labels("write")).toEqual([]);
    },
  );

  test("the slot of a work that had not begun goes to the next in the queue", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await app.t.mutation(async (ctx) => {
      const id = await app.pool.enqueueAction(ctx, sleep, { label: "first", ms: 1 });
      await app.pool.enqueueAction(ctx, sleep, { label: "second", ms: 1 });
      await app.pool.cancel(ctx, id);
    });
    await app.drive();
    expect(await app.labels("end")).toEqual(["second"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test.each([
    ["succeeds", { succeedsAt: 1 }, "success", 1],
    ["fails with no attempt left", {}, "failed", 3],
    ["fails and may not be retried", { nonRetryable: true }, "failed", 1],
    ["fails with attempts left", {}, "canceled", 2],
  ] as const)("a running work that %s", async (what, args, kind, attempts) => {
    const app = new TestApp();
    const options = { retry: { ...retry, initialBackoffMs: 10 }, onComplete };
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, flaky, { label: "a", ms: 1_000, ...args }, options),
    );
    const isAt = async () => (await app.labels("attempt")).length;
    while ((await isAt()) < attempts) await app.drive(100);
    await cancel(app, id);
    await cancel(app, id);
    expect(await app.labels("ended"), what).toEqual([]);
    await expectEnd(app, kind);
    expect(await isAt()).toBe(attempts);
  });

  test("a running action may cancel its own work: it is not stopped", async () => {
    const app = new TestApp();
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, sleep, { label: "a", ms: 100 }, { onComplete }),
    );
    await app.drive(50);
    await app.t.action((ctx) => app.pool.cancel(ctx, id));
    await expectEnd(app, "success");
    expect(await app.labels("end")).toEqual(["a"]);
  });

  test("a finished or unknown work is left alone", async () => {
    const app = new TestApp();
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete }),
    );
    await app.drive();
    await cancel(app, id);
    await cancel(app, "unknown" as WorkId);
    await expectEnd(app, "success");
  });
});
