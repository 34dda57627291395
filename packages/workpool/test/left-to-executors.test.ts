import { type Faults, S16, S256 } from "@stepwise/testing";
import { describe, expect, test } from "vitest";
import { deployed } from "./deployed.js";

/* While an executor asks for works, those that come, and free slots, are left to it. */

/** So late sweeps are 9 minutes apart, as one work runs all the time. */
const FROM_MS = 1_490_000;
const LONG_MS = 2_900_000;
const COUNT = 120;
const EVERY_MS = 300;

describe("[S187] works that come one by one wait for a few seconds at most", () => {
  // For 40 s, from the moment on that nothing of the burst waits any more.
  const cannotReport = (ms: () => number): Faults => ({
    timesOut: ({ name }) =>
      name === "complete:completeTogether" && ms() > 700 && ms() < 40_000 + 700,
  });
  const die = (ms: () => number): Faults => {
    let deaths = 0;
    return {
      action: ({ name }) =>
        name === "executor:execute" && ms() > 0 && ++deaths <= 2 ? "dies before report" : undefined,
    };
  };
  test.each([
    { what: "while executors cannot report", of: cannotReport, slots: 112, class: S256 },
    { what: "after both executors have died", of: die, slots: 84, class: S16 },
  ])("$what, in a pool of $slots", { tags: ["large"] }, async (each) => {
    let now = () => -Infinity;
    const faults = each.of(() => now());
    const { deployment, enqueue, rows } = await deployed(each.slots, each.class, faults);
    const t0 = deployment.clock.now();
    now = () => deployment.clock.now() - t0 - FROM_MS;
    deployment.at(0, () => enqueue(0, 1, LONG_MS));
    deployment.at(FROM_MS, () => enqueue(10_000, each.slots + 20, 400));
    for (let work = 1; work <= COUNT; work++)
      deployment.at(FROM_MS + 500 + EVERY_MS * work, () => enqueue(work, 1, 200));
    const waits: number[] = [];
    deployment.onCommit(({ writes }) => {
      for (const { table, old, next } of writes) {
        if (table.path !== "workpool/waiting" || old === undefined || next !== undefined) continue;
        const came = old._creationTime - t0 - FROM_MS;
        if (came > 500) waits.push(now() - came);
      }
    });
    await deployment.advance(FROM_MS + EVERY_MS * COUNT + 30_000);
    expect(rows("waiting")).toEqual([]);
    expect(waits.length).toBeGreaterThan(0);
    expect(Math.max(...waits)).toBeLessThan(5_000);
  });
});

test(
  "[S187] works in the lanes of a range that long works fill wait as long as others do",
  { tags: ["large"] },
  async () => {
    const { deployment, enqueue, events } = await deployed(28, S256);
    const t0 = deployment.clock.now();
    deployment.at(0, () => enqueue(10_000, 28, 60_000));
    deployment.at(1_500, () => deployment.mutation("calls:limit", { maxParallelism: 84 }));
    const came = (burst: number) => 2_000 + 100 * burst;
    for (let burst = 0; burst < 80; burst++)
      deployment.at(came(burst), () => enqueue(burst * 100, 24, 200));
    await deployment.advance(30_000);
    const waits = events("start")
      .filter(({ label }) => Number(label) < 10_000)
      .map(({ label, at }) => at - t0 - came(Math.floor(Number(label) / 100)));
    expect(waits).toHaveLength(80 * 24);
    console.log(
      waits
        .toSorted((a, b) => b - a)
        .filter((_, i) => i % 20 === 0)
        .map(Math.round)
        .join(),
    );
    // Where each owner took those of its own lanes alone, it was 10 s.
    expect(Math.max(...waits)).toBeLessThan(6_000);
  },
);
