import type { GenericMutationCtx } from "convex/server";
import { beforeAll, describe, expect, test } from "vitest";
import type { PoolMutationCtx } from "../src/core/index.js";
import { mostAtOnce, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";
import { HostApp, loadHost } from "./host-app.js";

virtualTime();
beforeAll(loadHost);

type Event = { what: string; label: string; at: number };

/** What every pool must be able to do, whatever hosts it. */
interface PoolUnderTest {
  setMaxParallelism(maxParallelism: number): Promise<void>;
  /** A job of `ms`; below 0, one that never ends. */
  enqueue(label: string, ms: number): Promise<void>;
  drive(ms: number): Promise<void>;
  driveOut(): Promise<void>;
  events(what: "start" | "end"): Promise<Event[]>;
  /** What the host was told of works that were lost. */
  losses(): Promise<string[]>;
  inDatabase<Result>(look: (ctx: PoolMutationCtx) => Promise<Result>): Promise<Result>;
  looks(): number;
}

const HOSTS: [string, () => PoolUnderTest][] = [
  [
    "the core in a host of its own",
    () => {
      const app = new HostApp();
      return {
        setMaxParallelism: (n) => app.setMaxParallelism(n),
        enqueue: (label, ms) => app.enqueue({ label, ms }),
        drive: (ms) => app.drive(ms),
        driveOut: () => app.driveOut(),
        events: (what) => app.events(what),
        losses: () =>
          app.t.run(async (ctx) =>
            (await ctx.db.query("gone").collect()).map((row) => row.message),
          ),
        // The host's tables are the pool's, and some more.
        inDatabase: (look) =>
          app.t.run((ctx) => look(ctx as GenericMutationCtx<any> as PoolMutationCtx)),
        looks: () => app.counter.totals((call) => call.name === "pool:sweep").rootExecutions,
      };
    },
  ],
  [
    "the workpool component",
    () => {
      const app = new TestApp();
      const onComplete = internal.callbacks.ended;
      return {
        setMaxParallelism: (n) => app.setMaxParallelism(n),
        enqueue: async (label, ms) => {
          await app.t.mutation((ctx) =>
            ms < 0
              ? app.pool.enqueueAction(ctx, internal.jobs.hang, { label }, { onComplete })
              : app.pool.enqueueAction(ctx, internal.jobs.sleep, { label, ms }, { onComplete }),
          );
        },
        drive: (ms) => app.drive(ms),
        driveOut: () => app.driveOut(),
        events: (what) => app.events(what),
        losses: async () =>
          (await app.events("ended"))
            .filter((event) => event.label === "failed")
            .map((event) => event.data.result.error),
        inDatabase: (look) =>
          app.inPool((ctx) => look(ctx as GenericMutationCtx<any> as PoolMutationCtx)),
        looks: () => app.counter.totals((call) => call.name === "watchdog:sweep").rootExecutions,
      };
    },
  ],
];

const stateOf = (pool: PoolUnderTest) =>
  pool.inDatabase(async (ctx) => {
    const slots = await ctx.db.query("slots").collect();
    const gate = await ctx.db.query("gate").first();
    return {
      open: gate?.open,
      watched: gate?.watched,
      held: slots.filter((slot) => slot.work !== undefined).length,
      waiting: (await ctx.db.query("waiting").collect()).length,
      setAside: (await ctx.db.query("setAside").collect()).length,
    };
  });
const AT_REST = { open: true, watched: false, held: 0, waiting: 0, setAside: 0 };

/** What becomes of the job of every work that runs. */
async function endJobs(pool: PoolUnderTest, state: "failed" | "canceled" | "success" | "gone") {
  await pool.inDatabase(async (ctx) => {
    // Nobody but the platform writes there, so no type allows it.
    const system = ctx.db as unknown as {
      patch(table: string, id: string, value: unknown): Promise<void>;
      delete(table: string, id: string): Promise<void>;
    };
    for (const { job } of await ctx.db.query("slots").collect()) {
      if (job === undefined) continue;
      if (state === "gone") await system.delete("_scheduled_functions", job);
      else await system.patch("_scheduled_functions", job, { state: { kind: state } });
    }
  });
}

describe.each(HOSTS)("a pool in %s", (_, create) => {
  test.each([1, 3])(
    "runs %i at once, no more and no fewer while others wait, and then rests",
    async (max) => {
      const pool = create();
      await pool.setMaxParallelism(max);
      const started = Date.now();
      for (let i = 0; i < 12; i++) await pool.enqueue(`${i}`, 100);
      await pool.drive(12 * 100 + 50);
      const events = [...(await pool.events("start")), ...(await pool.events("end"))];
      // At the same time the end comes first: its slot is what the start gets.
      events.sort((a, b) => a.at - b.at || a.what.localeCompare(b.what));
      expect(mostAtOnce(events)).toBe(max);
      expect((await pool.events("end")).at(-1)!.at - started).toBe((12 / max) * 100);
      await pool.driveOut();
      expect(await stateOf(pool)).toEqual(AT_REST);
    },
  );

  test("starts no work before one that is a window of maxParallelism older", async () => {
    const pool = create();
    await pool.setMaxParallelism(3);
    for (let i = 0; i < 30; i++) await pool.enqueue(`${i}`, 10 + ((i * 7) % 5));
    await pool.drive(1_000);
    const order = (await pool.events("start")).map((event) => Number(event.label));
    expect(order).toHaveLength(30);
    order.forEach((place, rank) => expect(place - rank).toBeLessThan(3));
  });

  test("pauses, takes in what ends, and goes on", async () => {
    const pool = create();
    await pool.setMaxParallelism(2);
    for (let i = 0; i < 6; i++) await pool.enqueue(`${i}`, 100);
    await pool.drive(50);
    await pool.setMaxParallelism(0);
    await pool.enqueue("6", 100);
    await pool.drive(10 * 60_000);
    expect(await stateOf(pool)).toMatchObject({ open: false, watched: false, held: 0, waiting: 5 });
    const looks = pool.looks();
    await pool.drive(10 * 60_000);
    expect(pool.looks()).toBe(looks);
    await pool.setMaxParallelism(3);
    await pool.driveOut();
    expect(await pool.events("end")).toHaveLength(7);
    expect(await stateOf(pool)).toEqual(AT_REST);
  });

  test.each(["failed", "canceled", "success", "gone"] as const)(
    "learns that works are lost whose jobs are %s, and others run in their slots",
    async (state) => {
      const pool = create();
      await pool.setMaxParallelism(2);
      await pool.enqueue("a", -1);
      await pool.enqueue("b", -1);
      await pool.enqueue("c", 100);
      await pool.drive(1_000);
      await endJobs(pool, state);
      await pool.drive(28_000);
      expect(await pool.losses()).toHaveLength(0);
      await pool.drive(2_000);
      expect(await pool.losses()).toHaveLength(2);
      expect(await pool.events("end")).toHaveLength(1);
      await pool.driveOut();
      expect(await stateOf(pool)).toEqual(AT_REST);
    },
  );

  test("leaves alone what takes 20 minutes, and looks at it 4 times", async () => {
    const pool = create();
    await pool.setMaxParallelism(1);
    await pool.enqueue("a", 20 * 60_000);
    await pool.enqueue("b", 10);
    await pool.drive(20 * 60_000 + 100);
    expect(await pool.losses()).toEqual([]);
    expect(await pool.events("end")).toHaveLength(2);
    expect(pool.looks()).toBe(4);
    await pool.driveOut();
    expect(pool.looks()).toBe(5);
    expect(await stateOf(pool)).toEqual(AT_REST);
  });

  test("sees what is lost late in a long time that is busy, within 9 minutes", async () => {
    const pool = create();
    await pool.setMaxParallelism(2);
    for (let i = 0; i < 60; i++) await pool.enqueue(`${i}`, 60_000);
    await pool.drive(12 * 60_000);
    await pool.enqueue("lost", -1);
    await pool.drive(20 * 60_000);
    await endJobs(pool, "failed");
    await pool.drive(9 * 60_000 + 1_000);
    expect((await pool.losses()).length).toBeGreaterThanOrEqual(1);
  });
});
