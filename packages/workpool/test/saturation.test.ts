/** @module-tag large */
import { afterEach, describe, expect, test, vi } from "vitest";
import { mostAtOnce, NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { host } from "../src/component/host.js";
import { isSeat } from "../src/core/ahead.js";
import { startFirst } from "../src/core/hand-over.js";
import { ASKS_EVERY_MS } from "../src/core/owners.js";
import { ROOM_TO_COMPLETE } from "../src/core/room.js";
import { internal } from "./convex/_generated/api.js";
import { seeded } from "./seeded.js";

virtualTime();
afterEach(() => {
  vi.restoreAllMocks();
});

const SLOTS = 4;

/**
 * Enqueues works of 20 to 60 ms so that `load` of the slots are wanted at a time, and looks at the
 * pool after each.
 */
async function hover(load: number, ms: number, seed: number) {
  const app = new TestApp({ maxParallelism: SLOTS });
  const random = seeded(seed);
  // Which slot and which waiting work are picked is random too.
  vi.spyOn(Math, "random").mockImplementation(seeded(seed + 1));
  const end = Date.now() + ms;
  let flips = 0;
  /**
   * For how long a work waited while a slot was free, at most; and since when those do that wait
   * now.
   */
  let longest = 0;
  let besideFree = new Map<string, number>();
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
      const { open, slots, queue } = await app.inPool(async (ctx) => ({
        open: (await ctx.db.query("gate").first())?.open,
        slots: await ctx.db.query("slots").collect(),
        queue: (await ctx.db.query("waiting").collect()).map((row) => row.work),
      }));
      const free = slots.filter((slot) => slot.work === undefined).length;
      // What is ahead waits too.
      const waiting = [...queue, ...slots.filter(isSeat).map(({ work }) => work!)];
      if (open !== wasOpen) flips += 1;
      wasOpen = open;
      const since =
        free > 0 ? waiting.map((id) => [id, besideFree.get(id) ?? Date.now()] as const) : [];
      besideFree = new Map(since);
      longest = Math.max(longest, ...since.map(([, at]) => Date.now() - at));
    }
  }
  await app.drive();
  return { app, flips, longest };
}

describe("at its limit", () => {
  test.each([0.8, 1, 1.1])(
    "a pool with %f of its slots wanted flips its gate twice a second at most, and nothing waits for longer than an executor pauses while a slot is free",
    { tags: ["large"] },
    async (load) => {
      const seconds = 4;
      // Which works are picked depends on ids, and so on the tests before: one seed is not enough.
      const seeds = [5, 7];
      let all = 0;
      for (const seed of seeds) {
        const { app, flips, longest } = await hover(load, seconds * 1_000, seed);
        // Without a lower bound the load may never have met the limit.
        expect(flips).toBeGreaterThanOrEqual(1);
        all += flips;
        expect(longest).toBeLessThanOrEqual(ASKS_EVERY_MS);
        const events = await app.events();
        expect(mostAtOnce(events)).toBe(SLOTS);
        expect(await app.leftovers()).toEqual(NOTHING_LEFT);
      }
      expect(all).toBeLessThanOrEqual(2 * seconds * seeds.length);
    },
  );

  test("a drain whose snapshot lacks the end of a work does not leave its slot to nobody", async () => {
    let lag = 0;
    const app = new TestApp({ maxParallelism: 2 }, () => lag);
    const enqueue = (label: string, ms: number) =>
      app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.sleep, { label, ms }));
    await enqueue("long", 5_000);
    await enqueue("a", 10);
    await enqueue("b", 10);
    await app.drive(20);
    expect(await app.labels("end")).toEqual(["a", "b"]);
    lag = 4;
    await app.drive(60);
    lag = 0;
    const enqueuedAt = Date.now();
    await enqueue("c", 10);
    await app.drive(50);
    const start = (await app.events("start")).at(-1);
    expect(start?.label).toBe("c");
    expect(start!.at - enqueuedAt).toBeLessThanOrEqual(25);
  });

  test("a completion to which many works seem to wait that are gone tries the few that it sees, and takes the first that is there", async () => {
    let lag = 0;
    const app = new TestApp({ maxParallelism: 30 }, () => lag);
    const argsList = Array.from({ length: 90 }, (_, i) => ({
      label: `${i}`,
      ms: i === 0 ? 10 : 5_000,
    }));
    const enqueue = (some: typeof argsList) =>
      app.t.mutation((ctx) => app.pool.enqueueActionBatch(ctx, internal.jobs.sleep, some));
    // These have functions of their own, in the first slots: an executor has the last ones.
    const random = vi.spyOn(Math, "random").mockReturnValue(0.01);
    for (const args of argsList.slice(0, 29)) await enqueue([args]);
    const others = await enqueue(argsList.slice(29));
    await app.drive(5);
    await app.t.mutation(async (ctx) => {
      for (const id of others.slice(0, -1)) await app.pool.cancel(ctx, id);
    });
    app.counter.clear();
    // It begins in the middle of the 60 that it sees.
    random.mockReturnValue(0.5);
    lag = 5;
    await app.drive(50);
    expect(await app.labels("start")).toContain("89");
    const [completion] = app.counter.calls.filter(({ name }) => name === "complete:complete");
    expect(completion!.total.databaseQueries).toBeLessThanOrEqual(24);
  });

  test("the room that a mutation leaves to its completion is enough for all that it may read of the queue", async () => {
    const app = new TestApp({ maxParallelism: 200 });
    const inQueue = (works: number) =>
      app.inPool(async (ctx) => {
        const at = ctx.db.vars.commitTs;
        const ids = [];
        for (let i = 0; i < works; i++)
          ids.push(await ctx.db.insert("waiting", { work: `${i}`, fn: "", args: {}, at }));
        return ids;
      });
    const gone = await inQueue(100);
    await app.inPool(async (ctx) => {
      for (const id of gone) await ctx.db.delete("waiting", id);
    });
    await inQueue(100);
    const reads = await app.inPool(async (ctx) => {
      const slot = await ctx.db.get(
        "slots",
        await ctx.db.insert("slots", { number: 0, startedAt: 0, handOvers: 0, heldSince: 0 }),
      );
      const mayStart = async () => {
        for (let i = 0; i < 2; i++) await ctx.db.query("works").first();
        return false;
      };
      const used = async () => (await ctx.meta.getTransactionMetrics()).databaseQueries.used;
      const before = await used();
      await startFirst(ctx, { ...host, mayStart }, slot!, gone);
      return (await used()) - before;
    });
    // What else a completion reads: the work, its slot, the gate, the drain, the watchdog, …
    expect(reads).toBeLessThanOrEqual(ROOM_TO_COMPLETE.databaseQueries - 24);
  });

  test("a drain that opened the gate too early ends when no slot is free, and the gate closes", async () => {
    let lag = 0;
    const app = new TestApp({ maxParallelism: 4 }, () => lag);
    const enqueue = (label: string, ms: number) =>
      app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.sleep, { label, ms }));
    for (const label of ["x", "y", "z"]) await enqueue(label, 5_000);
    await enqueue("a", 1_000);
    await enqueue("b", 990);
    await app.drive(2_000);
    expect(await app.labels("end")).toEqual(["a", "b"]);
    await enqueue("c", 5_000);
    await enqueue("d", 10);
    lag = 4;
    let timers = 0;
    await app.drive(100, async () => {
      timers += 1;
      if (timers > 50) throw new Error("The drain does not end");
    });
    expect(await app.labels("start")).toContain("c");
    expect(await app.gateIsOpen()).toBe(false);
    lag = 0;
    await app.drive(3_000);
    expect(await app.labels("end")).toContain("d");
  });

  test("a work that comes while the gate is still closed and a slot is free starts within 25 ms", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    const enqueue = (label: string, ms: number) =>
      app.t.mutation((ctx) => app.pool.enqueueAction(ctx, internal.jobs.sleep, { label, ms }));
    await enqueue("long", 5_000);
    await enqueue("a", 10);
    await enqueue("b", 10);
    await app.drive(30);
    expect(await app.labels("end")).toEqual(["a", "b"]);
    expect(await app.gateIsOpen()).toBe(false);
    const enqueuedAt = Date.now();
    await enqueue("c", 100);
    await app.drive(50);
    const start = (await app.events("start")).at(-1);
    expect(start?.label).toBe("c");
    expect(start!.at - enqueuedAt).toBeLessThanOrEqual(25);
    await app.drive(200);
    expect(await app.gateIsOpen()).toBe(true);
  });
});
