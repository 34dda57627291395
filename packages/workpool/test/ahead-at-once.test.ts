import { S256 } from "@stepwise/testing";
import { describe, expect, test } from "vitest";
import { once, watched } from "./deployed.js";

/* No more run at once than there are slots, whatever becomes of the works that are ahead. */

const SLOTS = 10;

describe("where works are ahead", () => {
  test.each([
    ["is paused, and goes on", 0, [20, 60, 130, 250, 390, 700]],
    ["becomes smaller, and larger again", 4, [20, 60, 130, 250, 390, 700]],
    ["is smaller for a moment, again and again", 7, [20, 20, 20, 20, 20, 20, 20, 20]],
  ] as const)("[S272] no more run than there are slots if the pool %s", async (_what, to, gaps) => {
    const { deployment, enqueue, events, ahead, seen, atRest } = await watched(SLOTS);
    deployment.at(0, () => enqueue(0, 600, 200));
    let at = 1_500;
    const were: number[] = [];
    for (const ms of gaps) {
      deployment.at(at, async () => {
        were.push(ahead().length);
        await deployment.mutation("calls:limit", { maxParallelism: to });
      });
      deployment.at(at + ms, () => deployment.mutation("calls:limit", { maxParallelism: SLOTS }));
      at += ms + 1_310;
    }
    await deployment.drive();
    expect(Math.max(...were)).toBeGreaterThan(0);
    expect(seen.most).toBe(SLOTS);
    expect(events("start")).toHaveLength(600);
    expect(events("ended")).toHaveLength(600);
    atRest();
  });

  test.each([
    ["for some seconds", 5_000],
    ["from time to time", 300],
  ])("[S273] nor if they cannot be given back %s", async (_for, lastsMs) => {
    let fails = false;
    let failed = 0;
    const { deployment, enqueue, events, ahead, seen, atRest } = await watched(8, S256, {
      timesOut: ({ name }) => fails && name === "complete:completeTogether" && ++failed > 0,
    });
    let were = 0;
    for (let i = 0; i < 6; i++) {
      deployment.at(11_000 * i, () => enqueue(200 * i, 180, 100));
      deployment.at(11_000 * i + 50, () => enqueue(200 * i + 180, 20, 3_000));
      for (let ms = 1_000; ms < 10_000; ms += 2 * lastsMs) {
        deployment.at(11_000 * i + ms, () => {
          fails = true;
          were = Math.max(were, ahead().length);
        });
        deployment.at(11_000 * i + ms + lastsMs, () => void (fails = false));
      }
    }
    await deployment.drive();
    expect(were).toBeGreaterThan(0);
    expect(failed).toBeGreaterThan(5);
    expect(seen.most).toBe(8);
    expect(once(events("start"))).toBe(1_200);
    expect(events("start")).toHaveLength(1_200);
    expect(events("ended")).toHaveLength(1_200);
    atRest();
  });

  test("[S272] nor if each end is reported alone, and the slots are used", async () => {
    const { deployment, enqueue, events, rows, seen, atRest } = await watched(SLOTS);
    for (let i = 0; i < 30; i++)
      deployment.at(200 * i, () => enqueue(10 * i, 10, 200, { callback: "throwing" }));
    await deployment.drive();
    expect(seen.most).toBe(SLOTS);
    expect(seen.inAllMs / SLOTS / (seen.to - seen.from)).toBeGreaterThan(0.7);
    expect(events("start")).toHaveLength(300);
    expect(rows("failedCallbacks")).toHaveLength(300);
    atRest();
  });

  test("[S156] an executor of which no report is taken any more runs what it has ahead", async () => {
    let fails = false;
    const { deployment, enqueue, events, ahead, atRest } = await watched(8, S256, {
      timesOut: ({ name }) => fails && name === "complete:completeTogether",
    });
    deployment.at(0, () => enqueue(0, 120, 100));
    deployment.at(1_000, () => {
      fails = true;
      expect(ahead().length).toBeGreaterThan(0);
    });
    deployment.at(60_000, () => {
      expect(ahead()).toEqual([]);
      fails = false;
    });
    await deployment.drive();
    expect(events("start")).toHaveLength(120);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(120).fill("success"));
    atRest();
  });
});
