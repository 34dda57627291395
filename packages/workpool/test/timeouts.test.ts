import { beforeAll, describe, expect, test } from "vitest";
import { virtualTime } from "./app.js";
import { transactions } from "./host/recording.js";
import { HostApp, loadHost } from "./host-app.js";

virtualTime();
beforeAll(loadHost);

const SECOND = 1_000;
const losses = (app: HostApp) =>
  app.t.run(async (ctx) => (await ctx.db.query("gone").collect()).map((row) => row.work));
const sweeps = (app: HostApp) =>
  app.counter.totals((call) => call.name === "pool:sweep").rootExecutions;
const watchOf = (app: HostApp) => app.t.run((ctx) => ctx.db.query("watch").first());

describe("a work with a timeout", () => {
  test("that has not reported 35 s after it is lost, counted from when a sweep first saw it run, and its slot goes on", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(1);
    await app.enqueue({ label: "a", ms: -1, timeoutMs: 3 * SECOND });
    await app.enqueue({ label: "b", ms: 10 });
    // It is seen after 3 s, and is overdue after 11 s.
    await app.drive(40 * SECOND);
    expect(await losses(app)).toEqual([]);
    await app.drive(2 * SECOND);
    expect(await losses(app)).toEqual(["a/0"]);
    expect((await app.events("end")).map((event) => event.label)).toEqual(["b"]);
  });

  test.each([
    ["after", false],
    ["before", true],
  ])(
    "that an executor runs in a slot %s one with a shorter timeout has all of its own time to report",
    async (_, isAfter) => {
      const app = new HostApp();
      await app.setMaxParallelism(5);
      for (const [label, timeoutMs] of [
        ["short", 20 * SECOND],
        ["long", 40 * SECOND],
      ] as const)
        await app.enqueue({ label, ms: -1, timeoutMs });
      await app.drive(100);
      await app.t.run(async (ctx) => {
        const held = (await ctx.db.query("slots").collect()).filter(
          ({ work }) => work !== undefined,
        );
        const [one, other] = held.map(({ number }) => number);
        const by = { job: held[0]!.job!, beganAt: Date.now() };
        for (const { _id, work } of held)
          await ctx.db.patch("slots", _id, {
            ...by,
            number: (work === "short/0") === isAfter ? other : one,
          });
      });
      // They are overdue after 25 s and 45 s.
      await app.drive(73 * SECOND);
      expect(await losses(app)).toEqual(["short/0"]);
      await app.drive(4 * SECOND);
      expect(await losses(app)).toEqual(["short/0", "long/0"]);
    },
  );

  test("that comes in while the next sweep is far away brings it forward", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(5);
    await app.enqueue({ label: "long", ms: 60 * 60 * SECOND });
    await app.drive(300 * SECOND);
    await app.enqueue({ label: "a", ms: -1, timeoutMs: 20 * SECOND });
    await app.enqueue({ label: "b", ms: -1, timeoutMs: 2 * SECOND });
    // They are seen after 2 s.
    await app.drive(40 * SECOND);
    expect(await losses(app)).toEqual(["b/0"]);
    await app.drive(20 * SECOND);
    expect(await losses(app)).toEqual(["b/0", "a/0"]);
  });

  test("that a slot was handed to is lost before it has run so long twice", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(5);
    await app.enqueue({ label: "long", ms: 60 * 60 * SECOND });
    await app.drive(300 * SECOND);
    // Six works of 1 s, and then one that never ends: it should have by the 16th second, and is
    // first seen by the sweep of the 20th.
    await app.enqueue({ label: "chain", ms: SECOND, timeoutMs: 10 * SECOND, more: 6, lastMs: -1 });
    await app.drive(60 * SECOND);
    expect(await losses(app)).toEqual([]);
    await app.drive(6 * SECOND);
    expect(await losses(app)).toEqual(["chain/0"]);
  });

  test(
    "a chain of them is looked at once a timeout, and none of its hand-overs touches the watchdog's document",
    { tags: ["large"] },
    async () => {
      const app = new HostApp();
      await app.setMaxParallelism(2);
      await app.enqueue({ label: "chain", ms: SECOND, timeoutMs: 60 * SECOND, more: 600 });
      await app.drive(SECOND / 2);
      const watch = await watchOf(app);
      transactions.length = 0;
      await app.drive(600 * SECOND);
      expect(transactions.length).toBeGreaterThanOrEqual(590);
      for (const { name, reads, writes } of transactions) {
        expect(name).toBe("complete");
        expect(reads).not.toContain(watch!._id);
        expect(writes).not.toContain(watch!._id);
        // The slot, and nothing else.
        expect(writes.size).toBe(1);
        expect(reads.size).toBe(2);
      }
      expect(sweeps(app)).toBeLessThanOrEqual(11);
      await app.driveOut();
      expect(await losses(app)).toEqual([]);
    },
  );

  test("that a resume has taken off the queue of a pool where nothing ran is watched too", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(0);
    await app.enqueue({ label: "a", ms: -1, timeoutMs: 3 * SECOND });
    await app.drive(60 * SECOND);
    expect(sweeps(app)).toBe(0);
    await app.setMaxParallelism(1);
    await app.drive(42 * SECOND);
    expect(await losses(app)).toEqual(["a/0"]);
  });

  test("that a sweep's snapshot lacks is not forgotten", async () => {
    let lag = 0;
    const app = new HostApp(() => lag);
    await app.enqueue({ label: "long", ms: 60 * 60 * SECOND });
    await app.drive(29.5 * SECOND);
    await app.enqueue({ label: "a", ms: -1, timeoutMs: 2 * SECOND });
    lag = 8;
    await app.drive(SECOND);
    lag = 0;
    // First seen 7 s after that check at the latest, and lost 37 s after that.
    await app.drive(45 * SECOND);
    expect(await losses(app)).toEqual(["a/0"]);
  });

  test("that nobody has begun when its time is up is not lost", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(1);
    await app.enqueue({ label: "a", ms: -1, timeoutMs: 5 * SECOND });
    await app.drive(SECOND);
    await app.t.run(async (ctx) => {
      const slot = await ctx.db.query("slots").first();
      const patch = ctx.db.patch as unknown as (
        table: string,
        id: string,
        value: unknown,
      ) => Promise<void>;
      await patch("_scheduled_functions", slot!.job!, { state: { kind: "pending" } });
    });
    await app.drive(120 * SECOND);
    expect(await losses(app)).toEqual([]);
    expect(sweeps(app)).toBeLessThanOrEqual(15);
  });

  test("once none so short runs any more, sweeps are as seldom as before", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(2);
    await app.enqueue({ label: "long", ms: 60 * 60 * SECOND });
    await app.enqueue({ label: "short", ms: 10, timeoutMs: 2 * SECOND });
    await app.drive(60 * SECOND);
    const before = sweeps(app);
    await app.drive(30 * 60 * SECOND);
    expect(sweeps(app) - before).toBeLessThanOrEqual(6);
  });
});

describe("a work that cannot even be recovered", () => {
  test("is set aside, and the others of its sweep are recovered", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(3);
    for (const label of ["a", "poison", "b"])
      await app.enqueue({ label, ms: -1, timeoutMs: SECOND });
    await app.driveOut();
    expect((await losses(app)).sort()).toEqual(["a/0", "b/0"]);
    const aside = await app.t.run((ctx) => ctx.db.query("setAside").collect());
    expect(aside).toMatchObject([{ work: "poison/0", error: "it cannot be recovered" }]);
  });
});

describe("the watchdog's sweep and the one in reserve, both lost", () => {
  test("are made up for where a queue ends, though nothing is enqueued any more", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(2);
    await app.enqueue({ label: "lost", ms: -1 });
    await app.enqueue({ label: "a", ms: 60 * SECOND });
    await app.enqueue({ label: "waits", ms: 60 * SECOND });
    await app.t.run(async (ctx) => {
      const watch = await ctx.db.query("watch").first();
      const slots = await ctx.db.query("slots").collect();
      const lost = slots.find((slot) => slot.work === "lost/0");
      for (const job of [lost!.job!, watch!.job!, watch!.reserve!]) await ctx.scheduler.cancel(job);
    });
    await app.drive(240 * SECOND);
    expect(await losses(app)).toEqual(["lost/0"]);
  });
});
