/** @module-tag large */
import { describe, expect, test } from "vitest";
import { isOf } from "./component.js";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Rest {
  ms: number;
  fails: boolean;
}

const times = (count: number, rest: Rest) => Array.from({ length: count }, () => rest);

/** So many children that end after so many ms: well, or as failures. */
const well = (count: number, ms: number): Rest[] => times(count, { ms, fails: false });

const badly = (count: number, ms: number): Rest[] => times(count, { ms, fails: true });

/** The children of a run that are in a state. */
async function childrenIn(state: string, id: string, app: TestApp = use.app) {
  return (await app.tree(id)).filter((run) => run.parentRunId === id && run.state === state);
}

/** How many children of runs have begun, of those in the component's tables. */
async function begun(app: TestApp = use.app): Promise<number> {
  return await app.inComponent(async (ctx) => {
    const runs = await ctx.db.query("runs").collect();
    // One that was canceled before its turn has no record but its input's.
    const steps = await ctx.db.query("steps").collect();
    const withSteps = new Set(steps.filter(({ kind }) => kind !== "input").map(({ run }) => run));
    return runs.filter(({ _id, parentStep }) => parentStep !== undefined && withSteps.has(_id))
      .length;
  });
}

describe("one more fails than is let pass", () => {
  /** When a run has ended, counted from its start, in ms. */
  async function failedAfter(name: string, rests: Rest[], app: TestApp): Promise<number> {
    const id = await app.start(name, { rests });
    await app.drive();
    const status = await app.status(name, id);
    expect(status).toMatchObject({ state: "failed", error: { kind: "childFailed", node: "all" } });
    await app.expectNothingLeft();
    if (status?.state !== "failed") throw new Error("It has not failed");
    return status.endedAt - status.startedAt;
  }

  test("[S49] the parent fails at once, and the others are canceled, though they sleep for a day", async () => {
    const rests = [...badly(1, 10), ...badly(1, 5_000), ...well(3, DAY)];
    expect(await failedAfter("oneBad", rests, use.app)).toBe(5_000);
    const slowly = Array.from({ length: 6 }, (_, n) => badly(1, 10 + n * 5_000)).flat();
    expect(await failedAfter("fiveBad", [...slowly, ...well(3, DAY)], use.app)).toBe(25_010);
  });

  test.each([0, 1, 100])(
    "[S49] those that fail together, where a stale snapshot lacks %i of the newest commits: at once with a small limit, else within two seconds",
    { tags: ["large"] },
    async (lag) => {
      const app = new TestApp({ lag: () => lag });
      expect(await failedAfter("oneBad", [...badly(2, 10), ...well(20, DAY)], app)).toBe(10);
      const few = [...well(20, DAY), ...badly(6, 10)];
      expect(await failedAfter("fiveBad", few, app)).toBeLessThan(2 * SECOND);
    },
  );

  test("[S49] [S53] no child begins any more that has waited for its turn", async () => {
    const app = new TestApp({ lag: () => 1 });
    await failedAfter("oneBadOfTwo", [...badly(2, 10), ...well(10, DAY)], app);
    // The first of the two that have ended has given its slot on.
    expect(await begun(app)).toBe(3);
  });

  test.each([
    ["that is passed by more than one", [...well(30, DAY), ...badly(154, 10)]],
    ["that is passed by one", [...badly(151, 10), ...well(30, DAY)]],
    ["that is reached, and passed later", [...badly(150, 10), ...badly(1, HOUR), ...well(30, DAY)]],
  ])(
    "[S49] a limit of 150 %s: the parent fails within two seconds",
    { tags: ["large"] },
    async (_how, rests) => {
      const last = Math.max(...rests.filter(({ fails }) => fails).map(({ ms }) => ms));
      const app = new TestApp({ lag: () => 100 });
      const after = await failedAfter("manyBad", rests, app);
      expect(after - last).toBeGreaterThanOrEqual(0);
      expect(after - last).toBeLessThan(2 * SECOND);
    },
  );

  test(
    "[S49] as many as may fail, one by one: a second has one recount at most, which reads what is new",
    { tags: ["large"] },
    async () => {
      const rests = Array.from({ length: 150 }, (_, n) => badly(1, n * 250)).flat();
      const id = await use.app.start("manyBad", { rests: [...rests, ...well(5, HOUR)] });
      await use.app.drive();
      expect(await use.app.status("manyBad", id)).toMatchObject({ state: "completed", output: 5 });
      const recounts = use.app.counter.calls.filter(isOf("features/failing:recount"));
      expect(recounts.length).toBeLessThanOrEqual((150 * 250) / SECOND);
      expect(recounts.length).toBeGreaterThan(20);
      for (const { total } of recounts) expect(total.documentsRead).toBeLessThan(20);
      await use.app.expectNothingLeft();
    },
  );

  test("[S49] a child whose input was refused counts as one that has failed", async () => {
    const id = await use.app.start("oneRefused", {});
    await use.app.advance(SECOND);
    expect(await use.app.status("oneRefused", id)).toMatchObject({ state: "failed" });
    await use.app.drive();
    await use.app.expectNothingLeft();
  });

  test("[S42] [S85] a run that is canceled, and one that comes to its end, leave no recount behind", async () => {
    const recounts = async () =>
      await use.app.inComponent(async (ctx) => {
        const jobs = await ctx.db.system.query("_scheduled_functions").collect();
        const rows = await ctx.db.query("continuations").collect();
        const recount = jobs.filter(isOf("features/failing:recount"));
        return [recount.filter(({ state }) => state.kind === "pending").length, rows.length];
      });
    const id = await use.app.start("fiveBad", { rests: [...badly(1, 10), ...well(9, DAY)] });
    await use.app.advance(100);
    expect(await recounts()).toEqual([1, 1]);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    expect(await recounts()).toEqual([0, 0]);
    await use.app.start("fiveBad", { rests: [...badly(3, 10), ...well(9, 20)] });
    await use.app.advance(100);
    expect(await recounts()).toEqual([0, 0]);
    await use.app.expectNothingLeft();
  });

  test("[S49] [S111] a recount that is lost comes all the same", async () => {
    const id = await use.app.start("fiveBad", { rests: [...badly(6, 10), ...well(3, DAY)] });
    await use.app.advance(100);
    await use.app.inComponent(async (ctx) => {
      const [continuation] = await ctx.db.query("continuations").collect();
      await ctx.scheduler.cancel(continuation!.job!);
    });
    await use.app.advance(120 * SECOND);
    expect(await use.app.status("fiveBad", id)).toMatchObject({ state: "failed" });
    await use.app.expectNothingLeft();
  });

  test.each([
    ["shareOf69", 69],
    ["shareOf123", 123],
  ])(
    "[S50] a share that is a whole number is let pass: %s",
    { tags: ["large"] },
    async (name, limit) => {
      const rests = [...badly(limit, 10), ...well(375 - limit, 10)];
      expect(await use.app.output(name, { rests })).toBe(375);
    },
  );

  test("[S50] one more than that share is not", { tags: ["large"] }, async () => {
    const rests = [...badly(70, 10), ...well(305, DAY)];
    expect(await failedAfter("shareOf69", rests, use.app)).toBeLessThan(2 * SECOND);
  });

  /**
   * A share, the number of all children, and how many of them it lets pass: as many as are not more
   * than that share.
   */
  const SHARES = [
    ["33 %", "p33", 3, 0],
    ["34 %", "p34", 3, 1],
    ["14 %", "p14", 7, 0],
    ["15 %", "p15", 7, 1],
    ["0.5 %", "half", 199, 0],
    ["0.5 %", "half", 200, 1],
    ["100 %", "whole", 4, 4],
  ] as const;

  test.each(SHARES.filter(([, , , limit]) => limit > 0))(
    "[S50] %s, %s: of %i children %i may fail",
    { tags: ["large"] },
    async (_, share, of, limit) => {
      const rests = [...badly(limit, 10), ...well(of - limit, 20)];
      expect(await use.app.output("shares", { share, rests })).toBe(limit);
      await use.app.expectNothingLeft();
    },
  );

  test.each(SHARES.filter(([, , of, limit]) => limit < of))(
    "[S50] %s, %s: of %i children one more than %i fails the parent, and cancels the others",
    { tags: ["large"] },
    async (_, share, of, limit) => {
      const rests = [...badly(limit + 1, 10), ...well(of - limit - 1, DAY)];
      const id = await use.app.start("shares", { share, rests });
      await use.app.advance(2 * SECOND);
      expect(await use.app.status("shares", id)).toMatchObject({
        state: "failed",
        error: { kind: "childFailed", node: `of.${share}.all` },
      });
      await use.app.drive();
      expect(await childrenIn("failed", id)).toHaveLength(limit + 1);
      expect(await childrenIn("canceled", id)).toHaveLength(of - limit - 1);
      await use.app.expectNothingLeft();
    },
  );
});
