/** @module-tag large */
import { describe, expect, test, vi } from "vitest";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";

virtualTime();

const {
  again,
  ended,
  throwing,
  throwingMuch,
  insatiable,
  lowering,
  measuring,
  twoLong,
  typed,
  voracious,
} = internal.callbacks;
const failedCallbacks = (app: TestApp) =>
  app.inPool((ctx) => ctx.db.query("failedCallbacks").collect());

/** Starts a work of a minute, and one of a second with a callback. */
const startLongAndShort = async (app: TestApp, onComplete: typeof again) => {
  await app.t.mutation(async (ctx) => {
    const { sleep } = internal.jobs;
    await app.pool.enqueueAction(ctx, sleep, { label: "long", ms: 60_000 });
    await app.pool.enqueueAction(ctx, sleep, { label: "short", ms: 1_000 }, { onComplete });
  });
};

describe("onComplete", () => {
  test("is called once for every outcome, with the id and the context", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    const { echo, flaky, sleep, write } = internal.jobs;
    const ids = await app.t.mutation(async (ctx) => {
      const option = (context: unknown) => ({ onComplete: ended, context });
      const a = await app.pool.enqueueAction(ctx, echo, { value: { x: 1n } }, option("success"));
      const b = await app.pool.enqueueAction(ctx, flaky, { label: "f" }, option({ deep: [1] }));
      const c = await app.pool.enqueueMutation(ctx, write, { label: "w" }, option(null));
      const d = await app.pool.enqueueMutation(ctx, write, { label: "w", fails: true }, option(0));
      const e = await app.pool.enqueueAction(ctx, sleep, { label: "s", ms: 1 }, option("e"));
      await app.pool.cancel(ctx, e);
      return [a, b, c, d, e];
    });
    await app.drive();
    const [a, b, c, d, e] = ids;
    const got = (await app.events("ended")).map((event) => event.data);
    expect(got).toHaveLength(5);
    expect(got).toEqual(
      expect.arrayContaining([
        { workId: a, context: "success", result: { kind: "success", returnValue: { x: 1n } } },
        {
          workId: b,
          context: { deep: [1] },
          result: { kind: "failed", error: "attempt 1 failed" },
        },
        { workId: c, context: null, result: { kind: "success", returnValue: 0 } },
        { workId: d, context: 0, result: { kind: "failed", error: "writing w failed" } },
        { workId: e, context: "e", result: { kind: "canceled" } },
      ]),
    );
  });

  test("gets the data of a ConvexError, from works of their own, of executors and from mutations", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    const { coded, codedMutation, flaky } = internal.jobs;
    const data = { code: "SOLD_OUT", left: 0 };
    await app.t.mutation(async (ctx) => {
      const given = [...Array(20).keys()].map((n) => ({ data: { ...data, n } }));
      await app.pool.enqueueActionBatch(ctx, coded, given, { onComplete: ended });
      await app.pool.enqueueMutation(ctx, codedMutation, { data }, { onComplete: ended });
      await app.pool.enqueueAction(ctx, flaky, { label: "plain" }, { onComplete: ended });
    });
    await app.drive();
    expect(app.counter.calls.some(({ name }) => name === "executor:execute")).toBe(true);
    const got = (await app.events("ended")).map((event) => event.data.result);
    expect(got.map(({ errorData }) => errorData)).toEqual(
      expect.arrayContaining([...[...Array(20).keys()].map((n) => ({ ...data, n })), data]),
    );
    expect(got.filter((result) => !("errorData" in result))).toEqual([
      { kind: "failed", error: "attempt 1 failed" },
    ]);
  });

  test.each([
    ["large", /^x+ … \(2000000 characters\) \(its data takes 200000\d bytes; at most 1000000 /],
    ["huge", /^sold out \(its data takes 20\d+ bytes; at most 1000000 are kept\)$/],
    ["long", /^sold out \(its data has 9000 elements at its data; /],
    ["deep", /^sold out \(its data(\[0\])+ is nested more than \d+ deep\)$/],
    ["half", /^sold out \(its data.text is a text with half a surrogate pair/],
    ["finally", /^sold out \(its data takes 2\d+ bytes; at most 1000000 are kept\)$/],
  ])("gets the message of an error whose data cannot be kept: %s", async (odd, message) => {
    const app = new TestApp({ maxParallelism: 2 });
    const { oddlyCoded, oddlyCodedMutation } = internal.jobs;
    await app.t.mutation(async (ctx) => {
      const all = Array.from({ length: 12 }, () => ({ odd }));
      await app.pool.enqueueActionBatch(ctx, oddlyCoded, all, { onComplete: ended });
      await app.pool.enqueueMutation(ctx, oddlyCodedMutation, { odd }, { onComplete: ended });
    });
    await app.drive();
    expect(app.counter.calls.some(({ name }) => name === "executor:execute")).toBe(true);
    const got = (await app.events("ended")).map((event) => event.data.result);
    const failed = { kind: "failed", error: expect.stringMatching(message) };
    expect(got).toEqual(Array.from({ length: 13 }, () => failed));
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("an error whose data cannot be kept is tried again as any other", async () => {
    const app = new TestApp();
    const { oddlyCoded } = internal.jobs;
    const retry = { maxAttempts: 3, initialBackoffMs: 10, base: 1 };
    const options = { onComplete: ended, retry };
    await app.t.mutation(async (ctx) => {
      for (const odd of ["deep", "later", "finally"])
        await app.pool.enqueueAction(ctx, oddlyCoded, { odd }, options);
    });
    await app.drive();
    const calls = app.counter.calls.filter(({ name }) => name === "jobs:oddlyCoded");
    expect(calls).toHaveLength(3 + 3 + 1);
  });

  test("that throws as much as no document holds is kept with the beginning of that", async () => {
    const app = new TestApp();
    const { echo, write } = internal.jobs;
    await app.t.mutation(async (ctx) => {
      await app.pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete: throwingMuch });
      const given = { label: "w" };
      await app.pool.enqueueMutation(ctx, write, given, { onComplete: throwingMuch });
    });
    await app.drive();
    const failed = await failedCallbacks(app);
    expect(failed).toHaveLength(2);
    for (const { resultKind, error } of failed) {
      expect(resultKind).toBe("success");
      expect(error).toMatch(/^x+ … \(2000000 characters\)$/);
      expect(error).toHaveLength(64_000);
    }
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("a large context comes back whole, and is deleted with the work", async () => {
    const app = new TestApp();
    const context = "c".repeat(500_000);
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.echo, { value: 1 }, { onComplete: ended, context }),
    );
    expect(await app.leftovers()).toMatchObject({ largeValues: 1 });
    await app.drive();
    expect((await app.events("ended"))[0]?.data.context).toBe(context);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("is not called for the excluded kinds", async () => {
    const app = new TestApp();
    await app.t.mutation(async (ctx) => {
      const options = { onComplete: ended, onCompleteExcludeKinds: ["success" as const] };
      await app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "w" }, options);
      await app.pool.enqueueMutation(
        ctx,
        internal.jobs.write,
        { label: "w", fails: true },
        options,
      );
    });
    await app.drive();
    expect(await app.labels("ended")).toEqual(["failed"]);
  });

  test("null is no callback", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.echo, { value: 1 }, { onComplete: null }),
    );
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test.each([
    ["an action", "echo"],
    ["a mutation", "write"],
    ["a canceled work", "cancel"],
  ])(
    "a throwing callback run twice and its error kept nowhere: one that throws is rolled back, not called again, and kept: %s",
    async (_, how) => {
      const app = new TestApp();
      const options = { onComplete: throwing, name: "named" };
      const id = await app.t.mutation(async (ctx) => {
        if (how === "write")
          return await app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "w" }, options);
        const work = await app.pool.enqueueAction(ctx, internal.jobs.echo, { value: 1 }, options);
        if (how === "cancel") await app.pool.cancel(ctx, work);
        return work;
      });
      await app.drive();
      expect(await app.labels("callback")).toEqual([]);
      expect(await app.labels("write")).toEqual(how === "write" ? ["w"] : []);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
      expect(await failedCallbacks(app)).toMatchObject([
        {
          workId: id,
          name: "named",
          resultKind: how === "cancel" ? "canceled" : "success",
          error: "the callback failed",
        },
      ]);
      expect(console.error).toHaveBeenCalledWith(
        expect.stringContaining('The onComplete of "named" threw; its writes are rolled back'),
      );
      const calls = app.counter.calls.filter((call) => call.name === "callbacks:throwing");
      expect(calls).toHaveLength(1);
    },
  );

  test(
    "one that uses up its transaction does not keep the work from ending",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 1 });
      await app.t.mutation(async (ctx) => {
        const { write } = internal.jobs;
        await app.pool.enqueueMutation(ctx, write, { label: "a" }, { onComplete: insatiable });
        await app.pool.enqueueMutation(ctx, write, { label: "b" });
      });
      await app.drive();
      expect(await app.labels("write")).toEqual(["a", "b"]);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
      expect(await failedCallbacks(app)).toHaveLength(1);
    },
  );

  /** Found by the simulator: the read that was too much left nothing to record the failure with. */
  test("one that reads a large document too often does not keep the work from ending", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await app.t.mutation(async (ctx) => {
      const large = { what: "write", label: "large", at: 0, data: "x".repeat(900_000) } as const;
      await ctx.db.insert("events", large);
      const { write } = internal.jobs;
      await app.pool.enqueueMutation(ctx, write, { label: "a" }, { onComplete: voracious });
    });
    await app.drive();
    expect(await app.labels("write")).toEqual(["large", "a"]);
    expect(await failedCallbacks(app)).toHaveLength(1);
  });

  test("may not use up what it takes to record that it failed", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "a" }, { onComplete: measuring }),
    );
    await app.drive();
    expect((await app.events("may write"))[0]?.data).toBe(16_000 - 4);
  });

  test("finds its work finished, and may enqueue the next in a pool of one", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(
        ctx,
        internal.jobs.sleep,
        { label: "first", ms: 1 },
        { onComplete: typed, context: { next: "second" } },
      ),
    );
    await app.drive();
    expect((await app.events("typed"))[0]?.data).toEqual({
      context: { next: "second" },
      value: "FIRST",
      status: { state: "finished" },
    });
    expect(await app.labels("write")).toEqual(["second"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S187] may enqueue the next in its own slot, whatever a snapshot shows of the others", async () => {
    let lag = 0;
    const app = new TestApp({}, () => lag);
    await app.setMaxParallelism(2);
    await startLongAndShort(app, again);
    // It lacks the start of what runs: a slot is free in it.
    lag = 3;
    await app.drive(30_000);
    expect(await app.labels("write")).toEqual(["renewed"]);
  });

  test("[S187] may enqueue more works than other slots are free: the last begins in its own", async () => {
    const app = new TestApp();
    await app.setMaxParallelism(3);
    await startLongAndShort(app, twoLong);
    await app.drive(30_000);
    expect(await app.labels("start")).toEqual(["long", "short", "one", "other"]);
  });

  test("may lower maxParallelism: its own slot goes too, if it is one too many", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const app = new TestApp();
    await app.setMaxParallelism(2);
    await startLongAndShort(app, lowering);
    await app.drive(30_000);
    const slots = await app.inPool((ctx) => ctx.db.query("slots").collect());
    expect(slots.map(({ number }) => number)).toEqual([0]);
  });

  test("a result that does not fit its validator fails the callback, not the work", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(
        ctx,
        internal.jobs.echo,
        { value: 7 },
        { onComplete: typed, context: { next: "never" } },
      ),
    );
    await app.drive();
    expect(await failedCallbacks(app)).toHaveLength(1);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("a failure that nobody is told of is logged", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "w", fails: true }),
    );
    await app.drive();
    expect(console.error).toHaveBeenCalledWith('"jobs:write" failed: writing w failed');
  });
});
