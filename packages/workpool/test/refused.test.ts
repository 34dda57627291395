import { ConvexError } from "convex/values";
import { describe, expect, test } from "vitest";
import { type EnqueueOptions, LimitError, type WorkId, Workpool } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/* Limits for which so many wait at most. */

virtualTime();

const limits = {
  tenant: { perKey: 1, maxWaiting: 2 },
  exports: { total: 1, maxWaiting: 0 },
  free: { total: 1 },
};
const { flaky, sleep } = internal.jobs;
type Options = Pick<EnqueueOptions, "limits" | "runAfter">;

function crowded(maxParallelism = 10) {
  const app = new TestApp();
  const pool = new Workpool(components.workpool, { maxParallelism, limits });
  const enqueue = async (label: string, options: Options, count = 1) =>
    await app.t.mutation(async (ctx) => {
      const argsList = Array.from({ length: count }, () => ({ label, ms: 1_000 }));
      await pool.enqueueActionBatch(ctx, sleep, argsList, options as object);
    });
  const errorOf = async (call: Promise<void>): Promise<unknown> =>
    await call.then(
      () => "none",
      (error: unknown) => error,
    );
  return { app, pool, enqueue, errorOf };
}

describe("a limit with maxWaiting", () => {
  test("[S208] refuses an enqueue that would have to wait where too many do, and takes the next when one has begun", async () => {
    const { app, pool, enqueue } = crowded();
    const a = { limits: { tenant: "a" } };
    for (let n = 0; n < 3; n++) await enqueue(`a${n}`, a);
    // In a mutation it is an instance; whoever calls that sees the data.
    await app.t.mutation(async (ctx) => {
      const refused = pool.enqueueAction(ctx, sleep, { label: "no", ms: 1 }, a);
      await expect(refused).rejects.toBeInstanceOf(LimitError);
      await expect(refused).rejects.toMatchObject({ limit: "tenant", key: "a", waiting: 2 });
    });
    const error = await enqueue("no", a).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConvexError);
    expect((error as LimitError).data).toMatchObject({
      message:
        'Too many would wait for the limit "tenant" of "a": 2 do already, and its maxWaiting has no room for what was to be added',
      limit: "tenant",
      key: "a",
      waiting: 2,
    });
    await enqueue("b", { limits: { tenant: "b" } });
    await enqueue("other", { limits: { free: true } });
    await app.drive(1_500);
    await enqueue("a3", a);
    await app.drive();
    expect((await app.labels("start")).toSorted()).toEqual(["a0", "a1", "a2", "a3", "b", "other"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S208] counts those of a batch, also those that wait for a slot, and enqueues all or none", async () => {
    const { app, enqueue, errorOf } = crowded(1);
    const [a, all] = [{ limits: { tenant: "a" } }, { limits: { exports: true } }] as const;
    const message = expect.stringContaining(
      "0 do already, and its maxWaiting has no room for what",
    );
    expect(await errorOf(enqueue("a", a, 4))).toMatchObject({ data: { waiting: 0, message } });
    expect(await app.leftovers()).toMatchObject({ heldSlots: 0, limited: 0, waiting: 0 });
    expect(await errorOf(enqueue("a", a, 3))).toBe("none");
    // The only slot is taken.
    expect(await errorOf(enqueue("e", all))).toMatchObject({ data: { limit: "exports" } });
    await app.drive();
    expect(await errorOf(enqueue("e", all))).toBe("none");
    expect(await errorOf(enqueue("e", all))).toMatchObject({ data: { waiting: 0 } });
    await app.drive();
    expect(await app.labels("end")).toEqual(["a", "a", "a", "e"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S208] counts those that were enqueued before in the same transaction, one by one", async () => {
    const { app, pool, enqueue } = crowded();
    const a = { limits: { tenant: "a" } };
    await app.t.mutation(async (ctx) => {
      const ids: WorkId[] = [];
      const enqueueOne = async (label: string) =>
        await pool.enqueueAction(ctx, sleep, { label, ms: 1_000 }, a as object);
      const refused = { limit: "tenant", key: "a", waiting: 2 };
      for (const label of ["a0", "a1", "a2"]) ids.push(await enqueueOne(label));
      await expect(enqueueOne("no")).rejects.toMatchObject(refused);
      await pool.cancel(ctx, ids[2]!);
      await enqueueOne("a3");
      await expect(enqueueOne("no")).rejects.toMatchObject(refused);
    });
    await expect(enqueue("no", a)).rejects.toMatchObject({ data: { waiting: 2 } });
    await app.drive();
    expect(await app.labels("end")).toEqual(["a0", "a1", "a3"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S208] refuses no later start: of another attempt, or of a work that is due", async () => {
    const { app, pool, enqueue } = crowded();
    const one = { limits: { exports: true } } as const;
    const args = { label: "flaky", succeedsAt: 2 };
    const retry = { maxAttempts: 2, initialBackoffMs: 500, base: 1 };
    await app.t.mutation((ctx) =>
      pool.enqueueAction(ctx, flaky, args, { ...one, retry, onComplete: internal.callbacks.ended }),
    );
    await enqueue("later", { ...one, runAfter: 400 });
    await app.drive(100);
    await enqueue("between", one);
    await app.drive();
    expect(await app.labels("ended")).toEqual(["success"]);
    expect(await app.labels("end")).toEqual(["between", "later"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S208] counts those that wait for its rate, of all keys of other limits", async () => {
    const app = new TestApp();
    const rate = { limit: 1, per: "1h" };
    const pool = new Workpool(components.workpool, {
      limits: { api: { rate, maxWaiting: 2 }, tenant: { perKey: 5 } },
    });
    const enqueue = (tenant: string) =>
      app.t.mutation((ctx) =>
        pool.enqueueAction(ctx, sleep, { label: tenant, ms: 1 }, { limits: { api: true, tenant } }),
      );
    for (const tenant of ["a", "b", "c"]) await enqueue(tenant);
    await expect(enqueue("d")).rejects.toMatchObject({ data: { limit: "api", waiting: 2 } });
  });

  test(
    "[S208] counts all, also where lines are empty, as those in them were canceled",
    { tags: ["large"] },
    async () => {
      const app = new TestApp();
      const pool = new Workpool(components.workpool, {
        limits: { scarce: { total: 1, maxWaiting: 2 }, tenant: { perKey: 1 } },
      });
      const enqueueIn = (ctx: Parameters<typeof pool.cancel>[0], tenant: string) =>
        pool.enqueueAction(
          ctx,
          sleep,
          { label: tenant, ms: 10 },
          { limits: { scarce: true, tenant } },
        );
      const enqueue = (tenant: string) => app.t.mutation((ctx) => enqueueIn(ctx, tenant));
      await enqueue("runs");
      await app.t.mutation(async (ctx) => {
        for (let n = 0; n < 40; n++) await pool.cancel(ctx, await enqueueIn(ctx, `gone${n}`));
      });
      for (const tenant of ["a", "b"]) await enqueue(tenant);
      await expect(enqueue("c")).rejects.toMatchObject({ data: { limit: "scarce", waiting: 2 } });
      await app.drive();
      expect((await app.labels("end")).toSorted()).toEqual(["a", "b", "runs"]);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("[S208] is refused if it is no whole number from 0 to 1,000", () => {
    for (const maxWaiting of [-1, 0.5, 1_001, NaN])
      expect(
        () => new Workpool(components.workpool, { limits: { x: { total: 1, maxWaiting } } }),
      ).toThrow(
        `The maxWaiting of the limit "x" is ${maxWaiting}: it must be a whole number from 0 to 1000`,
      );
  });
});
