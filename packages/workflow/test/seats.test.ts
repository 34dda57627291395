import { describe, expect, test } from "vitest";
import type { Status } from "../src/index.js";
import { components, internal } from "./convex/_generated/api.js";
import { isOf } from "./component.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();

const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The default of a deployment of class S16, which convex-test says that it is. */
const SLOTS = 6;

interface Rest {
  ms: number;
  fails: boolean;
}
const times = (count: number, rest: Rest) => Array.from({ length: count }, () => rest);
/** So many children that end after so many ms: well, or badly. */
const well = (count: number, ms: number): Rest[] => times(count, { ms, fails: false });
const badly = (count: number, ms: number): Rest[] => times(count, { ms, fails: true });

type Ended = Extract<Status<unknown>, { state: "completed" }>;

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

describe("how many children run at once", () => {
  test("[S43] [S66] those that sleep hold no slot: 50 of them, with a concurrency of 50, take as long as one", async () => {
    const { state, startedAt, endedAt } = (await use.app.run("fiftyRest", {
      rests: well(50, HOUR),
    })) as Ended;
    expect(state).toBe("completed");
    expect(endedAt - startedAt).toBe(HOUR);
    await use.app.expectNothingLeft();
  });

  test("[S53] at most `concurrency` run at once, though they hold no slot", async () => {
    const id = await use.app.start("fiftyRest", { rests: well(120, HOUR) });
    for (const running of [50, 50, 20]) {
      await use.app.pass(SECOND);
      expect(await childrenIn("running", id)).toHaveLength(running);
      await use.app.pass(HOUR);
    }
    await use.app.drive();
    expect(await use.app.status("fiftyRest", id)).toMatchObject({ output: 120 });
    await use.app.expectNothingLeft();
  });

  test("[S43] a concurrency above maxParallelism is honoured: what needs a slot waits in the pool's line", async () => {
    const id = await use.app.start("fiftyWork", { of: 60 });
    await use.app.pass(SECOND);
    expect(await childrenIn("running", id)).toHaveLength(50);
    expect(await use.app.slotsHeld()).toBe(SLOTS);
    await use.app.drive();
    expect(await use.app.status("fiftyWork", id)).toMatchObject({
      state: "completed",
      output: Array.from({ length: 60 }, (_, n) => n * 10),
    });
    await use.app.expectNothingLeft();
  });

  test("[S43] without a concurrency, children that only work begin as the pool has slots for them", async () => {
    const id = await use.app.start("works", { of: 30 });
    await use.app.pass(SECOND);
    expect(await childrenIn("running", id)).toHaveLength(SLOTS);
    expect(await use.app.inComponent(async (ctx) => ctx.db.query("waiting").collect())).toEqual([]);
    await use.app.drive();
    await use.app.expectNothingLeft();
  });

  test.each(["asksAll", "asksLast", "asksByName", "asksAllThrough", "asksTeams"])(
    "[S43] without a concurrency, all begin where one may wait: %s asks all, and waits for all",
    async (name) => {
      const id = await use.app.start(name, { of: 30 });
      await use.app.pass(SECOND);
      expect(await childrenIn("running", id)).toHaveLength(30);
      await use.app.pass(DAY);
      const runs = await use.app.tree(id);
      for (const { runId, state, workflow } of runs)
        if (workflow === "asked" && state === "running")
          await use.app.t.mutation(components.workflow.events.send, {
            workflow,
            run: { runId },
            name: "answer",
            value: 1,
            receivers: [{ stage: "rounds.who.one.answer" }],
          });
      await use.app.drive();
      expect(await use.app.status(name, id)).toMatchObject({ state: "completed" });
      await use.app.expectNothingLeft();
    },
  );

  test("[S53] [S88] one that runs is canceled by itself: its seat goes to one that waits", async () => {
    const id = await use.app.start("twoRest", { rests: well(4, HOUR) });
    await use.app.pass(SECOND);
    const [first] = await childrenIn("running", id);
    await use.app.t.mutation(internal.runs.cancel, { runId: first?.runId ?? "" });
    expect((await childrenIn("running", id)).map(({ index }) => index)).toEqual([1, 2]);
    await use.app.drive();
    expect(await use.app.status("twoRest", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });
});

describe("very many children that all begin", () => {
  test("[S43] [S56] they are started in pages, whatever their number: a child costs two root executions, and some documents", async () => {
    const of = 1_050;
    const id = await use.app.start("allRest", { of, ms: HOUR });
    await use.app.pass(60 * SECOND);
    expect((await use.app.status("allRest", id))?.active).toMatchObject([
      { children: { total: of, done: 0, failed: 0, running: of } },
    ]);
    // As if half of them had ended: both halves are too many to be counted.
    await use.app.inComponent(async (ctx) => {
      const runs = await ctx.db.query("runs").collect();
      for (const { _id, index, parentStep } of runs)
        if (parentStep !== undefined && index < of / 2)
          await ctx.db.patch("runs", _id, { state: "completed" });
    });
    expect((await use.app.status("allRest", id))?.active).toMatchObject([
      { children: { total: of, done: of / 2, failed: 0, running: of / 2, isEstimate: true } },
    ]);
    await use.app.inComponent(async (ctx) => {
      const runs = await ctx.db.query("runs").collect();
      for (const { _id, state } of runs)
        if (state === "completed") await ctx.db.patch("runs", _id, { state: "running" });
    });
    await use.app.drive();
    expect(await use.app.status("allRest", id)).toMatchObject({ state: "completed", output: of });
    const roots = use.app.counter.calls.filter(
      ({ how, name }) => how === "root" && !name.startsWith("watchdog:"),
    );
    expect(roots.length / of).toBeLessThan(2.2);
    const filling = roots.filter(isOf("features/children:insertNext"));
    // Each page of it starts 200; one more inserts.
    expect(filling.length).toBeLessThan(12);
    for (const { total } of filling) {
      expect(total.documentsRead).toBeLessThan(2_000);
      expect(total.documentsWritten).toBeLessThan(2_500);
    }
    await use.app.expectNothingLeft();
  }, 120_000);

  test("[S59] pages of children leave half of the bytes that the smallest class takes in a second to others", async () => {
    await use.app.start("gathersMany", { of: 3_000 });
    await use.app.drive();
    const pages = use.app.counter.calls.filter(isOf("features/children:insertNext"));
    expect(pages).toHaveLength(5);
    for (const { startedAt: from } of pages) {
      const second = pages.filter(
        (page) => page.startedAt >= from && page.startedAt < from + 1_000,
      );
      // An entry of an index counts too, and a run has a dozen of them.
      const bytes = second.reduce((sum, { total }) => sum + 2 * total.bytesWritten, 0);
      expect(bytes).toBeLessThan(2 << 20);
      expect(second.length).toBeLessThanOrEqual(2);
    }
  });

  test("[S43] [S59] those that have ended before all have begun are not forgotten", async () => {
    expect(await use.app.output("allRest", { of: 1_050, ms: 0 })).toBe(1_050);
    await use.app.expectNothingLeft();
  }, 120_000);

  test("[S53] a large concurrency is reached, and not passed", async () => {
    const id = await use.app.start("halfRest", { of: 700, ms: HOUR });
    for (const [running, done] of [
      [510, 0],
      [190, 510],
    ]) {
      await use.app.pass(60 * SECOND);
      const { children } = (await use.app.status("halfRest", id))?.active[0] ?? {};
      expect(children).toMatchObject({ running, done });
      await use.app.pass(HOUR);
    }
    await use.app.drive();
    expect(await use.app.status("halfRest", id)).toMatchObject({ output: 700 });
    await use.app.expectNothingLeft();
  }, 120_000);

  test("[S46] 8,193 of them without a finalize: the list is too large, and the error names reduce", async () => {
    const error = await use.app.error("gathersMany", { of: 8_193 });
    expect(error).toMatchObject({ kind: "tooLarge", node: "all" });
    expect(error.message).toMatch(/8193 children.*8192 elements.*reduce/);
    await use.app.expectNothingLeft();
  }, 120_000);
});

describe("one more ends badly than is let pass", () => {
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
    "[S49] those that end badly together, where a stale snapshot lacks %i of the newest commits: at once with a small limit, else within two seconds",
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
    // The first of the two that have ended has given its seat on.
    expect(await begun(app)).toBe(3);
  });

  test.each([
    ["that is passed by more than one", [...well(30, DAY), ...badly(154, 10)]],
    ["that is passed by one", [...badly(151, 10), ...well(30, DAY)]],
    ["that is reached, and passed later", [...badly(150, 10), ...badly(1, HOUR), ...well(30, DAY)]],
  ])("[S49] a limit of 150 %s: the parent fails within two seconds", async (_how, rests) => {
    const last = Math.max(...rests.filter(({ fails }) => fails).map(({ ms }) => ms));
    const app = new TestApp({ lag: () => 100 });
    const after = await failedAfter("manyBad", rests, app);
    expect(after - last).toBeGreaterThanOrEqual(0);
    expect(after - last).toBeLessThan(2 * SECOND);
  });

  test("[S49] as many as may end badly, one by one: a second has one recount at most, which reads what is new", async () => {
    const rests = Array.from({ length: 150 }, (_, n) => badly(1, n * 250)).flat();
    const id = await use.app.start("manyBad", { rests: [...rests, ...well(5, HOUR)] });
    await use.app.drive();
    expect(await use.app.status("manyBad", id)).toMatchObject({ state: "completed", output: 5 });
    const recounts = use.app.counter.calls.filter(isOf("features/failing:recount"));
    expect(recounts.length).toBeLessThanOrEqual((150 * 250) / SECOND);
    expect(recounts.length).toBeGreaterThan(20);
    for (const { total } of recounts) expect(total.documentsRead).toBeLessThan(20);
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
    await use.app.pass(100);
    expect(await recounts()).toEqual([1, 1]);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    expect(await recounts()).toEqual([0, 0]);
    await use.app.start("fiveBad", { rests: [...badly(3, 10), ...well(9, 20)] });
    await use.app.pass(100);
    expect(await recounts()).toEqual([0, 0]);
    await use.app.expectNothingLeft();
  });

  test("[S49] [S111] a recount that is lost comes all the same", async () => {
    const id = await use.app.start("fiveBad", { rests: [...badly(6, 10), ...well(3, DAY)] });
    await use.app.pass(100);
    await use.app.inComponent(async (ctx) => {
      const [continuation] = await ctx.db.query("continuations").collect();
      await ctx.scheduler.cancel(continuation!.job!);
    });
    await use.app.pass(120 * SECOND);
    expect(await use.app.status("fiveBad", id)).toMatchObject({ state: "failed" });
    await use.app.expectNothingLeft();
  });

  test.each([
    ["shareOf69", 69],
    ["shareOf123", 123],
  ])("[S50] a share that is a whole number is let pass: %s", async (name, limit) => {
    const rests = [...badly(limit, 10), ...well(375 - limit, 10)];
    expect(await use.app.output(name, { rests })).toBe(375);
  });

  test("[S50] one more than that share is not", async () => {
    const rests = [...badly(70, 10), ...well(305, DAY)];
    expect(await failedAfter("shareOf69", rests, use.app)).toBeLessThan(2 * SECOND);
  });

  /** A share, the number of all children, and how many of them it lets pass: as many as are not more than that share. */
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
    "[S50] %s, %s: of %i children %i may end badly",
    async (_, share, of, limit) => {
      const rests = [...badly(limit, 10), ...well(of - limit, 20)];
      expect(await use.app.output("shares", { share, rests })).toBe(limit);
      await use.app.expectNothingLeft();
    },
  );

  test.each(SHARES.filter(([, , of, limit]) => limit < of))(
    "[S50] %s, %s: of %i children one more than %i fails the parent, and cancels the others",
    async (_, share, of, limit) => {
      const rests = [...badly(limit + 1, 10), ...well(of - limit - 1, DAY)];
      const id = await use.app.start("shares", { share, rests });
      await use.app.pass(2 * SECOND);
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
