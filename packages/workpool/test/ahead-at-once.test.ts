/** @module-tag large */
import { S256 } from "@stepwise/testing";
import { describe, expect, test } from "vitest";
import type { Id } from "../src/component/_generated/dataModel.js";
import type { ActionCtx } from "../src/component/_generated/server.js";
import { report } from "../src/component/worker.js";
import { watched } from "./deployed.js";

/* No more run at once than there are slots, whatever becomes of the works that are ahead. */

const SLOTS = 10;

describe("where works are ahead", () => {
  test.each([
    ["is paused, and goes on", 0, [20, 60, 130, 250, 390, 700]],
    ["becomes smaller, and larger again", 4, [40, 60, 80, 100, 130, 160, 250, 390]],
    ["is smaller for a moment, again and again", 1, [100, 110, 120, 130, 140, 150, 160, 170]],
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

  test.each([1_000, 5_000])(
    "[S273] nor if they cannot be given back for %i ms",
    async (lastsMs) => {
      let failsUntil = 0;
      let failed = 0;
      const { deployment, enqueue, events, ahead, seen, atRest } = await watched(8, S256, {
        timesOut: ({ name }) =>
          failsUntil > 0 &&
          deployment.clock.now() < failsUntil &&
          name === "complete:completeTogether" &&
          ++failed > 0,
      });
      deployment.at(0, () => enqueue(0, 200, 100));
      deployment.at(50, () => enqueue(200, 16, 20_000));
      deployment.at(60, () => enqueue(216, 10, 100));
      for (let ms = 0; ms < 5_000; ms += 10)
        deployment.at(ms, () => {
          const areLong = events("start").filter(({ label }) => Number(label) >= 200).length === 8;
          if (failed === 0 && areLong && ahead().length > 0)
            failsUntil = deployment.clock.now() + lastsMs;
        });
      await deployment.drive();
      expect(failed).toBeGreaterThan(1);
      expect(seen.most).toBe(8);
      expect(events("start")).toHaveLength(226);
      expect(events("ended")).toHaveLength(226);
      atRest();
    },
  );

  test("[S272] nor if each end is reported alone, and the slots are used", async () => {
    const { deployment, enqueue, events, rows, seen, atRest } = await watched(SLOTS);
    for (let i = 0; i < 30; i++)
      deployment.at(200 * i, () => enqueue(10 * i, 10, 200, { callback: "throwing" }));
    await deployment.drive();
    expect(seen.most).toBe(SLOTS);
    expect(seen.inAllMs / SLOTS / (seen.to - seen.from)).toBeGreaterThan(0.72);
    expect(events("start")).toHaveLength(300);
    expect(rows("failedCallbacks")).toHaveLength(300);
    atRest();
  });

  test("[S273] an executor of which no report is taken any more runs what it has ahead", async () => {
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

  test("[S273] an executor whose reports are refused for 9 minutes runs then what it has ahead", async () => {
    let from = Infinity;
    const { deployment, enqueue, events, ahead, atRest } = await watched(8, S256, {
      refuses: ({ name }) => {
        const isRefused = from < Infinity && deployment.clock.now() < from + 600_000;
        return isRefused && name.startsWith("complete:complete") ? "TooManyWrites" : undefined;
      },
    });
    deployment.at(0, () => enqueue(0, 200, 100));
    deployment.at(50, () => enqueue(200, 16, 20_000));
    for (let ms = 0; ms < 5_000; ms += 10)
      deployment.at(ms, () => {
        const long = events("start").filter(({ label }) => Number(label) >= 200);
        if (from === Infinity && long.length === 8 && ahead().length > 0)
          from = deployment.clock.now();
      });
    await deployment.drive();
    expect(Math.max(...events("start").map(({ at }) => at))).toBeLessThan(from + 630_000);
    expect(events("start")).toHaveLength(216);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(216).fill("success"));
    atRest();
  });

  test("[S268] an earlier version, which knows no seats, is told of an end without them", async () => {
    const taken: object[] = [];
    // A mock: there is no earlier version to deploy here.
    const ctx = {
      runMutation: async (_fn: unknown, args: object) => {
        if ("seats" in args)
          throw new Error("ArgumentValidationError: Object contains extra field `seats`");
        taken.push(args);
        return null;
      },
    } as unknown as ActionCtx;
    const attempt = { workId: "work" as Id<"works">, attempt: 1, slot: "slot" as Id<"slots"> };
    const outcome = { kind: "success", returnValue: null } as const;
    await report(ctx, { ...attempt, outcome }, Date.now(), ["seat" as Id<"slots">]);
    expect(taken).toMatchObject([{ ...attempt, outcome }]);
  });
});
