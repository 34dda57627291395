import { S16, S256 } from "@stepwise/testing";
import { poolName } from "./engines.js";
import type { Load } from "./measure.js";

/** Of every action, in ms. */
const MS = 200;

const work = (kind: string, count: number, maxParallelism: number) =>
  ({ kind, count, maxParallelism, ms: MS }) as const;

/** So many enqueues of one work, spread over some time. */
function enqueues(
  title: string,
  works: number,
  pool: number,
  overMs: number,
  more: Partial<Load> = {},
  kind = "busyAction",
): Load {
  return {
    title,
    pool,
    actions: works,
    warmUp: ["pools:enqueue", work(kind, 1, pool)],
    *calls() {
      for (let n = 0; n < works; n += 1)
        yield [(n * overMs) / works, "pools:enqueue", work(kind, 1, pool)];
    },
    ...more,
  };
}

/**
 * Works of lengths from 20 ms to `mostMs`, each as likely in its order of magnitude, drawn from a
 * fixed sequence: the same for each engine and seed.
 */
function mixed(title: string, works: number, pool: number, rate: number, mostMs: number): Load {
  const shortest = 20;
  return {
    title,
    pool,
    actions: works,
    warmUp: ["pools:enqueue", work("busyAction", 1, pool)],
    *calls() {
      for (let n = 0; n < works; n += 1) {
        // The golden ratio spreads the lengths evenly, and no neighbours are alike.
        const share = (n * 0.618_033_988_75) % 1;
        const ms = Math.round(shortest * (mostMs / shortest) ** share);
        yield [(n * 1_000) / rate, "pools:enqueue", { ...work("busyAction", 1, pool), ms }];
      }
    },
  };
}

/** Ten works a second for five seconds, and then so many at once: the pool is awake. */
function awake(title: string, works: number, pool: number, more: Partial<Load> = {}): Load {
  const before = 50;
  return {
    title,
    pool,
    actions: before + works,
    warmUp: ["pools:enqueue", work("busyAction", 1, pool)],
    *calls() {
      for (let n = 0; n < before + works; n += 1)
        yield [100 * Math.min(n, before), "pools:enqueue", work("busyAction", 1, pool)];
    },
    ...more,
  };
}

/** Works that are enqueued one by one within three seconds, and are all due at the same moment. */
function delayed(title: string, works: number, pool: number): Load {
  return {
    title,
    pool,
    actions: works,
    warmUp: ["pools:enqueue", work("busyAction", 1, pool)],
    *calls() {
      for (let n = 0; n < works; n += 1) {
        const at = Math.round((n * 3_000) / works);
        yield [at, "pools:enqueue", { ...work("busyAction", 1, pool), runAfter: 10_000 - at }];
      }
    },
  };
}

/** Works that are enqueued in batches of 1,000, so many a second: most of them wait long. */
function batches(title: string, works: number, pool: number, perSecond: number): Load {
  return {
    title,
    pool,
    actions: works,
    warmUp: ["pools:enqueue", work("busyAction", 1, pool)],
    *calls() {
      for (let n = 0; n < works / 1_000; n += 1)
        yield [(n * 1_000) / perSecond, "pools:enqueue", work("busyAction", 1_000, pool)];
    },
  };
}

/** Works that wait, enqueued 5,000 a second, and are all canceled by one call. */
function canceled(title: string, works: number, pool: number): Load {
  return {
    title,
    pool,
    actions: works,
    toRest: true,
    warmUp: ["pools:enqueue", work("busyAction", 1, pool)],
    *calls() {
      for (let n = 0; n < works / 1_000; n += 1)
        yield [200 * n, "pools:enqueue", { ...work("busyAction", 1_000, pool), ms: 60_000 }];
      yield [works / 5 + 10_000, "pools:cancelAll", {}];
    },
  };
}

/** Enqueues that are spread over several pools of one app. */
function pools(title: string, works: number, of: number, pool: number, overMs: number): Load {
  return {
    title,
    pool,
    pools: of,
    actions: works,
    warmUp: ["pools:enqueue", work("busyAction", 1, pool)],
    *calls() {
      for (let n = 0; n < works; n += 1)
        yield [
          (n * overMs) / works,
          "pools:enqueue",
          { ...work("busyAction", 1, pool), pool: poolName(n % of) },
        ];
    },
  };
}

/** So many runs of one workflow, spread over some time. */
function runs(
  title: string,
  count: number,
  workflow: { kind: string; length: number },
  pool: number,
  overMs: number,
  more: Partial<Load> = {},
): Load {
  const args = { ...workflow, ms: MS };
  return {
    title,
    pool,
    actions: count * workflow.length,
    warmUp: ["runs:start", args],
    *calls() {
      for (let n = 0; n < count; n += 1) yield [(n * overMs) / count, "runs:start", args];
    },
    ...more,
  };
}

/** Runs that sleep until one moment, a minute from the first start; an action follows. */
function sleepers(title: string, count: number, pool: number): Load {
  const args = { kind: "wakes", length: 1 };
  return {
    title,
    pool,
    actions: count,
    warmUp: ["runs:start", { ...args, ms: 0 }],
    *calls() {
      for (let n = 0; n < count; n += 1) {
        const at = Math.round((n * 30_000) / count);
        yield [at, "runs:start", { ...args, ms: 60_000 - at }];
      }
    },
  };
}

/** Runs that wait for an event each, which are all sent at one moment; an action follows. */
function answered(title: string, count: number, pool: number): Load {
  const args = { kind: "answered", length: 1, ms: 0 };
  return {
    title,
    pool,
    actions: count,
    warmUp: ["runs:start", args],
    *calls() {
      for (let n = 0; n < count; n += 1) yield [(n * 10_000) / count, "runs:start", args];
      for (let n = 0; n < count; n += 1)
        yield [30_000, "runs:send", (results) => ({ ...args, runId: results[n] })];
    },
  };
}

/** Runs of one mutation, each of which is removed by a call of its own when it has ended. */
function removed(title: string, count: number, perSecond: number): Load {
  const args = { kind: "mutation", length: 1, ms: 0 };
  const overMs = (count * 1_000) / perSecond;
  return {
    title,
    pool: 50,
    actions: count,
    toRest: true,
    warmUp: ["runs:start", args],
    *calls() {
      for (let n = 0; n < count; n += 1) yield [(n * overMs) / count, "runs:start", args];
      for (let n = 0; n < count; n += 1) {
        const at = overMs + 60_000 + (n * overMs) / count;
        yield [at, "runs:cleanup", (results) => ({ runId: results[n] })];
      }
    },
  };
}

const chain = { kind: "busyAction", length: 10 };
const fanOut = { kind: "busyFanOut", length: 50 };

const long = (load: Load): Load => ({ ...load, isLong: true });

/** The rows of the load table, by the names they are asked for with. */
export const LOADS: Readonly<Record<string, Load>> = {
  ...Object.fromEntries(
    [100, 150, 182, 250, 333].map((rate) => [
      `enqueue-${rate}`,
      enqueues(`2,000 single enqueues, pool of 50, ${rate} a second`, 2_000, 50, 2_000_000 / rate),
    ]),
  ),
  trickle: enqueues("400 single enqueues, pool of 100, 10 a second", 400, 100, 40_000),
  "trickle-s16": enqueues(
    "400 single enqueues, pool of 100, 10 a second, class S16",
    400,
    100,
    40_000,
    { class: S16 },
  ),
  "burst-s256": enqueues("1,000 enqueues at once, pool of 100", 1_000, 100, 0),
  "burst-s16": enqueues("1,000 enqueues at once, pool of 100, class S16", 1_000, 100, 0, {
    class: S16,
  }),
  "burst-s16-6": enqueues("1,000 enqueues at once, pool of 6, class S16", 1_000, 6, 0, {
    class: S16,
  }),
  awake: awake("10 a second, then 1,000 at once, pool of 100", 1_000, 100),
  "awake-s16": awake("10 a second, then 1,000 at once, pool of 100, class S16", 1_000, 100, {
    class: S16,
  }),
  delayed: delayed("300 delayed works due at one moment, pool of 50", 300, 50),
  "waiting-1000": batches("a batch of 1,000, pool of 100", 1_000, 100, 10),
  "waiting-20000": batches("20,000 in batches of 1,000, 10 a second, pool of 100", 20_000, 100, 10),
  "waiting-100000": long(
    batches("100,000 in batches of 1,000, 5 a second, pool of 100", 100_000, 100, 5),
  ),
  "canceled-50000": long(canceled("50,000 that wait, canceled at once, pool of 100", 50_000, 100)),
  "pools-20": pools("2,000 single enqueues over 20 pools of 5, 200 a second", 2_000, 20, 5, 10_000),
  "large-s16": enqueues(
    "300 works of 200 KB within 30 s, pool of 6, class S16",
    300,
    6,
    30_000,
    { class: S16 },
    "largeAction",
  ),
  "enqueue-33": enqueues("800 single enqueues, pool of 10, 33 a second", 800, 10, 24_000),
  "mixed-5s": mixed("800 works of 20 ms to 5 s, pool of 50, 33 a second", 800, 50, 33, 5_000),
  "mixed-60s": mixed("800 works of 20 ms to 60 s, pool of 50, 4 a second", 800, 50, 4, 60_000),
  settling: enqueues(
    "2,000 self-settling works at once, pool of 50",
    2_000,
    50,
    0,
    {},
    "settlingAction",
  ),
  insertions: enqueues("2,000 mutations at once, pool of 50", 2_000, 50, 0, {}, "insertion"),
  "insertions-s16": enqueues(
    "1,000 mutations at once, pool of 6, class S16",
    1_000,
    6,
    0,
    { class: S16 },
    "insertion",
  ),
  "chains-50": runs("1,000 chains of 10 within 10 s, pool of 50", 1_000, chain, 50, 10_000),
  "chains-100": runs("1,000 chains of 10 within 10 s, pool of 100", 1_000, chain, 100, 10_000),
  "chains-at-once": runs("1,000 chains of 10 at once, pool of 50", 1_000, chain, 50, 0),
  "fan-outs-50": runs("100 fan-outs of 50 at once, pool of 50", 100, fanOut, 50, 0),
  "fan-outs-100": runs("100 fan-outs of 50 at once, pool of 100", 100, fanOut, 100, 0),
  "children-10000": long(
    runs("1 fan-out of 10,000, pool of 100", 1, { kind: "busyFanOut", length: 10_000 }, 100, 0),
  ),
  "sleepers-5000": sleepers("5,000 sleeps that end at one moment, pool of 100", 5_000, 100),
  "events-1000": answered("1,000 events at one moment, pool of 100", 1_000, 100),
  "removed-20000": long(
    removed("20,000 runs of a mutation, each removed, 200 a second", 20_000, 200),
  ),
  ...Object.fromEntries(
    [8, 16, 32].map((places) => [
      `places-${places}`,
      runs(
        `300 chains of 10 within 10 s, pool of 100, scheduler with ${places} places`,
        300,
        chain,
        100,
        10_000,
        {
          // What a deployment says of itself where its scheduler has fewer places than those of
          // class S256.
          class: { ...S256, name: S16.name, scheduledAtOnce: places },
        },
      ),
    ]),
  ),
};
