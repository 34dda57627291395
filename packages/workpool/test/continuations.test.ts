/** @module-tag large */
import { makeFunctionReference } from "convex/server";
import { describe, expect, test, vi } from "vitest";
import { reviveContinuations } from "../src/core/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/* What one transaction cannot do goes on in further ones: and does so whatever becomes of those. */

virtualTime();

const SECOND = 1_000;
const onComplete = internal.callbacks.ended;
const { echo, hangWith, size, wait, write } = internal.jobs;
const { workpool } = components;

const labels = (n: number) => Array.from({ length: n }, (_, i) => ({ label: `${i}` }));
const sweeps = (app: TestApp) =>
  app.counter.totals((call) => call.name === "watchdog:sweep").rootExecutions;

/* As convex-test calls it: its context and arguments are those of any function. */
type Handler = (ctx: any, args: any) => Promise<unknown>;

/**
 * The handler of a function of the component, to be spied on. Nobody outside is to call it, so no
 * type has it.
 */
async function handlerOf(module: "cancelAll" | "watchdog" | "recovery", name: string) {
  const modules = {
    cancelAll: () => import("../src/component/cancelAll.js"),
    watchdog: () => import("../src/component/watchdog.js"),
    recovery: () => import("../src/component/recovery.js"),
  };
  const loaded = (await modules[module]()) as Record<string, unknown>;
  const registered = loaded[name] as { _handler: Handler };
  const original = registered._handler;
  return { spy: vi.spyOn(registered, "_handler"), original };
}

/** Has a scheduled function be lost, in one way or another. */
const WAYS: Record<string, (app: TestApp, name: string) => Promise<void>> = {
  "is canceled by hand": async (app, name) => {
    expect(await app.losePending(name)).toBeGreaterThan(0);
  },
  "is gone": async (app, name) => {
    expect(await app.losePending(name, { gone: true })).toBeGreaterThan(0);
  },
  throws: async (_, name) => {
    const [module, fn] = name.split(":") as [Parameters<typeof handlerOf>[0], string];
    const { spy } = await handlerOf(module, fn);
    spy.mockImplementationOnce(async () => {
      throw new Error("it throws");
    });
  },
};
const ways = Object.entries(WAYS);

async function paused(): Promise<TestApp> {
  const app = new TestApp();
  await app.setMaxParallelism(0);
  return app;
}

const enqueueWrites = (app: TestApp, n: number) =>
  app.t.mutation((ctx) => app.pool.enqueueMutationBatch(ctx, write, labels(n), { onComplete }));

/** Works with arguments of which a transaction can start a few. */
async function enqueueLarge(
  app: TestApp,
  parts: number,
  fn: typeof size | typeof hangWith = size,
): Promise<void> {
  const texts = Array.from({ length: 8 }, () => ({ text: "x".repeat(900_000) }));
  for (let part = 0; part < parts; part++)
    await app.t.mutation((ctx) => app.pool.enqueueActionBatch(ctx, fn, texts, { onComplete }));
}

const lineAndSlots = (app: TestApp) =>
  app.inPool(async (ctx) => {
    const slots = await ctx.db.query("slots").collect();
    return {
      waiting: (await ctx.db.query("waiting").collect()).length,
      held: slots.filter((slot) => slot.work !== undefined).length,
      watched: (await ctx.db.query("watch").first())?.job !== undefined,
    };
  });

describe.each(ways)("a page that %s", (_, lose) => {
  test("of a cancelAll goes on with the watchdog's next sweep, though the pool is idle or paused", async () => {
    const app = await paused();
    await enqueueWrites(app, 30);
    await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 10 }));
    await lose(app, "cancelAll:nextPage");
    await app.drive(29 * SECOND);
    expect(await app.labels("ended")).toHaveLength(10);
    await app.drive(2 * SECOND);
    expect(await app.labels("ended")).toEqual(Array(30).fill("canceled"));
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test(
    "of a resume that is too large for one transaction goes on: no work waits while a slot is free",
    { tags: ["large"] },
    async () => {
      const app = await paused();
      // They never end, so that no completion passes a slot on.
      await enqueueLarge(app, 4, hangWith);
      await app.setMaxParallelism(100);
      await lose(app, "watchdog:drainQueue");
      await app.drive(29 * SECOND);
      expect((await lineAndSlots(app)).held).toBe(0);
      await app.drive(2 * SECOND);
      expect(await lineAndSlots(app)).toMatchObject({ waiting: 0, held: 32 });
    },
  );

  test("of a resume whose own transaction has no room to start anything goes on", async () => {
    const app = await paused();
    await enqueueWrites(app, 5);
    await app.t.mutation(async (ctx) => {
      for (let i = 0; i < 997; i++)
        await ctx.scheduler.runAfter(3_600 * SECOND, write, { label: "" });
      await ctx.runMutation(workpool.config.update, { maxParallelism: 10 });
    });
    expect(await lineAndSlots(app)).toMatchObject({ waiting: 5, held: 0 });
    await lose(app, "watchdog:drainQueue");
    await app.drive(29 * SECOND);
    expect(await app.labels("ended")).toEqual([]);
    await app.drive(2 * SECOND);
    expect(await app.labels("ended")).toEqual(Array(5).fill("success"));
    await app.drive(600 * SECOND);
    expect(await lineAndSlots(app)).toEqual({ waiting: 0, held: 0, watched: false });
    expect(await app.gateIsOpen()).toBe(true);
  });
});

test("a page that has run goes on with the watchdog's next sweep, where its row is from a backup", async () => {
  const app = new TestApp();
  await enqueueWrites(app, 1);
  await app.driveOut();
  await app.setMaxParallelism(0);
  await enqueueWrites(app, 30);
  await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 10 }));
  await app.putBackContinuations();
  await app.drive(31 * SECOND);
  expect(await app.labels("ended")).toEqual(["success", ...Array(30).fill("canceled")]);
  await app.driveOut();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("a page that cannot be scheduled, as its function is gone, keeps nothing else from going on", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  const app = await paused();
  await enqueueWrites(app, 30);
  await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 10 }));
  await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 10 }));
  expect(await app.losePending("cancelAll:nextPage", { gone: true })).toBe(2);
  await app.inPool(async (ctx) => {
    const lost = (await ctx.db.query("continuations").collect()).map(({ _id }) => _id);
    const runAfter: typeof ctx.scheduler.runAfter = async (ms, fn, ...args) => {
      // As Convex answers, and convex-test does not.
      if (JSON.stringify(args).includes(lost[0]!)) throw new Error("no such function");
      return await ctx.scheduler.runAfter(ms, fn, ...args);
    };
    const of = { ...ctx, scheduler: { ...ctx.scheduler, runAfter } };
    await reviveContinuations(of, true, { any: true, lost });
  });
  expect(error.mock.calls).toEqual([["What should have gone on cannot: no such function"]]);
  await app.drive(SECOND);
  expect(await app.labels("ended")).toEqual(Array(30).fill("canceled"));
});

describe("a work that cannot be canceled", () => {
  const value = "x".repeat(20_000);
  /** Has the first of the works with large arguments have none. */
  const breakFirst = (app: TestApp) =>
    app.inPool(async (ctx) => {
      const large = await ctx.db.query("largeValues").first();
      await ctx.db.delete("largeValues", large!._id);
    });

  test.each([
    ["waits in the queue", {}],
    ["is delayed", { runAfter: 3_600 * SECOND }],
  ])(
    "as its record is broken, is set aside by a cancelAll, and the others are canceled: it %s",
    async (_, when) => {
      const app = await paused();
      const ids = await app.t.mutation(async (ctx) => {
        const ids: string[] = [];
        for (const each of [1, value, 2, 3])
          ids.push(
            await app.pool.enqueueAction(ctx, echo, { value: each }, { onComplete, ...when }),
          );
        return ids;
      });
      await breakFirst(app);
      await app.t.mutation((ctx) => app.pool.cancelAll(ctx));
      expect(await app.labels("ended")).toEqual(["canceled", "canceled", "canceled"]);
      const list = await app.t.query((ctx) => ctx.runQuery(workpool.setAside.list, {}));
      expect(list).toMatchObject([
        { workId: ids[1], error: expect.stringMatching(/^It could not be canceled/) },
      ]);
      await app.setMaxParallelism(1);
      await app.driveOut();
      expect(await app.leftovers()).toEqual({ ...NOTHING_LEFT, works: 1, setAside: 1 });
      // Again, it is set aside once.
      await app.t.mutation((ctx) => app.pool.cancelAll(ctx));
      expect(await app.leftovers()).toEqual({ ...NOTHING_LEFT, works: 1, setAside: 1 });
    },
  );

  test("and fails its page so that nobody can catch it, is set aside when it has done so twice more, alone", async () => {
    const app = await paused();
    const ids = await enqueueWrites(app, 12);
    const { spy, original } = await handlerOf("cancelAll", "nextPage");
    // As the platform does with a function whose time is up: whatever it did is undone, and nothing
    // of it goes on.
    spy.mockImplementation(async (ctx, args) => {
      await original(ctx, args);
      if ((await ctx.db.get("works", ids[4])) === null) throw new Error("Its time is up");
      return null;
    });
    await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 5 }));
    await app.drive(600 * SECOND);
    expect(await app.labels("ended")).toEqual(Array(11).fill("canceled"));
    const list = await app.t.query((ctx) => ctx.runQuery(workpool.setAside.list, {}));
    expect(list).toMatchObject([{ workId: ids[4] }]);
    await app.driveOut();
    expect(await app.leftovers()).toEqual({ ...NOTHING_LEFT, works: 1, setAside: 1 });
  });
});

describe("what goes on in pages", () => {
  test(
    "costs an execution a page, and one sweep of the watchdog after it",
    { tags: ["large"] },
    async () => {
      const app = await paused();
      await enqueueWrites(app, 100);
      app.counter.clear();
      await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 10 }));
      await app.driveOut();
      const roots = app.counter.totals((call) => call.name !== "inline").rootExecutions;
      // One page is part of the call, and the last finds that nothing is left.
      expect(roots - sweeps(app)).toBe(10);
      expect(sweeps(app)).toBe(1);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("is not done twice by a sweep that finds it under way", async () => {
    const app = await paused();
    await enqueueWrites(app, 30);
    await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: 10 }));
    // A sweep before its next page.
    await app.inPool(async (ctx) => {
      const sweep = makeFunctionReference<"mutation">("watchdog:sweep");
      const { generation } = (await ctx.db.query("watch").first())!;
      await ctx.runMutation(sweep, { generation });
    });
    await app.driveOut();
    expect(await app.labels("ended")).toEqual(Array(30).fill("canceled"));
    expect(app.counter.totals((call) => call.name === "cancelAll:nextPage").executions).toBe(3);
  });
});

describe("while a raise of maxParallelism goes on in further transactions", () => {
  test("and that throws again and again, the watchdog stays on until it does not", async () => {
    const app = await paused();
    await enqueueWrites(app, 5);
    const { spy } = await handlerOf("watchdog", "drainQueue");
    // The scheduled one, and that of the first sweep.
    for (let i = 0; i < 2; i++)
      spy.mockImplementationOnce(async () => {
        throw new Error("it throws");
      });
    await app.t.mutation(async (ctx) => {
      for (let i = 0; i < 997; i++)
        await ctx.scheduler.runAfter(3_600 * SECOND, write, { label: "" });
      await ctx.runMutation(workpool.config.update, { maxParallelism: 10 });
    });
    await app.drive(35 * SECOND);
    expect(await app.labels("ended")).toEqual([]);
    await app.drive(10 * SECOND);
    expect(await app.labels("ended")).toEqual(Array(5).fill("success"));
  });

  test(
    "an enqueue does not pass those that wait, though slots are free",
    { tags: ["large"] },
    async () => {
      const app = await paused();
      await enqueueLarge(app, 2);
      await app.setMaxParallelism(100);
      const { waiting, held } = await lineAndSlots(app);
      expect(waiting).toBeGreaterThan(0);
      expect(held).toBeLessThan(100);
      // One alone, and a batch.
      await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, wait, { ms: 1 }));
      await app.t.mutation((ctx) => app.pool.enqueueActionBatch(ctx, wait, [{ ms: 1 }, { ms: 1 }]));
      expect(await lineAndSlots(app)).toMatchObject({ waiting: waiting + 3, held });
      await app.driveOut();
      expect(await lineAndSlots(app)).toEqual({ waiting: 0, held: 0, watched: false });
      // And then one takes a slot again.
      await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, wait, { ms: 1 }));
      expect(await lineAndSlots(app)).toMatchObject({ waiting: 0, held: 1 });
    },
  );

  test("a pause ends it, and then the watch", { tags: ["large"] }, async () => {
    const app = await paused();
    await enqueueLarge(app, 2);
    await app.setMaxParallelism(100);
    await app.setMaxParallelism(0);
    await app.driveOut();
    expect(await lineAndSlots(app)).toMatchObject({ held: 0, watched: false });
    expect((await lineAndSlots(app)).waiting).toBeGreaterThan(0);
    await app.setMaxParallelism(1);
    await app.driveOut();
    expect(await lineAndSlots(app)).toEqual({ waiting: 0, held: 0, watched: false });
  });
});
