import { describe, expect, test } from "vitest";
import { mostAtOnce, NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";
import { seeded } from "./seeded.js";

virtualTime();

const SLOTS = 4;

/** Enqueues works of 20 to 60 ms so that `load` of the slots are wanted at a time, and looks at the pool after each. */
async function hover(load: number, ms: number, seed: number) {
  const app = new TestApp({ maxParallelism: SLOTS });
  const random = seeded(seed);
  const end = Date.now() + ms;
  let flips = 0;
  let waitingBesideFree = 0;
  let wasOpen: boolean | undefined = true;
  for (let i = 0; Date.now() < end; i++) {
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, internal.jobs.sleep, {
        label: `${i}`,
        ms: 20 + Math.floor(40 * random()),
      }),
    );
    for (const wait of [0, Math.floor((2 * random() * 40) / (SLOTS * load))]) {
      if (wait > 0) await app.drive(wait);
      const { open, free, waiting } = await app.inPool(async (ctx) => ({
        open: (await ctx.db.query("gate").first())?.open,
        free: (await ctx.db.query("slots").collect()).filter((slot) => slot.work === undefined)
          .length,
        waiting: (await ctx.db.query("waiting").collect()).length,
      }));
      if (open !== wasOpen) flips += 1;
      wasOpen = open;
      if (free > 0 && waiting > 0) waitingBesideFree += 1;
    }
  }
  await app.drive();
  return { app, flips, waitingBesideFree };
}

describe("at its limit", () => {
  test.each([0.8, 1, 1.1])(
    "a pool with %f of its slots wanted flips its gate once a second at most, and nothing waits while a slot is free",
    async (load) => {
      const seconds = 4;
      const { app, flips, waitingBesideFree } = await hover(load, seconds * 1_000, 7);
      // Without a lower bound the load may never have met the limit.
      expect(flips).toBeGreaterThanOrEqual(1);
      expect(flips).toBeLessThanOrEqual(seconds + 1);
      expect(waitingBesideFree).toBe(0);
      const events = await app.events();
      expect(mostAtOnce(events)).toBe(SLOTS);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
    20_000,
  );

  test("a work that comes while the gate is still closed and a slot is free starts at once", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    const enqueue = (label: string, ms: number) =>
      app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.sleep, { label, ms }));
    await enqueue("a", 10);
    await enqueue("b", 10);
    await app.drive();
    expect(await app.gateIsOpen()).toBe(false);
    const enqueuedAt = Date.now();
    await enqueue("c", 3_000);
    await app.drive();
    expect((await app.events("start")).at(-1)).toMatchObject({ label: "c", at: enqueuedAt });
    expect(await app.gateIsOpen()).toBe(true);
  });

  test("a gate that has stayed closed is opened by the watchdog's last look", async () => {
    const app = new TestApp({ maxParallelism: 1 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(ctx, internal.jobs.sleep, [
        { label: "a", ms: 10 },
        { label: "b", ms: 10 },
      ]),
    );
    await app.drive();
    expect(await app.gateIsOpen()).toBe(false);
    await app.driveOut();
    expect(await app.gateIsOpen()).toBe(true);
  });
});
