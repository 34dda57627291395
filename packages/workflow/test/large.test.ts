/** @module-tag large */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { isOf } from "./component.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

setFlagsFromString("--expose-gc");

const collectGarbage = runInNewContext("gc") as () => void;

/** What is in use, in MB, without what could be collected. */
function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_000_000;
}

describe("large", () => {
  test(
    "[S79] [S80] a loop of 5,000 iterations comes to its end; of most iterations nothing is kept",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("longLoop", { iterations: 5_000 });
      await use.app.drive();
      expect(await use.app.status("longLoop", id)).toMatchObject({
        state: "completed",
        output: 5_000,
      });
      const kept = await use.app.inComponent(
        async (ctx) => (await ctx.db.query("steps").collect()).length,
      );
      // Those of the first iteration and of the newest 100, of the loop itself, and of what comes
      // after it.
      expect(kept).toBe(1 + 100 + 2);
      const costs = use.app.counter.calls
        .filter(({ name, how }) => how === "root" && name.endsWith("longLoop:entry"))
        .map(({ total }) => [total.documentsRead, total.documentsWritten, total.bytesRead]);
      // A transaction executes several iterations: not the first and the last ones, which begin and
      // end.
      const [first, last] = [costs.slice(1, 6), costs.slice(-9, -4)];
      expect(last).toEqual(first);
    },
  );

  test(
    "[S56] 10,000 children: all outputs, in order, none missing or doubled",
    { tags: ["large"] },
    async () => {
      const before = heapUsed();
      const id = await use.app.start("tenThousand", { of: 10_000, concurrency: 200 });
      await use.app.drive();
      // The documents and the counter's calls are kept; what every query found is not.
      expect(heapUsed() - before).toBeLessThan(400);
      expect(await use.app.status("tenThousand", id)).toMatchObject({
        state: "completed",
        output: { count: 10_000, inOrder: true },
      });
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S57] 1,200 outputs are reduced, in several transactions, in order",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("reduces", { of: 1_200 });
      await use.app.drive();
      expect(await use.app.status("reduces", id)).toMatchObject({
        state: "completed",
        output: { children: { sum: 719_400, last: 1_199 } },
      });
    },
  );
});

describe("sizes", () => {
  test("[S27] [S80] a large state is not sent along with every step that can be undone", async () => {
    const id = await use.app.start("heavyState", { bytes: 950_000, iterations: 1 });
    await use.app.drive();
    expect(await use.app.status("heavyState", id)).toMatchObject({ state: "completed" });
    const settled = use.app.counter.calls.filter(isOf("lib:settle"));
    expect(settled.filter(({ failed }) => failed)).toEqual([]);
    const done = use.app.counter.calls.filter(({ name }) => /heavyState:go[A-R]$/.test(name));
    expect(done).toHaveLength(18);
  });

  test(
    "startBatch of 500 runs that have a timeout, from an action",
    { tags: ["large"] },
    async () => {
      const inputs = Array.from({ length: 501 }, (_none, n) => ({ ms: 1_000 + n }));
      const ids = await use.app.t.action(internal.manager.startBatchInAction, {
        name: "bed",
        inputs,
      });
      expect(new Set(ids).size).toBe(501);
    },
  );
});
