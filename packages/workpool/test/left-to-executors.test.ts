import { type Faults, S16, S256 } from "@stepwise/testing";
import { describe, expect, test } from "vitest";
import { WIDTH } from "../src/core/owners.js";
import { deployed } from "./deployed.js";

/* While an executor asks for works, those that come, and free slots, are left to it. */

/** So late sweeps are 9 minutes apart, as one work runs all the time. */
const FROM_MS = 1_490_000;
const LONG_MS = 2_900_000;
const LOOKS_MS = 50;

/** Executors that cannot report, or die, in that time. */
const cannotReport =
  (from: number, to: number) =>
  (now: () => number): Faults => ({
    timesOut: ({ name }) => name === "complete:completeTogether" && now() > from && now() < to,
  });
const dies =
  (to: number) =>
  (now: () => number): Faults => ({
    action: ({ name }) =>
      name === "executor:execute" && now() >= 0 && now() < to ? "dies before report" : undefined,
  });

/** When so many works come, in ms, and for how long each runs. */
type Burst = readonly [at: number, count: number, ms: number];
const oneByOne = (from: number, count: number, every: number, ms = 200): Burst[] =>
  Array.from({ length: count }, (_, work) => [from + every * work, 1, ms]);

interface Scene {
  readonly what: string;
  readonly slots: number;
  readonly class: typeof S16;
  readonly faults: (now: () => number) => Faults;
  readonly bursts: readonly Burst[];
  /** When the pool is paused, and when it goes on. */
  readonly paused?: readonly [number, number];
}

/**
 * For how long the work that waits the longest is the same, in ms, while a slot is free. On the
 * smallest class the slots of two executors are for works that wait.
 */
async function longest(scene: Scene): Promise<number> {
  let now = () => -Infinity;
  const faults = scene.faults(() => now());
  const { deployment, enqueue, rows } = await deployed(scene.slots, scene.class, faults);
  const begin = deployment.clock.now() + FROM_MS;
  now = () => deployment.clock.now() - begin;
  const at = (ms: number, does: () => unknown) => deployment.at(FROM_MS + ms, does);
  deployment.at(0, () => enqueue(0, 1, LONG_MS));
  for (const [index, [ms, count, forMs]] of scene.bursts.entries())
    at(ms, () => enqueue(1_000 * (index + 1), count, forMs));
  for (const [index, ms] of (scene.paused ?? []).entries()) {
    const maxParallelism = index === 0 ? 0 : scene.slots;
    at(ms, () => deployment.mutation("calls:limit", { maxParallelism }));
  }
  const ofExecutors = scene.class === S16 ? 2 * WIDTH : scene.slots;
  let [most, since, last] = [0, 0, ""];
  for (let ms = 0; ms < 60_000; ms += LOOKS_MS)
    at(ms, () => {
      const [oldest] = rows("waiting");
      const isFree =
        rows("gate")[0].maxParallelism > 0 &&
        rows("slots").some(({ number, work }) => number < ofExecutors && work === undefined);
      if (!isFree || oldest?._id !== last) since = now();
      last = oldest?._id ?? "";
      if (last !== "") most = Math.max(most, now() - since);
    });
  await deployment.advance(FROM_MS + 60_000);
  expect(rows("waiting")).toEqual([]);
  return most;
}

describe("[S187] no work waits for long beside a free slot", () => {
  const scenes: Scene[] = [
    {
      what: "while executors cannot report",
      slots: 112,
      class: S256,
      faults: cannotReport(700, 40_000),
      bursts: [[0, 132, 400], ...oneByOne(500, 120, 300)],
    },
    {
      what: "after both executors have died",
      slots: 84,
      class: S16,
      faults: dies(1_000),
      // Some have functions of their own, which do not die.
      bursts: [...oneByOne(-400, 6, 50, 800), [0, 98, 400], ...oneByOne(500, 120, 300)],
    },
    {
      what: "after executors have died, with the gate open for a moment",
      slots: 40,
      class: S16,
      faults: dies(3_000),
      bursts: [
        [0, 24, 400],
        [1_000, 8, 400],
        [4_000, 1, 400],
        [5_000, 40, 400],
      ],
    },
    {
      what: "after an executor has died, and a pause",
      slots: 28,
      class: S256,
      faults: dies(600),
      bursts: [...oneByOne(-400, 26, 10, 800), [0, 12, 400], ...oneByOne(500, 40, 100)],
      paused: [2_000, 5_500],
    },
  ];
  test.each(scenes)("$what", { tags: ["large"] }, async (scene) => {
    expect(await longest(scene)).toBeLessThan(4_000);
  });
});

interface Starving {
  readonly what: string;
  readonly class: typeof S16;
  /** The long works begin so many ms apart, each for so long, in a pool of 28. */
  readonly long: { readonly apart: number; readonly ms: (nth: number) => number };
  /** The pool is made so large. Every 100 ms so many short works come, so often. */
  readonly slots: number;
  readonly short: { readonly count: number; readonly bursts: number };
  /** Waits are shorter, in ms. */
  readonly most: number;
}

describe("[S187] works in the lanes of a range that long works fill wait as long as others do", () => {
  const scenes: Starving[] = [
    {
      // Where each owner took those of its own lanes alone, it was 10 s.
      what: "while it has no owner",
      class: S256,
      long: { apart: 0, ms: () => 60_000 },
      slots: 84,
      short: { count: 24, bursts: 80 },
      most: 6_000,
    },
    {
      // Where that owner had a share of its own lanes' works, it was 10 s.
      what: "while it has one, as its long works end one by one",
      class: S16,
      long: { apart: 2, ms: (nth) => 3_000 + 1_000 * nth },
      slots: 56,
      short: { count: 14, bursts: 200 },
      most: 4_500,
    },
  ];
  test.each(scenes)(
    "$what",
    { tags: ["large"] },
    async ({ long, slots, short, most, ...scene }) => {
      const { deployment, enqueue, events } = await deployed(28, scene.class);
      const t0 = deployment.clock.now();
      for (let nth = 0; nth < 28; nth++)
        deployment.at(long.apart * nth, () => enqueue(10_000 + nth, 1, long.ms(nth)));
      deployment.at(1_500, () => deployment.mutation("calls:limit", { maxParallelism: slots }));
      const came = (burst: number) => 2_000 + 100 * burst;
      for (let burst = 0; burst < short.bursts; burst++)
        deployment.at(came(burst), () => enqueue(burst * short.count, short.count, 200));
      await deployment.advance(40_000);
      const waits = events("start")
        .filter(({ label }) => Number(label) < 10_000)
        .map(({ label, at }) => at - t0 - came(Math.floor(Number(label) / short.count)));
      expect(waits).toHaveLength(short.bursts * short.count);
      expect(Math.max(...waits)).toBeLessThan(most);
    },
  );
});
