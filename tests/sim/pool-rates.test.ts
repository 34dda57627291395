import type { Commit, Deployment } from "@stepwise/testing";
import { expect, test } from "vitest";
import { PoolRates } from "./pool-rates.js";

/** A pool of which one row at a time is written, on a clock that is moved by hand. */
function watched() {
  const problems: string[] = [];
  const calls = { perKey: 9, rate: { limit: 10, per: 1_000, burst: 10 } };
  const gate = {
    limits: { api: { rate: { limit: 100, per: 1_000, burst: 50 } }, calls },
    overrides: [] as object[],
  };
  const now = { clock: 0, wall: 0 };
  const jumps: { at: number; aheadMs: number }[] = [];
  const rows = { gate: [gate], buckets: [] as object[] } as Record<string, object[]>;
  const deployment = {
    wall: () => now.wall,
    clock: { now: () => now.clock },
    jumps,
    rows: (_component: string, table: string) => rows[table] ?? [],
  };
  const place = { component: "workpool", works: "works" };
  // As much of a deployment as it asks.
  const of = deployment as unknown as Deployment;
  const used = new Map<string, Record<string, number>>();
  const rates = new PoolRates(
    of,
    (problem) => void problems.push(problem),
    place,
    () => used,
  );
  const see = (...writes: [name: string, next?: object, old?: object][]) =>
    rates.see({
      by: "test",
      writes: writes.map(([name, next, old]) => {
        return { table: { path: `workpool/${name}` }, id: "", old, next };
      }),
    } as unknown as Commit);
  const write = (...one: [name: string, next?: object, old?: object]) => see(one);
  let count = 0;
  return {
    problems,
    pass: (ms: number) => ((now.clock += ms), (now.wall += ms)),
    jump: (ms: number) => {
      jumps.push({ at: now.clock, aheadMs: now.wall - now.clock });
      now.wall += ms;
    },
    wall: () => now.wall,
    /** Starts so many, as of a time, and says what the bucket says then. */
    start: (many: number, at: number, taken: number, key?: string) => {
      const name = key === undefined ? "api" : `calls:${key}`;
      for (let n = 0; n < many; n++) {
        const work = `w${++count}`;
        write("works", { _id: work, permits: key === undefined ? [name] : ["calls", name] });
        write("slots", { work });
      }
      rows["buckets"] = [{ name, taken, at }];
      write("buckets", { name, taken, at });
    },
    /** Starts one in the transaction that writes the bucket. */
    startIn: (at: number, taken: number) => {
      const [old] = rows["buckets"]!;
      const [work, next] = [`w${++count}`, { name: "api", taken, at }];
      rows["buckets"] = [next];
      see(["works", { _id: work, permits: ["api"] }], ["slots", { work }], ["buckets", next, old]);
    },
    /** Ends a work that has used so much, by limit. */
    end: (work: string, amounts: Record<string, number>) => {
      used.set(work, amounts);
      write("slots", undefined, { work });
      used.clear();
    },
    /** What an operator says of `calls`, or of one of its keys. */
    override: (numbers: object) => void gate.overrides.push({ name: "calls", ...numbers }),
    /** Removes the bucket. */
    remove: () => {
      rows["buckets"] = [];
      write("buckets", undefined, { name: "api" });
    },
    /** From now on so many start a second. */
    pace: (limit: number) => (gate.limits.api.rate.limit = limit),
  };
}

test("a bucket that differs from what was taken is a problem, and one start too many", () => {
  const { problems, start } = watched();
  start(50, 0, 40);
  expect(problems.join()).toMatch(/of api 50.0 are taken, the bucket says 40/);
  problems.length = 0;
  start(10, 0, 60);
  expect(problems.join()).toMatch(/10.0 more than there are/);
});

/** Found by seed 910142 of the pool. */
test("a clock that is moved while a transaction runs says nothing of what it takes", () => {
  const { problems, pass, jump, wall, start } = watched();
  start(0, 0, 0);
  const began = wall();
  jump(200);
  pass(20);
  start(50, began, 50);
  pass(280);
  // 500 ms since it began: all have come back.
  start(50, wall(), 50);
  expect(problems).toEqual([]);
  start(20, wall(), 70);
  expect(problems.join()).toMatch(/more than there are/);
});

test("so does one that is back before the transaction commits", () => {
  const { problems, pass, jump, wall, start } = watched();
  start(0, 0, 0);
  jump(-60_000);
  const began = wall();
  pass(10);
  jump(60_000);
  start(50, began, 50);
  expect(problems).toEqual([]);
  pass(500);
  start(10, wall(), 30);
  expect(problems.join()).toMatch(/of api 10.0 are taken, the bucket says 30/);
});

/** Found by seed 465000568 of S16. */
test("after the clock went back, what a work books elsewhere has nothing come back", () => {
  const { problems, pass, jump, wall, start, end } = watched();
  start(10, 0, 10);
  jump(-60_000);
  pass(100);
  end("w1", { tokens: 5 });
  pass(100);
  start(1, wall(), 11);
  expect(problems).toEqual([]);
  // What is written comes back from then on.
  pass(100);
  start(1, wall(), 12);
  expect(problems.join()).toMatch(/of api 2.0 are taken, the bucket says 12/);
});

/** Found by seed 9000469 of S256. */
test("a bucket that was removed was full, and is so at a slower pace", () => {
  const { problems, pass, start, remove, pace, wall } = watched();
  start(1, 0, 1);
  pass(100);
  remove();
  pace(1);
  start(1, wall(), 1);
  expect(problems).toEqual([]);
  remove();
  expect(problems.join()).toMatch(/of api 1.0 are taken, the bucket says 0/);
});

/** Found by seed 8001223 of S16. */
test("as the pace changes, a bucket is what it says, if that could be", () => {
  const { problems, pass, start, pace, wall } = watched();
  pass(100);
  // Its transaction had another time than its commit.
  start(10, wall() - 30, 10);
  pace(1);
  start(1, wall(), 11);
  expect(problems).toEqual([]);
  start(1, wall(), 13);
  expect(problems.join()).toMatch(/of api 12.0 are taken, the bucket says 13/);
});

/** Found by seed 40002032 of S16. */
test("a start counts once, also in the first commit that is seen at another pace", () => {
  const { problems, startIn, pass, remove, pace, wall } = watched();
  startIn(0, 1);
  pass(100);
  remove();
  pace(1);
  pass(100);
  startIn(wall(), 1);
  startIn(wall(), 2);
  expect(problems).toEqual([]);
  startIn(wall(), 4);
  expect(problems.join()).toMatch(/of api 3.0 are taken, the bucket says 4/);
});

test("an operator's rate of one key holds for that key alone, and before that of the limit", () => {
  const { problems, pass, start, override, wall } = watched();
  override({ rate: { limit: 40, per: 1_000, burst: 40 } });
  override({ key: "a", rate: { limit: 20, per: 1_000, burst: 20 } });
  start(20, 0, 20, "a");
  start(40, 0, 40, "b");
  // 20 come back in a second, and 40 of the other.
  pass(500);
  start(10, wall(), 20, "a");
  start(20, wall(), 40, "b");
  expect(problems).toEqual([]);
  start(5, wall(), 25, "a");
  expect(problems.join()).toMatch(/of calls:a, 5.0 more than there are/);
  problems.length = 0;
  pass(250);
  start(0, wall(), 15, "a");
  expect(problems.join()).toMatch(/of calls:a 20.0 are taken, the bucket says 15/);
});

test("a key of which an operator says other numbers has the rate of the code", () => {
  const { problems, start, override } = watched();
  override({ rate: { limit: 40, per: 1_000, burst: 40 } });
  override({ key: "a", perKey: 2 });
  start(10, 0, 10, "a");
  expect(problems).toEqual([]);
  start(10, 0, 20, "a");
  expect(problems.join()).toMatch(/of calls:a, 10.0 more than there are/);
});
