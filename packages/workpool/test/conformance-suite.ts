import { describe, expect, test } from "vitest";
import type { PoolMutationCtx } from "../src/core/index.js";
import { LOOK } from "../src/core/queue.js";
import { mostAtOnce } from "./most-at-once.js";
import { seeded } from "./seeded.js";

/** A pool whose host gives works successors. */
export interface PoolWithSuccessors extends PoolUnderTest {
  /** So many jobs of `ms`, each of which wants the slot of the one before. */
  enqueueChain(label: string, ms: number, length: number): Promise<void>;
}

type Event = { what: string; label: string; at: number };

/** What every pool must be able to do, whatever hosts it. */
export interface PoolUnderTest {
  /** How long after it has become busy its host has it looked at, in ms. */
  readonly firstSweepMs: number;
  /** How long, in ms, a work may wait while a slot is free: until the next look at the queue. */
  readonly looksEveryMs: number;
  setMaxParallelism(maxParallelism: number): Promise<void>;
  /** A job of `ms`; below 0, one that never ends. */
  enqueue(label: string, ms: number): Promise<void>;
  /** A job that throws when it has begun. */
  enqueueThrowing(label: string): Promise<void>;
  drive(ms: number): Promise<void>;
  driveOut(): Promise<void>;
  events(what: "start" | "end"): Promise<Event[]>;
  /** What the host was told of works that were lost. */
  losses(): Promise<string[]>;
  inDatabase<Result>(read: (ctx: PoolMutationCtx) => Promise<Result>): Promise<Result>;
  /** How often the watchdog has looked. */
  sweeps(): number;
}

const stateOf = (pool: PoolUnderTest) =>
  pool.inDatabase(async (ctx) => {
    const slots = await ctx.db.query("slots").collect();
    const gate = await ctx.db.query("gate").first();
    return {
      open: gate?.open,
      watched: (await ctx.db.query("watch").first())?.watched,
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

/**
 * The promises that every pool keeps, as tests of the one that `create` makes. To be called in a
 * file that has time be virtual.
 */
export function conformance(name: string, create: () => PoolUnderTest): void {
  describe(`a pool in ${name}`, () => {
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

    test("starts the works of each lane in the order in which they came, and leaves no lane behind", async () => {
      const pool = create();
      await pool.setMaxParallelism(3);
      for (let i = 0; i < 30; i++) await pool.enqueue(`${i}`, 10 + ((i * 7) % 5));
      const lanes = await pool.inDatabase(async (ctx) => {
        const rows = await ctx.db.query("waiting").withIndex("by_commit").collect();
        return rows.map(({ lane }) => lane);
      });
      await pool.drive(1_000);
      const order = (await pool.events("start")).map((event) => Number(event.label));
      expect(order).toHaveLength(30);
      // The first works found free slots.
      const waited = order.filter((place) => place >= 30 - lanes.length);
      const laneOf = (place: number) => lanes[place - (30 - lanes.length)];
      for (const lane of new Set(lanes)) {
        const inLane = waited.filter((place) => laneOf(place) === lane);
        // A slot whose lane is empty takes from another one, though not its first.
        inLane.forEach((place, rank) => {
          const older = inLane.slice(rank + 1).filter((other) => other < place);
          expect(older.length).toBeLessThan(LOOK);
        });
      }
    });

    test("pauses, takes in what ends, and goes on", async () => {
      const pool = create();
      await pool.setMaxParallelism(2);
      for (let i = 0; i < 6; i++) await pool.enqueue(`${i}`, 100);
      await pool.drive(50);
      await pool.setMaxParallelism(0);
      await pool.enqueue("6", 100);
      await pool.drive(10 * 60_000);
      expect(await stateOf(pool)).toMatchObject({
        open: false,
        watched: false,
        held: 0,
        waiting: 5,
      });
      const sweeps = pool.sweeps();
      await pool.drive(10 * 60_000);
      expect(pool.sweeps()).toBe(sweeps);
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
        await pool.drive(pool.firstSweepMs - 2_000);
        expect(await pool.losses()).toHaveLength(0);
        await pool.drive(2_000);
        expect(await pool.losses()).toHaveLength(2);
        expect(await pool.events("end")).toHaveLength(1);
        await pool.driveOut();
        expect(await stateOf(pool)).toEqual(AT_REST);
      },
    );

    test("is looked at as soon as its host says, then after three times as long, and at most 540 s after the sweep before", async () => {
      const pool = create();
      const started = Date.now();
      await pool.enqueue("long", 50 * 60_000);
      const expected = [10, 30, 90, 270, 810, 1_350, 1_890, 2_430].filter(
        (seconds) => seconds * 1_000 >= pool.firstSweepMs,
      );
      const sweeps: number[] = [];
      for (const _ of expected) {
        const { at } = (await pool.inDatabase((ctx) => ctx.db.query("watch").first()))!;
        sweeps.push(Math.round((at - started) / 1_000));
        await pool.drive(at + 10 - Date.now());
        expect(pool.sweeps()).toBe(sweeps.length);
      }
      expect(sweeps).toEqual(expected);
      await pool.driveOut();
      expect(await stateOf(pool)).toEqual(AT_REST);
    });

    test(
      "is not looked at after every one of many bursts, but once in 30 s at most",
      { tags: ["large"] },
      async () => {
        const pool = create();
        for (let burst = 0; burst < 50; burst++) {
          await pool.enqueue(`burst ${burst}`, 1_000);
          await pool.drive(12_000);
        }
        expect(pool.sweeps()).toBeLessThanOrEqual((50 * 12) / 30);
        await pool.driveOut();
        expect(await stateOf(pool)).toEqual(AT_REST);
      },
    );

    test("leaves alone what takes 20 minutes, and checks it 4 times, or 5 if the first is after 10 s", async () => {
      const pool = create();
      const sweeps = pool.firstSweepMs === 10_000 ? 5 : 4;
      await pool.setMaxParallelism(1);
      await pool.enqueue("a", 20 * 60_000);
      await pool.enqueue("b", 10);
      await pool.drive(20 * 60_000 + 100);
      expect(await pool.losses()).toEqual([]);
      expect(await pool.events("end")).toHaveLength(2);
      expect(pool.sweeps()).toBe(sweeps);
      await pool.driveOut();
      expect(pool.sweeps()).toBe(sweeps + 1);
      expect(await stateOf(pool)).toEqual(AT_REST);
    });

    test(
      "sees what is lost late in a long time that is busy, within 9 minutes",
      { tags: ["large"] },
      async () => {
        const pool = create();
        await pool.setMaxParallelism(2);
        for (let i = 0; i < 60; i++) await pool.enqueue(`${i}`, 60_000);
        await pool.drive(12 * 60_000);
        await pool.enqueue("lost", -1);
        // All others have ended then, though they had one slot alone if that one came early.
        await pool.drive(50 * 60_000);
        await endJobs(pool, "failed");
        await pool.drive(9 * 60_000 + 1_000);
        expect((await pool.losses()).length).toBeGreaterThanOrEqual(1);
      },
    );

    test("closes its gate when a work finds no slot, and opens it when nothing waits any more", async () => {
      const pool = create();
      await pool.setMaxParallelism(2);
      for (let i = 0; i < 2; i++) await pool.enqueue(`${i}`, 3_000);
      expect(await stateOf(pool)).toMatchObject({ open: true, held: 2, waiting: 0 });
      await pool.enqueue("2", 3_000);
      expect(await stateOf(pool)).toMatchObject({ open: false, held: 2, waiting: 1 });
      await pool.drive(3_500);
      expect(await stateOf(pool)).toMatchObject({ open: true, held: 1, waiting: 0 });
      await pool.driveOut();
      expect(await pool.events("end")).toHaveLength(3);
      expect(await stateOf(pool)).toEqual(AT_REST);
    });

    test(
      "lets no work wait while a slot is free, as many come as it can just run",
      { tags: ["large"] },
      async () => {
        const pool = create();
        await pool.setMaxParallelism(3);
        const random = seeded(5);
        let waited = 0;
        for (let i = 0; i < 80; i++) {
          await pool.enqueue(`${i}`, 20 + Math.floor(40 * random()));
          for (const ms of [0, Math.floor((80 * random()) / 3)]) {
            if (ms > 0) await pool.drive(ms);
            const { held, waiting } = await stateOf(pool);
            if (waiting > 0 && held < 3) {
              // The drain will see it, or an executor.
              await pool.drive(pool.looksEveryMs + 5);
              const later = await stateOf(pool);
              if (later.waiting > 0) expect(later.held).toBe(3);
            }
            waited += waiting;
          }
        }
        // Else it has not met its limit, and nothing was shown.
        expect(waited).toBeGreaterThan(0);
        await pool.driveOut();
        expect(await pool.events("end")).toHaveLength(80);
        expect(await stateOf(pool)).toEqual(AT_REST);
      },
    );

    test("raised while works wait, starts them in the new slots at once", async () => {
      const pool = create();
      await pool.setMaxParallelism(1);
      for (let i = 0; i < 8; i++) await pool.enqueue(`${i}`, 1_000);
      await pool.drive(500);
      const raisedAt = Date.now();
      await pool.setMaxParallelism(4);
      await pool.drive(10);
      const starts = await pool.events("start");
      expect(starts).toHaveLength(4);
      for (const { at } of starts.slice(1)) expect(at - raisedAt).toBeLessThanOrEqual(5);
      await pool.driveOut();
      expect(await pool.events("end")).toHaveLength(8);
      expect(await stateOf(pool)).toEqual(AT_REST);
    });

    test("lowered while works run, lets them end, and starts no more than that after them", async () => {
      const pool = create();
      await pool.setMaxParallelism(6);
      const enqueuedAt = Date.now();
      for (let i = 0; i < 6; i++) await pool.enqueue(`${i}`, 1_000);
      await pool.drive(500);
      await pool.setMaxParallelism(2);
      for (let i = 6; i < 12; i++) await pool.enqueue(`${i}`, 1_000);
      await pool.driveOut();
      const rounds = (await pool.events("start")).map(({ at }) =>
        Math.round((at - enqueuedAt) / 1_000),
      );
      expect(rounds).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3]);
      expect(await pool.events("end")).toHaveLength(12);
      const slots = await pool.inDatabase((ctx) => ctx.db.query("slots").collect());
      expect(slots.map(({ number }) => number).sort()).toEqual([0, 1]);
      expect(await stateOf(pool)).toEqual(AT_REST);
    });

    test("gives the slot of a function that throws to the next", async () => {
      const pool = create();
      await pool.setMaxParallelism(1);
      for (let i = 0; i < 3; i++) await pool.enqueueThrowing(`${i}`);
      await pool.enqueue("next", 10);
      await pool.driveOut();
      expect((await pool.events("start")).map(({ label }) => label)).toEqual([
        "0",
        "1",
        "2",
        "next",
      ]);
      expect(await pool.events("end")).toMatchObject([{ label: "next" }]);
      expect(await stateOf(pool)).toEqual(AT_REST);
    });

    test("gives the slot of a work whose function has disappeared while it waited to the next", async () => {
      const pool = create();
      await pool.setMaxParallelism(1);
      await pool.enqueue("first", 1_000);
      await pool.enqueue("gone", 10);
      await pool.drive(500);
      await pool.inDatabase(async (ctx) => {
        const row = await ctx.db.query("waiting").first();
        await ctx.db.patch("waiting", row!._id, { fn: "function://;gone:gone" });
      });
      await pool.enqueue("next", 10);
      await pool.driveOut();
      expect((await pool.events("end")).map(({ label }) => label)).toEqual(["first", "next"]);
      expect(await pool.losses()).toHaveLength(1);
      expect(await stateOf(pool)).toEqual(AT_REST);
    });
  });
}

/** The promises of a pool whose works have successors. */
export function conformanceOfSuccessors(name: string, create: () => PoolWithSuccessors): void {
  describe(`a pool in ${name}`, () => {
    test("has a chain hand its slot on to itself at most 10 times while others wait", async () => {
      const pool = create();
      await pool.setMaxParallelism(1);
      await pool.enqueueChain("c", 10, 25);
      await pool.enqueue("a", 10);
      await pool.enqueue("b", 10);
      await pool.driveOut();
      const order = (await pool.events("start")).map(({ label }) => label).join("");
      expect(order).toBe("c".repeat(11) + "ab" + "c".repeat(14));
      expect(await stateOf(pool)).toEqual(AT_REST);
    });

    test.each([
      [1, 100],
      [1, 900],
      [3, 900],
    ])(
      "starves nobody, maxParallelism %i: whoever waits starts in a bounded time, though chains of works of %i ms want all slots",
      { tags: ["large"] },
      async (max, ms) => {
        const LINKS = max === 1 ? 25 : 80;
        const SINGLES = 6;
        const pool = create();
        await pool.setMaxParallelism(max);
        for (let chain = 0; chain <= max; chain++) await pool.enqueueChain("chain", ms, LINKS);
        // One chain stands in the queue already.
        const enqueuedAt = Date.now();
        for (let i = 0; i < SINGLES; i++) await pool.enqueue(`${i}`, ms);
        await pool.driveOut();
        const starts = await pool.events("start");
        expect(starts).toHaveLength((max + 1) * LINKS + SINGLES);
        // Every slot takes somebody from the queue at least so often: 11 works, or 2 s and the work
        // that then still runs.
        const took = ms + 10;
        const longestHold = Math.min(11 * took, 2_000 + took);
        // Each taking serves one of the `4 * max` oldest: the oldest itself for sure with one slot;
        // else it is passed over 280 times in a row with a chance of (11/12)^280, or 3 in 10^11.
        const passedOver = max === 1 ? 0 : 280;
        for (let i = 0; i < SINGLES; i++) {
          const { at } = starts.find(({ label }) => label === `${i}`)!;
          const before = 1 + i;
          const takings = Math.ceil((before + 1 + passedOver) / max);
          expect(at - enqueuedAt, `${i}`).toBeLessThanOrEqual(takings * longestHold);
        }
        // Nor do they pass each other, but for the window.
        const order = starts.map(({ label }) => Number(label)).filter((label) => !isNaN(label));
        const window = max === 1 ? 1 : 4 * max;
        order.forEach((place, rank) => expect(place - rank).toBeLessThan(window));
        expect(await stateOf(pool)).toEqual(AT_REST);
      },
    );
  });
}
