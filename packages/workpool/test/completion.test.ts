/** @module-tag large */
import { makeFunctionReference } from "convex/server";
import { describe, expect, test, vi } from "vitest";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";

virtualTime();

const onComplete = internal.callbacks.ended;
const complete = makeFunctionReference<"mutation">("complete:complete");
const runAction = makeFunctionReference<"action">("worker:runAction");
const runMutation = makeFunctionReference<"mutation">("worker:runMutation");

/** The token of the work's running attempt. */
async function tokenOf(app: TestApp, workId: string, attempt: number) {
  const slot = await app.inPool((ctx) =>
    ctx.db
      .query("slots")
      .withIndex("by_work", (q) => q.eq("work", workId))
      .first(),
  );
  return { workId, attempt, slot: slot?._id };
}

/** Calls a function of the component, as only its own scheduled functions can. */
const callInPool = (app: TestApp, fn: typeof complete, args: Record<string, unknown>) =>
  app.inPool((ctx) => ctx.runMutation(fn, args));
const success = { kind: "success", returnValue: "late" };

describe("completions", () => {
  test("a repeated one changes nothing", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, { label: "a", ms: 100 }, { onComplete }),
    );
    const token = await tokenOf(app, id, 1);
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, internal.jobs.sleep, [
        { label: "b", ms: 100 },
        { label: "c", ms: 100 },
      ]),
    );
    await app.drive(150);
    // "b" holds the slot now; the report of "a" comes again.
    await callInPool(app, complete, { ...token, outcome: success });
    expect(await app.leftovers()).toMatchObject({ heldSlots: 1, waiting: 1, works: 2 });
    await app.drive();
    expect(await app.labels("ended")).toEqual(["success"]);
    expect(await app.labels("end")).toEqual(["a", "b", "c"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("a stale one, of an earlier attempt, changes nothing", async () => {
    const app = new TestApp();
    const retry = { maxAttempts: 3, initialBackoffMs: 100, base: 1 };
    const args = { label: "a", succeedsAt: 2, ms: 1_000 };
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.flaky, args, { retry, onComplete }),
    );
    const first = await tokenOf(app, id, 1);
    await app.drive(1_050);
    // The first attempt has failed; the second waits for its time, and later runs.
    await callInPool(app, complete, { ...first, outcome: success });
    await app.drive(500);
    expect(await app.labels("attempt")).toHaveLength(2);
    await callInPool(app, complete, { ...first, outcome: success });
    expect(await app.leftovers()).toMatchObject({ heldSlots: 1, works: 1 });
    await app.drive();
    expect((await app.events("ended")).map((event) => event.data.result)).toEqual([
      { kind: "success", returnValue: 2 },
    ]);
  });

  test("a mutation's attempt that comes again does not run again", async () => {
    const app = new TestApp();
    const id = await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "w" }, { onComplete }),
    );
    const token = await tokenOf(app, id, 1);
    await app.drive();
    await callInPool(app, runMutation, token);
    expect(await app.labels("write")).toEqual(["w"]);
    expect(await app.labels("ended")).toEqual(["success"]);
  });

  test("a mutation that throws rolls back its own writes only, and its slot goes on", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutationBatch(
        ctx,
        internal.jobs.write,
        [{ label: "a" }, { label: "b", fails: true }, { label: "c" }],
        { onComplete },
      ),
    );
    await app.drive();
    expect(await app.labels("write")).toEqual(["a", "c"]);
    expect(await app.labels("ended")).toEqual(["success", "failed", "success"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test(
    "a mutation that uses up what a transaction may schedule fails alone: the next still starts",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 1 });
      await app.t.mutation(async (ctx) => {
        await app.pool.enqueueMutation(ctx, internal.jobs.scheduleMuch, {}, { onComplete });
        await app.pool.enqueueMutation(ctx, internal.jobs.write, { label: "next" }, { onComplete });
      });
      await app.drive();
      expect(await app.labels("ended")).toEqual(["failed", "success"]);
      expect(await app.labels("much")).toEqual([]);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("a function that does not exist fails its work, and no other", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await app.t.mutation(async (ctx) => {
      const gone = "function://;jobs:gone" as unknown as typeof internal.jobs.echo;
      await app.pool.enqueueAction(ctx, gone, { value: 1 }, { onComplete });
      await app.pool.enqueueAction(ctx, internal.jobs.echo, { value: 2 }, { onComplete });
    });
    await app.drive();
    expect(await app.labels("ended")).toEqual(["failed", "success"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("an action whose report fails reports again through the scheduler", async () => {
    const app = new TestApp();
    const completion = await failNextCompletion();
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.echo, { value: "kept" }, { onComplete }),
    );
    await app.drive();
    expect(completion.failed).toBe(1);
    expect((await app.events("ended")).map((event) => event.data.result)).toEqual([
      { kind: "success", returnValue: "kept" },
    ]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("an action whose result cannot be reported in any way has failed, and its slot goes on", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await failNextCompletion();
    await app.t.mutation(async (ctx) => {
      const { echo, large } = internal.jobs;
      // More than a scheduled function takes.
      await app.pool.enqueueAction(ctx, large, { bytes: 5_000_000 }, { onComplete });
      await app.pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete });
    });
    await app.drive();
    const results = (await app.events("ended")).map((event) => event.data.result);
    expect(results[0].error).toMatch(/^It ran, but its result could not be recorded: .*store it/);
    expect(results[1]).toEqual({ kind: "success", returnValue: 1 });
  });
});

/** Makes the component's completion throw once, as a conflict does that was met too often. */
async function failNextCompletion() {
  const { complete: registered } = await import("../src/component/complete.js");
  const target = registered as unknown as { _handler: (...args: unknown[]) => unknown };
  const completion = { failed: 0 };
  const original = target._handler;
  vi.spyOn(target, "_handler").mockImplementation((...args) => {
    if (completion.failed > 0) return original(...args);
    completion.failed += 1;
    throw new Error("Documents read from or written to were changed while this mutation ran");
  });
  return completion;
}

describe("large arguments", () => {
  test("come whole to actions and mutations, started at once or from the queue", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const text = "x".repeat(900_000);
    await app.t.mutation(async (ctx) => {
      const { size, write } = internal.jobs;
      await app.pool.enqueueAction(ctx, size, { text }, { onComplete });
      await app.pool.enqueueAction(ctx, size, { text: `${text}2` }, { onComplete });
      await app.pool.enqueueMutation(ctx, write, { label: "w", text: `${text}33` }, { onComplete });
    });
    expect(await app.leftovers()).toMatchObject({ largeValues: 3, largeArgs: 0 });
    await app.drive();
    const sizes = (await app.events("ended")).map((event) => event.data.result.returnValue);
    expect(sizes).toEqual([900_000, 900_001, 900_002]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("are gone with their work: an attempt that comes again later does not run it", async () => {
    const app = new TestApp();
    const text = "x".repeat(9_000);
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.size, { text }, { onComplete }),
    );
    const again = await app.inPool(async (ctx) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      return jobs.find(({ name }) => name.includes("runAction"))!.args[0];
    });
    await app.drive();
    await app.inPool((ctx) => ctx.scheduler.runAfter(0, runAction, again));
    await app.drive();
    expect(app.counter.totals((call) => call.name === "worker:runAction").executions).toBe(2);
    expect(app.counter.totals((call) => call.name === "jobs:size").executions).toBe(1);
    expect(await app.labels("ended")).toEqual(["success"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("over 1 MB are refused with the function's name and what to do", async () => {
    const app = new TestApp();
    const text = "x".repeat(1_000_001);
    await expect(
      app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.size, { text })),
    ).rejects.toThrow(/argument object for "jobs:size" is \d+ bytes .*pass its id/);
    await expect(
      app.t.mutation((ctx) =>
        app.pool.enqueueAction(
          ctx,
          internal.jobs.size,
          { text: "" },
          { onComplete, context: text },
        ),
      ),
    ).rejects.toThrow('onComplete context for "jobs:size"');
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test(
    "a batch is split by size from an action, and stays in order",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 1 });
      const argsList = Array.from({ length: 20 }, (_, i) => ({ text: "x".repeat(800_000 + i) }));
      const ids = await app.t.action((ctx) =>
        app.pool.enqueueActionBatch(ctx, internal.jobs.size, argsList, { onComplete }),
      );
      expect(app.counter.totals((call) => call.name === "lib:enqueueBatch").executions).toBe(3);
      await app.drive();
      const ended = (await app.events("ended")).map((event) => event.data);
      expect(ended.map(({ workId }) => workId)).toEqual(ids);
      expect(ended.map(({ result }) => result.returnValue)).toEqual(
        argsList.map(({ text }) => text.length),
      );
    },
  );

  test("4,000 works fit into one transaction", { tags: ["large"] }, async () => {
    const app = new TestApp({ maxParallelism: 10 });
    const argsList = Array.from({ length: 4_000 }, (_, i) => ({ label: `${i}` }));
    const ids = await app.t.mutation((ctx) =>
      app.pool.enqueueMutationBatch(ctx, internal.jobs.write, argsList),
    );
    expect(new Set(ids).size).toBe(4_000);
    expect(await app.leftovers()).toMatchObject({ works: 4_000, waiting: 3_990, heldSlots: 10 });
  });
});
