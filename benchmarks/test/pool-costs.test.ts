/** @module-tag large */
import { installTimers, type InstalledTimers } from "@stepwise/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { loadOurs } from "../src/apps.js";
import { type Given, PoolMeasurement } from "../src/measure-pool.js";
import { waitWithFreeSlots } from "../src/pool.js";
import { MORE_SCENES, POOL_SCENES, STUCK_SCENES } from "../src/scenes.js";

let timers: InstalledTimers;
let pool: PoolMeasurement;

beforeAll(async () => {
  // What fails here, and what stalls, is meant to.
  for (const method of ["log", "info", "warn", "error"] as const)
    vi.spyOn(console, method).mockReturnValue();
  const app = await loadOurs([{ kind: "mutation", length: 1 }], ["@convex-dev/component-source"]);
  timers = installTimers({ now: Date.UTC(2030, 0) });
  pool = new PoolMeasurement(app, timers);
});
afterAll(() => {
  timers.uninstall();
  vi.restoreAllMocks();
});

const settling = { kind: "settlingAction" } as const;
const atOnce = { count: 100 } as const;
const long = { kind: "busyAction", ms: 540_000 } as const;

describe("root executions of each work, until the last has ended and the pool has come to rest", () => {
  test.each<[scene: string, most: number, given: Given]>([
    ["one action, idle pool", 3, {}],
    ["one action that settles itself, idle pool", 2, settling],
    ["one mutation, idle pool", 1, { kind: "mutation" }],
    ["an action of 9 minutes, pool of 10", 6, long],
    ["an action of 9 minutes, pool of 1", 6, { ...long, maxParallelism: 1 }],
    ["100 actions, pool of 10", 3.1, atOnce],
    ["100 actions, pool of 100", 3.1, { ...atOnce, maxParallelism: 100 }],
    ["100 actions that settle themselves, pool of 10", 2.2, { ...atOnce, ...settling }],
    [
      "100 actions that settle themselves, pool of 100",
      2.2,
      { ...atOnce, ...settling, maxParallelism: 100 },
    ],
    ["20 mutations, pool of 1", 1.2, { kind: "mutation", count: 20, maxParallelism: 1 }],
  ])("%s: at most %d", async (_, most, given) => {
    const cost = await pool.work(given);
    expect(cost.rootExecutions).toBeLessThanOrEqual(most);
    // Of those, one is the last sweep of all together, at most: a work that is alone takes it
    // along.
    const sweeps = (cost.rootExecutions - cost.rootToEnd!) * (given.count ?? 1);
    expect(Math.round(sweeps)).toBeLessThanOrEqual(given.count === undefined ? 0 : 1);
  });
});

test.each<[scene: string, most: number, given: Given]>([
  ["one action", 6, {}],
  ["one action that settles itself", 6, settling],
  ["one mutation", 5, { kind: "mutation" }],
  ["an action of 9 minutes", 18, long],
])("%s on an idle pool takes at most %d executions, nested ones too", async (_, most, given) => {
  const executions = [];
  // A slot makes the pool's report once a minute, which is one more. Which slot it is, is random.
  for (let i = 0; i < 5; i++) executions.push((await pool.work(given)).executions);
  expect(Math.min(...executions)).toBeLessThanOrEqual(most);
});

test("a completion reads no more of the queue than there are slots", async () => {
  const mutations = { kind: "mutation", count: 20, maxParallelism: 1 } as const;
  expect((await pool.work(mutations)).documentsRead).toBeLessThanOrEqual(10.2);
});

test("a work that joins the queue of a paused pool reads nothing of the watchdog", async () => {
  expect((await pool.stuck(0)).documentsRead).toBeLessThanOrEqual(65);
});

test.each([...POOL_SCENES, MORE_SCENES[1]!])(
  "no work waits while a slot is free: $title",
  async ({ works }) => {
    // An executor waits 2 ms for other ends to report with one.
    expect((await pool.work(works)).waitMs).toBeLessThanOrEqual(1);
  },
);

test("a retry takes 1 root execution besides those of its attempt", async () => {
  const [attempt, retried] = [await pool.work({}), await pool.work({ kind: "failingAction" })];
  expect(retried.rootToEnd).toBeGreaterThan(attempt.rootToEnd!);
  expect(retried.rootExecutions).toBeLessThanOrEqual(2 * attempt.rootExecutions + 1);
});

test("a delayed start takes 1 root execution more", async () => {
  const { rootToEnd, rootExecutions } = await pool.more({ runAfter: 10_000 }, {});
  expect(rootToEnd).toBeLessThanOrEqual(1);
  expect(rootExecutions).toBeLessThanOrEqual(1);
});

test.each(STUCK_SCENES)("$title: at most 5 root executions in all", async ({ maxParallelism }) => {
  expect((await pool.stuck(maxParallelism)).rootExecutions).toBeLessThanOrEqual(5);
});

test("an idle pool runs nothing after one last sweep of the watchdog", async () => {
  const [first, second] = await pool.idle();
  expect(first.rootExecutions).toBeLessThanOrEqual(1);
  expect(second.executions).toBe(0);
});

describe("the wait while a slot is free", () => {
  const ran = (startedAt: number, endedAt: number) => ({ startedAt, endedAt });

  test("counts from when a work is due to its start", () => {
    expect(waitWithFreeSlots([10], [ran(15, 20)], 1)).toBe(5);
  });

  test("does not count while all slots are taken", () => {
    expect(waitWithFreeSlots([0, 0], [ran(0, 20), ran(23, 30)], 1)).toBe(3);
  });

  test("counts each free slot, but not more than works wait", () => {
    expect(waitWithFreeSlots([0, 0, 0], [ran(4, 5), ran(4, 5), ran(4, 5)], 2)).toBe(8);
    expect(waitWithFreeSlots([0], [ran(4, 5)], 10)).toBe(4);
  });
});
