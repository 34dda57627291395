import { beforeAll, describe, expect, test } from "vitest";
import { virtualTime } from "./app.js";
import { transactions } from "./host/recording.js";
import { HostApp, loadHost } from "./host-app.js";

virtualTime();
beforeAll(loadHost);

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const sweeps = (app: HostApp) =>
  app.counter.totals((call) => call.name === "pool:sweep").rootExecutions;
const chores = async (app: HostApp, from = 0) =>
  (await app.events("chore")).map(({ label, at }) => [label, Math.round((at - from) / SECOND)]);
const nextSweep = (app: HostApp) =>
  app.t.run(async (ctx) => {
    const watch = await ctx.db.query("watch").first();
    return watch?.job === undefined ? null : watch.at;
  });

describe("what a host wants to have looked after besides its works", () => {
  test("turns the watchdog on in a pool that nothing was ever enqueued to, and off again when it is done", async () => {
    const app = new HostApp();
    await app.addChore("a", 0);
    expect(await nextSweep(app)).not.toBeNull();
    await app.driveOut();
    expect(await app.events("chore")).toHaveLength(1);
    expect(sweeps(app)).toBe(1);
    expect(await nextSweep(app)).toBeNull();
    // And on again.
    await app.addChore("b", 0);
    await app.driveOut();
    expect(await app.events("chore")).toHaveLength(2);
    expect(sweeps(app)).toBe(2);
  });

  test("keeps the watchdog on although no work runs, with a check at the time that it asks for", async () => {
    const app = new HostApp();
    const from = Date.now();
    for (const seconds of [0, 100, 300]) await app.addChore("a", from + seconds * SECOND);
    await app.driveOut();
    expect(await chores(app, from)).toEqual([
      ["a", 30],
      ["a", 100],
      ["a", 300],
    ]);
    expect(sweeps(app)).toBe(3);
    expect(await nextSweep(app)).toBeNull();
  });

  test("is looked at 10 s after the sweep before at the soonest, and 540 s at the latest", async () => {
    const app = new HostApp();
    const from = Date.now();
    for (const seconds of [31, 32, 30 * 60]) await app.addChore("a", from + seconds * SECOND);
    await app.driveOut();
    expect(await chores(app, from)).toEqual([
      ["a", 40],
      ["a", 40],
      ["a", 30 * 60],
    ]);
    // After 30 s, 40 s, and then 540 s, 540 s, 540 s and the rest.
    expect(sweeps(app)).toBe(2 + 4);
  });

  test("brings the sweeps at works that run forward, and never puts them off", async () => {
    const app = new HostApp();
    const from = Date.now();
    await app.enqueue({ label: "long", ms: 30 * MINUTE });
    await app.addChore("a", from + 50 * SECOND);
    await app.addChore("b", from + 20 * MINUTE);
    await app.drive(45 * SECOND);
    expect(sweeps(app)).toBe(1);
    await app.drive(10 * SECOND);
    expect(sweeps(app)).toBe(2);
    expect(await chores(app, from)).toEqual([["a", 50]]);
    await app.drive(40 * SECOND);
    expect(sweeps(app)).toBe(3);
  });

  test("does not have a work that starts meanwhile seen later: one from idle is looked at 30 s after its start", async () => {
    const app = new HostApp();
    const from = Date.now();
    await app.addChore("a", from + 9 * MINUTE);
    await app.drive(100 * SECOND);
    expect(sweeps(app)).toBe(1);
    await app.enqueue({ label: "lost", ms: -1 });
    expect((await nextSweep(app))! - from).toBe(130 * SECOND);
    await app.t.run(async (ctx) => {
      const [slot] = (await ctx.db.query("slots").collect()).filter((row) => row.job !== undefined);
      await ctx.scheduler.cancel(slot!.job!);
    });
    await app.drive(31 * SECOND);
    expect(await app.t.run((ctx) => ctx.db.query("gone").collect())).toHaveLength(1);
    await app.driveOut();
    expect(await chores(app, from)).toEqual([["a", 9 * 60]]);
  });

  test("keeps its time when a work starts meanwhile whose own sweep would be later", async () => {
    const app = new HostApp();
    const from = Date.now();
    await app.addChore("a", from + 60 * SECOND);
    await app.drive(50 * SECOND);
    await app.enqueue({ label: "short", ms: 10 });
    await app.driveOut();
    expect(await chores(app, from)).toEqual([["a", 60]]);
    expect(sweeps(app)).toBe(2);
  });

  test.each(["a work runs", "there is something already"])(
    "comes in while the watchdog is on, as %s: that costs a read of the watchdog's document, and no write",
    async (why) => {
      const app = new HostApp();
      if (why === "a work runs") await app.enqueue({ label: "long", ms: 10 * MINUTE });
      else await app.addChore("first", 0);
      const watch = await app.t.run((ctx) => ctx.db.query("watch").first());
      transactions.length = 0;
      await app.addChore("a", 0);
      expect(transactions).toHaveLength(1);
      const { reads, writes } = transactions[0]!;
      expect([...reads]).toEqual([watch!._id]);
      expect([...writes]).toEqual([]);
      await app.drive(31 * SECOND);
      expect((await app.events("chore")).map(({ label }) => label)).toContain("a");
    },
  );

  test("in a pool that is paused, is looked at all the same", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(0);
    await app.addChore("a", 0);
    await app.driveOut();
    expect(await app.events("chore")).toHaveLength(1);
    expect(sweeps(app)).toBe(1);
  });

  test("and cannot be looked after, as that throws, is looked at again, each 540 s", async () => {
    const app = new HostApp();
    await app.addChore("throws", 0);
    await app.drive(30 * MINUTE);
    expect(await nextSweep(app)).not.toBeNull();
    expect(sweeps(app)).toBe(4);
    await app.t.run(async (ctx) => {
      const [chore] = await ctx.db.query("chores").collect();
      await ctx.db.patch("chores", chore!._id, { label: "a" });
    });
    await app.driveOut();
    expect(await app.events("chore")).toHaveLength(1);
    expect(await nextSweep(app)).toBeNull();
  });

  test("does not wait for the timeout of a work that has ended", async () => {
    const app = new HostApp();
    const from = Date.now();
    await app.enqueue({ label: "short", ms: 10, timeoutMs: 20 * SECOND });
    await app.addChore("a", from + 8 * MINUTE);
    await app.driveOut();
    expect(await chores(app, from)).toEqual([["a", 8 * 60]]);
    expect(sweeps(app)).toBe(2);
  });
});
