/** @module-tag large */
import { describe, expect, test } from "vitest";
import { defaultMaxParallelism } from "../src/core/gate.js";
import { mostAtOnce, NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { enqueueSettling, Workpool } from "../src/client/index.js";
import { components, internal } from "./convex/_generated/api.js";

virtualTime();

const enqueue = (app: TestApp, n: number, ms: number) =>
  app.t.mutation((ctx) =>
    app.pool.enqueueActionBatch(
      ctx,
      internal.jobs.sleep,
      Array.from({ length: n }, (_, i) => ({ label: `${i}`, ms })),
    ),
  );
const enqueueEach = async (app: TestApp, n: number, ms: number) => {
  for (let i = 0; i < n; i++)
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, { label: `${i}`, ms }),
    );
};
const slots = (app: TestApp) =>
  app.inPool(async (ctx) =>
    (await ctx.db.query("slots").withIndex("by_number").collect()).map((slot) => slot.number),
  );

describe("the gate", () => {
  test.each([
    ["one by one", enqueueEach],
    ["as a batch", enqueue],
  ])(
    "closes when a work finds no slot, and opens when nothing waits any more: %s",
    async (_, fill) => {
      const app = new TestApp({ maxParallelism: 2 });
      await fill(app, 2, 100);
      expect(await app.gateIsOpen()).toBe(true);
      await fill(app, 1, 100);
      expect(await app.gateIsOpen()).toBe(false);
      await app.drive(150);
      // The third has started in the slot of the first that ended; the other found nothing waiting,
      // and was freed.
      expect(await app.labels("start")).toHaveLength(3);
      await app.drive(50);
      expect(await app.gateIsOpen()).toBe(true);
      await fill(app, 1, 2_000);
      await app.drive(50);
      expect(await app.labels("start")).toHaveLength(4);
      await app.drive(2_000);
      expect(await app.gateIsOpen()).toBe(true);
      await app.drive();
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("a work that is enqueued while the gate is closed waits behind the others", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await enqueue(app, 2, 100);
    await app.drive(50);
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, { label: "last", ms: 100 }),
    );
    await app.drive();
    expect(await app.labels("start")).toEqual(["0", "1", "last"]);
  });
});

describe("maxParallelism", () => {
  test("is 6 on the smallest class until something sets it, which leaves places for others", async () => {
    const app = new TestApp({}, undefined, "s16");
    await enqueue(app, 30, 100);
    await app.drive();
    expect(mostAtOnce(await app.events())).toBe(6);
  });

  test.each(["s256", "d1024"])("is 10 on class %s until something sets it", async (name) => {
    const meta = { getDeploymentMetadata: async () => ({ class: name }) };
    expect(await defaultMaxParallelism({ meta } as never)).toBe(10);
  });

  test("raised while works wait: they start in the new slots at once", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await enqueue(app, 8, 100);
    await app.drive(50);
    const raisedAt = Date.now();
    await app.setMaxParallelism(4);
    await app.drive();
    const starts = (await app.events("start")).map((event) => event.at);
    expect(starts.slice(1, 4)).toEqual(Array(3).fill(expect.closeTo(raisedAt, -1)));
    expect(mostAtOnce(await app.events())).toBe(4);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    expect(await app.gateIsOpen()).toBe(true);
  });

  test("raised as a drain has just opened the gate: what joined before is found", async () => {
    const app = new TestApp({ maxParallelism: 0 });
    await enqueue(app, 1, 100);
    // It opens after a stale look, and makes sure in its next round.
    await app.inPool(async (ctx) => {
      const gate = await ctx.db.query("gate").first();
      await ctx.db.insert("slots", { number: 0, startedAt: 0, handOvers: 0, heldSince: 0 });
      await ctx.db.patch("gate", gate!._id, { open: true, maxParallelism: 1 });
      await ctx.db.insert("drain", { on: true, generation: 1 });
    });
    await app.setMaxParallelism(2);
    await app.drive();
    expect(await app.labels("end")).toHaveLength(1);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    expect(await app.gateIsOpen()).toBe(true);
  });

  test("lowered while works run: they go on, and no more than that start after them", async () => {
    const app = new TestApp({ maxParallelism: 6 });
    const enqueuedAt = Date.now();
    await enqueue(app, 6, 100);
    await app.drive(50);
    await app.setMaxParallelism(2);
    await enqueue(app, 6, 100);
    await app.drive();
    const tens = (ms: number) => 10 * Math.round(ms / 10);
    const starts = (await app.events("start")).map((event) => tens(event.at - enqueuedAt));
    // Six at once, and from then on two by two.
    expect(starts).toEqual([0, 0, 0, 0, 0, 0, 100, 100, 200, 200, 300, 300]);
    expect(await app.labels("end")).toHaveLength(12);
    expect(await slots(app)).toEqual([0, 1]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("completions not taken in while paused: 0 pauses: nothing starts, completions are taken in; back, all that waits runs", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    await enqueue(app, 4, 100);
    await app.drive(50);
    await app.setMaxParallelism(0);
    await enqueue(app, 1, 100);
    await app.drive();
    expect(await app.labels("end")).toHaveLength(2);
    expect(await app.leftovers()).toMatchObject({
      works: 3,
      waiting: 3,
      heldSlots: 0,
      scheduled: 0,
    });
    await app.setMaxParallelism(2);
    await app.drive();
    expect(await app.labels("end")).toHaveLength(5);
    expect(mostAtOnce(await app.events())).toBe(2);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    expect(await app.gateIsOpen()).toBe(true);
  });

  test("[S187] a drain that was lost before a pause delays nothing after it", async () => {
    const app = new TestApp();
    await app.setMaxParallelism(1);
    await enqueue(app, 2, 100);
    await app.setMaxParallelism(20);
    expect(await app.losePending("watchdog:drainQueue")).toBe(1);
    await app.setMaxParallelism(0);
    await app.t.mutation((ctx) => app.pool.cancelAll(ctx));
    await app.driveOut();
    await app.setMaxParallelism(20);
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(
        ctx,
        internal.jobs.sleep,
        Array.from({ length: 21 }, (_, i) => ({ label: `more ${i}`, ms: i === 0 ? 100 : 60_000 })),
      ),
    );
    await app.drive(1_000);
    expect(await app.labels("start")).toContain("more 20");
  });

  test("a pause undone by the next enqueue: a pause is not undone by the next enqueue, but by another value in the class", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    await enqueue(app, 1, 1);
    await app.drive();
    await app.setMaxParallelism(0);
    await enqueue(app, 1, 1);
    await app.drive();
    expect(await app.labels("end")).toHaveLength(1);
    await app.t.mutation((ctx) =>
      new Workpool(components.workpool, { maxParallelism: 3 }).enqueueAction(
        ctx,
        internal.jobs.echo,
        { value: 0 },
      ),
    );
    await app.drive();
    expect(await app.labels("end")).toHaveLength(2);
    expect(await slots(app)).toEqual([0, 1, 2]);
  });

  test("omitted in the class, the stored value stands", async () => {
    const app = new TestApp();
    await app.setMaxParallelism(3);
    await enqueue(app, 9, 100);
    await app.drive();
    expect(mostAtOnce(await app.events())).toBe(3);
  });

  test("a value outside 0 to 200 is refused, and changes nothing", async () => {
    const app = new TestApp({}, undefined, "s16");
    await app.setMaxParallelism(3);
    for (const wrong of [-1, 201, 1.5, NaN])
      await expect(app.setMaxParallelism(wrong)).rejects.toThrow(
        "it must be a whole number from 0 (paused) to 200",
      );
    expect(await slots(app)).toEqual([0, 1, 2]);
    await app.setMaxParallelism(150);
    expect(console.warn).toHaveBeenCalledTimes(1);
  });

  test(
    "a resume with more waiting than one transaction can start goes on in the next",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 0 });
      // Works that settle themselves are scheduled with their arguments, also with large ones.
      const label = "x".repeat(900_000);
      const { workpool } = components;
      for (let part = 0; part < 5; part++)
        await app.t.mutation((ctx) =>
          enqueueSettling(
            workpool,
            ctx,
            "mutation",
            internal.settlers.write,
            Array.from({ length: 8 }, () => ({ label })),
          ),
        );
      await app.setMaxParallelism(100);
      const held = () =>
        app.inPool(async (ctx) => {
          const slots = await ctx.db.query("slots").collect();
          return slots.filter((slot) => slot.work !== undefined).length;
        });
      await app.drive();
      const starts = app.counter.calls.filter((call) => call.name === "watchdog:drainQueue");
      expect(starts.length).toBeGreaterThan(2);
      expect(await held()).toBe(0);
      expect(await app.inPool((ctx) => ctx.db.query("works").first())).toBeNull();
      expect(await app.gateIsOpen()).toBe(true);
    },
  );

  test("200 works that wait can be resumed at once", { tags: ["large"] }, async () => {
    const app = new TestApp({ maxParallelism: 0 });
    await enqueue(app, 400, 100);
    await app.setMaxParallelism(200);
    await app.drive();
    expect(await app.labels("end")).toHaveLength(400);
    expect(mostAtOnce(await app.events())).toBe(200);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});
