import { beforeAll, describe, expect, test, vi } from "vitest";
import { TestApp, virtualTime } from "./app.js";
import { internal as ofApp } from "./convex/_generated/api.js";
import { internal } from "./host/_generated/api.js";
import { HostApp, loadHost } from "./host-app.js";

/* What the numbers of slots, of the gate and of the watchdog are for. */

virtualTime();
beforeAll(loadHost);

const SECOND = 1_000;
const stateOf = (app: HostApp) =>
  app.t.run(async (ctx) => ({
    isOpen: (await ctx.db.query("gate").first())?.open,
    drains: (await ctx.db.query("drain").first())?.on === true,
  }));

describe("of slots that change hands seldom", () => {
  test("a batch takes 30 of 50 that have been free for a second, and the gate stays open", async () => {
    const app = new TestApp();
    await app.setMaxParallelism(50);
    const heldSince = Date.now() - SECOND;
    await app.inPool(async (ctx) => {
      for await (const { _id } of ctx.db.query("slots"))
        await ctx.db.patch("slots", _id, { heldSince });
    });
    const works = Array.from({ length: 30 }, (_, n) => ({ label: `${n}`, ms: SECOND }));
    await app.t.mutation((ctx) => app.pool.enqueueActionBatch(ctx, ofApp.jobs.sleep, works));
    expect(await app.gateIsOpen()).toBe(true);
  });

  /** A pool of ten slots, which are held for so long, with the gate closed or not. */
  async function held(forMs: number, open: boolean) {
    const app = new HostApp();
    await app.setMaxParallelism(10);
    await app.t.run(async (ctx) => {
      const startedAt = Date.now();
      const gate = await ctx.db.query("gate").first();
      await ctx.db.patch("gate", gate!._id, { open, closedAt: open ? undefined : startedAt });
      for await (const { _id, number } of ctx.db.query("slots"))
        await ctx.db.patch("slots", _id, { work: `${number}/0`, startedAt });
    });
    await app.drive(forMs);
    return app;
  }

  test("an enqueue begins no drain if none is free, and none was taken for 15 s", async () => {
    const app = await held(15 * SECOND, true);
    await app.enqueue({ label: "a", ms: SECOND });
    expect(await stateOf(app)).toEqual({ isOpen: false, drains: false });
  });

  test("an end opens the gate without a drain if nothing waits 3 s after it was closed", async () => {
    const app = await held(3 * SECOND, false);
    const slot = await app.t.run(async (ctx) => (await ctx.db.query("slots").first())!._id);
    await app.t.mutation(internal.pool.ended, { slot, label: "0", ms: 0 });
    expect(await stateOf(app)).toEqual({ isOpen: true, drains: false });
  });
});

test.each([
  [1 / 200, true],
  [1 / 300, false],
])(
  "on the smallest class, one enqueue in 256 joins the queue of a pool that is awake: at %d the gate stays open: %s",
  async (drawn, isOpen) => {
    const app = new TestApp({ maxParallelism: 20 }, undefined, "s16");
    const enqueue = async (ms: number) =>
      await app.t.mutation((ctx) =>
        app.pool.enqueueAction(ctx, ofApp.jobs.sleep, { label: "", ms }),
      );
    await enqueue(60 * SECOND);
    await app.drive(10 * SECOND);
    expect(await app.gateIsOpen()).toBe(true);
    vi.spyOn(Math, "random").mockReturnValue(drawn);
    await enqueue(SECOND);
    expect(await app.gateIsOpen()).toBe(isOpen);
  },
);

describe("of the watchdog", () => {
  const losses = (app: HostApp) =>
    app.t.run(async (ctx) => (await ctx.db.query("gone").collect()).map((row) => row.work));

  test("a work with a timeout of 20 s is lost 60 s after its start: it is seen to run after 5 s, and is late after 30 s", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(2);
    await app.enqueue({ label: "long", ms: 3_600 * SECOND });
    await app.drive(300 * SECOND);
    await app.enqueue({ label: "a", ms: -1, timeoutMs: 20 * SECOND });
    await app.drive(59 * SECOND);
    expect(await losses(app)).toEqual([]);
    await app.drive(2 * SECOND);
    expect(await losses(app)).toEqual(["a/0"]);
  });

  /** A work whose action has ended so long ago, after 9.5 minutes, and has not reported. */
  async function endedFor(ms: number) {
    const app = new HostApp();
    await app.enqueue({ label: "a", ms: -1 });
    await app.drive(SECOND);
    await app.t.run(async (ctx) => {
      const slots = await ctx.db.query("slots").collect();
      const { job } = slots.find(({ work }) => work !== undefined)!;
      // Nobody but the platform writes there, so no type allows it.
      const system = ctx.db as unknown as {
        patch(table: string, id: string, value: unknown): Promise<void>;
      };
      const completedTime = Date.now() - ms;
      await system.patch("_scheduled_functions", job!, {
        state: { kind: "success" },
        scheduledTime: completedTime - 570 * SECOND,
        completedTime,
      });
    });
    return app;
  }

  /** Has the next sweep come a minute late. @returns its generation */
  const sweepLate = async (app: HostApp) =>
    await app.t.run(async (ctx) => {
      const { _id, at, generation } = (await ctx.db.query("watch").first())!;
      await ctx.db.patch("watch", _id, { at: at - 60 * SECOND });
      return generation;
    });

  test("[S132] the report that an action has scheduled at its end is waited for 130 minutes", async () => {
    const app = await endedFor(0);
    await app.drive(125 * 60 * SECOND);
    expect(await losses(app)).toEqual([]);
    await app.drive(20 * 60 * SECOND);
    expect(await losses(app)).toEqual(["a/0"]);
  });

  test("[S132] and for as long after a sweep that came late, as nothing could be written", async () => {
    const app = await endedFor(10 * 60 * 60 * SECOND);
    await sweepLate(app);
    await app.drive(125 * 60 * SECOND);
    expect(await losses(app)).toEqual([]);
    await app.drive(20 * 60 * SECOND);
    expect(await losses(app)).toEqual(["a/0"]);
  });

  test("[S132] but not for ever, though sweeps come late again and again: for a day", async () => {
    const app = await endedFor(27 * 60 * 60 * SECOND);
    await sweepLate(app);
    await app.drive(5 * 60 * SECOND);
    expect(await losses(app)).toEqual(["a/0"]);
  });

  test("[S132] nor is it given up by a sweep that comes late to further slots", async () => {
    const app = await endedFor(10 * 60 * 60 * SECOND);
    const generation = await sweepLate(app);
    const seen = { from: 0, lost: 0, running: false, began: [] };
    await app.t.mutation(internal.pool.sweep, { generation, seen });
    expect(await losses(app)).toEqual([]);
  });
});
