import {
  type GenericActionCtx,
  type GenericDataModel,
  type GenericMutationCtx,
  makeFunctionReference,
} from "convex/server";
import { describe, expect, test } from "vitest";
import { mostAtOnce, NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";

virtualTime();

const sleeps = (n: number, ms: number) =>
  Array.from({ length: n }, (_, i) => ({ label: `${i}`, ms }));

describe("starting", () => {
  test("an idle pool starts a work at once", async () => {
    const app = new TestApp();
    const enqueuedAt = Date.now();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, { label: "a", ms: 50 }),
    );
    await app.drive();
    expect(await app.events()).toMatchObject([
      { what: "start", at: enqueuedAt },
      { what: "end", at: enqueuedAt + 50 },
    ]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("actions, mutations and queries are enqueued from a mutation and from an action", async () => {
    const app = new TestApp();
    const onComplete = internal.callbacks.ended;
    await app.t.mutation(async (ctx) => {
      await app.pool.enqueueAction(ctx, internal.jobs.echo, { value: 1 }, { onComplete });
      await app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "w" }, { onComplete });
      await app.pool.enqueueQuery(ctx, internal.jobs.count, { label: "none" }, { onComplete });
    });
    await app.t.action(async (ctx) => {
      await app.pool.enqueueAction(ctx, internal.jobs.echo, { value: 2 }, { onComplete });
      await app.pool.enqueueQueryBatch(ctx, internal.jobs.count, [{ label: "x" }], { onComplete });
    });
    await app.drive();
    const values = (await app.events("ended")).map((event) => event.data.result.returnValue);
    expect(values.sort()).toEqual([0, 0, 0, 1, 2]);
    expect(await app.labels("write")).toEqual(["w"]);
  });

  test.each([1, 3, 10])(
    "never more than maxParallelism = %i run at once",
    { tags: ["large"] },
    async (max) => {
      const app = new TestApp({ maxParallelism: max });
      for (const args of sleeps(25, 100))
        await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.sleep, args));
      await app.drive();
      expect(await app.labels("end")).toHaveLength(25);
      expect(mostAtOnce(await app.events())).toBe(max);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("a batch runs no more than maxParallelism at once either", async () => {
    const app = new TestApp({ maxParallelism: 4 });
    const ids = await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, internal.jobs.sleep, sleeps(30, 100)),
    );
    expect(new Set(ids).size).toBe(30);
    await app.drive();
    expect(await app.labels("end")).toHaveLength(30);
    expect(mostAtOnce(await app.events())).toBe(4);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("one at a time, works start in the order in which they were enqueued", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    for (const args of sleeps(6, 10))
      await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.sleep, args));
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(
        ctx,
        internal.jobs.sleep,
        sleeps(6, 10).map(({ label, ms }) => ({ label: `batch ${label}`, ms })),
      ),
    );
    await app.drive();
    const labels = sleeps(6, 0).map(({ label }) => label);
    expect(await app.labels("start")).toEqual([...labels, ...labels.map((l) => `batch ${l}`)]);
  });

  test(
    "while others keep coming, nothing in the queue is passed over for long",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 3 });
      const jobs = sleeps(600, 10);
      await app.t.mutation((ctx) => app.pool.enqueueActionBatch(ctx, internal.jobs.sleep, jobs));
      await app.drive();
      const order = (await app.labels("start")).map(Number);
      // Each pick takes the oldest with a chance of a twelfth: 280 picks without it have a chance
      // of 3 in 10^11.
      order.forEach((place, rank) => expect(rank - place).toBeLessThan(280));
    },
  );

  test("no work waits while a slot is free", async () => {
    const app = new TestApp({ maxParallelism: 3 });
    const jobs = sleeps(20, 100);
    await app.t.mutation((ctx) => app.pool.enqueueActionBatch(ctx, internal.jobs.sleep, jobs));
    const started = Date.now();
    await app.drive();
    const last = (await app.events("start")).at(-1)!;
    // 20 jobs of 100 ms in 3 slots: 7 rounds. An executor waits 2 ms for other ends to report.
    expect(last.at - started).toBeLessThanOrEqual(602);
  });
});

describe("starting later", () => {
  test.each([
    ["runAfter", (now: number) => ({ runAfter: 5_000, now })],
    ["runAt", (now: number) => ({ runAt: now + 5_000, now })],
  ])("%s starts a work when its time has come, and holds no slot till then", async (_, options) => {
    const app = new TestApp({ maxParallelism: 1 });
    const now = Date.now();
    const { now: _now, ...when } = options(now);
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, { label: "later", ms: 1 }, when),
    );
    expect(await app.leftovers()).toMatchObject({ heldSlots: 0, scheduled: 1 });
    expect(await app.t.query((ctx) => app.pool.status(ctx, id))).toEqual({
      state: "pending",
      previousAttempts: 0,
    });
    await app.drive();
    expect((await app.events("start"))[0]?.at).toBe(now + 5_000);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("a delayed work stands in the queue when its time finds the pool full", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const now = Date.now();
    await app.t.mutation(async (ctx) => {
      const { sleep } = internal.jobs;
      await app.pool.enqueueAction(ctx, sleep, { label: "first", ms: 8_000 });
      await app.pool.enqueueAction(ctx, sleep, { label: "later", ms: 1 }, { runAfter: 5_000 });
    });
    await app.drive();
    expect(await app.events("start")).toMatchObject([
      { label: "first", at: now },
      { label: "later", at: now + 8_000 },
    ]);
  });

  test.each(["mutation", "action"] as const)(
    "a delayed batch of more than the 1,000 functions that a transaction schedules starts in time, all of it, from a mutation or action: %s",
    { tags: ["large"] },
    async (from) => {
      const WORKS = 1_300;
      const app = new TestApp({ maxParallelism: 0 });
      const now = Date.now();
      const argsList = Array.from({ length: WORKS }, (_, i) => ({ label: `${i}` }));
      type Ctx = Pick<
        GenericMutationCtx<GenericDataModel> | GenericActionCtx<GenericDataModel>,
        "runQuery" | "runMutation" | "scheduler"
      >;
      const enqueue = async (ctx: Ctx) => {
        const ids = await app.pool.enqueueMutationBatch(ctx, internal.jobs.write, argsList, {
          runAfter: 20_000,
        });
        // What else the caller schedules in the same transaction.
        for (let i = 0; i < 90; i++)
          await ctx.scheduler.runAfter(0, internal.jobs.record, { what: "own", label: "own" });
        return ids;
      };
      const ids =
        from === "mutation"
          ? await app.t.mutation((ctx) => enqueue(ctx))
          : await app.t.action((ctx) => enqueue(ctx));
      expect(new Set(ids).size).toBe(WORKS);
      await app.drive(10_000);
      expect(await app.leftovers()).toMatchObject({
        works: WORKS,
        scheduled: 1,
        continuations: 0,
        waiting: 0,
      });
      await app.drive(11_000 - (Date.now() - now - 10_000));
      expect(await app.leftovers()).toMatchObject({ works: WORKS, scheduled: 0, waiting: WORKS });
      expect(app.counter.violations).toEqual([]);
      expect(console.warn).not.toHaveBeenCalled();
    },
  );

  test(
    "a large delayed batch is canceled like any other, and so is its start",
    { tags: ["large"] },
    async () => {
      const app = new TestApp();
      const argsList = Array.from({ length: 1_200 }, (_, i) => ({ label: `${i}` }));
      const onComplete = internal.callbacks.ended;
      await app.t.mutation(async (ctx) => {
        const ids = await app.pool.enqueueMutationBatch(ctx, internal.jobs.write, argsList, {
          runAfter: 20_000,
          onComplete,
        });
        await app.pool.cancel(ctx, ids.at(-1)!);
        expect(await app.pool.status(ctx, ids.at(-2)!)).toMatchObject({ state: "pending" });
        await app.pool.cancelAll(ctx);
      });
      await app.driveOut();
      expect(await app.labels("ended")).toEqual(Array(1_200).fill("canceled"));
      expect(await app.labels("write")).toEqual([]);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  describe("[S230] works that are due within 50 ms", () => {
    const later = (app: TestApp, label: string, runAfter: number) =>
      app.t.mutation((ctx) =>
        app.pool.enqueueAction(ctx, internal.jobs.sleep, { label, ms: 1 }, { runAfter }),
      );
    const startsOf = async (app: TestApp, now: number) =>
      (await app.events("start")).map(({ label, at }) => [label, at - now]);

    test("start together, by one function: none before its time, and none later than 50 ms", async () => {
      const app = new TestApp();
      const now = Date.now();
      await later(app, "last", 10_050);
      await later(app, "first", 10_000);
      await later(app, "before", 9_990);
      await later(app, "behind", 10_060);
      expect(await app.leftovers()).toMatchObject({ works: 4, scheduled: 3 });
      await app.drive();
      expect((await startsOf(app, now)).toSorted()).toEqual([
        ["before", 9_990],
        ["behind", 10_060],
        ["first", 10_050],
        ["last", 10_050],
      ]);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    });

    test("wait no more than a hundredth longer: a short delay stays short", async () => {
      const app = new TestApp();
      const now = Date.now();
      await later(app, "last", 140);
      await later(app, "first", 100);
      await app.drive();
      expect(await startsOf(app, now)).toEqual([
        ["first", 100],
        ["last", 140],
      ]);
    });

    test("go on if one of them is canceled, and their start goes with the last of them", async () => {
      const app = new TestApp();
      const ids = [await later(app, "a", 10_000), await later(app, "b", 10_000)];
      ids.push(await later(app, "c", 10_000));
      await app.t.mutation((ctx) => app.pool.cancel(ctx, ids[0]!));
      expect(await app.leftovers()).toMatchObject({ works: 2, scheduled: 1 });
      await app.drive(9_000);
      await app.t.mutation((ctx) => app.pool.cancel(ctx, ids[1]!));
      await app.drive(2_000);
      expect(await app.labels("start")).toEqual(["c"]);
      await app.driveOut();
      const both = [await later(app, "d", 10_000), await later(app, "e", 10_000)];
      for (const id of both) await app.t.mutation((ctx) => app.pool.cancel(ctx, id));
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    });

    test("do not wait for a start that was lost", async () => {
      const app = new TestApp();
      const now = Date.now();
      await later(app, "lost", 10_000);
      await app.losePending("worker:startDue");
      await later(app, "other", 10_000);
      await app.drive();
      // The start of the one finds the other, too.
      expect(await startsOf(app, now)).toEqual([
        ["lost", 10_000],
        ["other", 10_000],
      ]);
    });

    test("all start in time, also if they are more than one transaction starts", async () => {
      const app = new TestApp({ maxParallelism: 0 });
      const argsList = Array.from({ length: 250 }, (_, i) => ({ label: `${i}` }));
      await app.t.mutation((ctx) =>
        app.pool.enqueueMutationBatch(ctx, internal.jobs.write, argsList, { runAfter: 20_000 }),
      );
      expect(await app.leftovers()).toMatchObject({ works: 250, scheduled: 1 });
      await app.drive(20_100);
      expect(await app.leftovers()).toMatchObject({ waiting: 250, scheduled: 0 });
      expect(app.counter.violations).toEqual([]);
    });
  });

  test("a start that comes again changes nothing", async () => {
    const app = new TestApp();
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, { label: "a", ms: 99 }, { runAfter: 10 }),
    );
    await app.drive(50);
    const startDue = makeFunctionReference<"mutation">("worker:startDue");
    await app.inPool((ctx) => ctx.runMutation(startDue, { workId: id, attempt: 1 }));
    expect(await app.leftovers()).toMatchObject({ heldSlots: 1 });
    await app.drive();
    expect(await app.labels("start")).toEqual(["a"]);
  });

  test("a time that can only be a mistake is replaced, and logged", async () => {
    const app = new TestApp();
    const now = Date.now();
    const year = 365 * 24 * 60 * 60 * 1000;
    await app.t.mutation(async (ctx) => {
      const { write } = internal.jobs;
      await app.pool.enqueueMutation(ctx, write, { label: "past" }, { runAt: now / 1000 });
      await app.pool.enqueueMutation(ctx, write, { label: "far" }, { runAt: now + 5 * year });
    });
    expect(console.warn).toHaveBeenCalledTimes(2);
    // No timer reaches as far as that, so the stored time is looked at.
    const works = await app.inPool((ctx) => ctx.db.query("works").collect());
    expect(works.map((work) => work.due?.at)).toEqual([undefined, now + year]);
  });

  test("an enqueue that cannot be meant is refused, and leaves nothing", async () => {
    const app = new TestApp();
    const enqueue = (options: object) =>
      app.t.mutation((ctx) =>
        app.pool.enqueueAction(ctx, internal.jobs.echo, { value: 1 }, options),
      );
    await expect(enqueue({ runAt: 1, runAfter: 1 })).rejects.toThrow(
      "Enqueueing jobs:echo: both runAt and runAfter",
    );
    await expect(enqueue({ runAfter: NaN })).rejects.toThrow(
      "runAfter is NaN: give a number of ms",
    );
    const retry = { maxAttempts: 0, initialBackoffMs: 1, base: 2 };
    await expect(enqueue({ retry })).rejects.toThrow("retry.maxAttempts is 0");
    expect(() => new TestApp({ maxParallelism: 201 })).toThrow("maxParallelism is 201");
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe("status", () => {
  test("tells pending from running from finished", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const ids = await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, internal.jobs.sleep, sleeps(2, 100)),
    );
    const states = async () =>
      (await app.t.query((ctx) => app.pool.statusBatch(ctx, ids))).map(({ state }) => state);
    expect(await states()).toEqual(["running", "pending"]);
    await app.drive(150);
    expect(await states()).toEqual(["finished", "running"]);
    await app.drive();
    expect(await states()).toEqual(["finished", "finished"]);
  });

  test("an unknown id is finished", async () => {
    const app = new TestApp();
    const id = "no id at all" as Parameters<typeof app.pool.status>[1];
    expect(await app.t.query((ctx) => app.pool.status(ctx, id))).toEqual({ state: "finished" });
    await app.t.mutation((ctx) => app.pool.cancel(ctx, id));
  });
});
