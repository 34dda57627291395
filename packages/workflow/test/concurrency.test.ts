import { describe, expect, test } from "vitest";
import type { Status } from "../src/index.js";
import { isOf } from "./component.js";
import { components, internal } from "./convex/_generated/api.js";
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

/** So many children that end after so many ms: well, or as failures. */
const well = (count: number, ms: number): Rest[] => times(count, { ms, fails: false });

type Ended = Extract<Status<unknown>, { state: "completed" }>;

/** The children of a run that are in a state. */
async function childrenIn(state: string, id: string, app: TestApp = use.app) {
  return (await app.tree(id)).filter((run) => run.parentRunId === id && run.state === state);
}

describe("how many children run at once", () => {
  test(
    "[S43] [S66] those that sleep hold no slot: 50 of them, with a concurrency of 50, take as long as one",
    { tags: ["large"] },
    async () => {
      const { state, startedAt, endedAt } = (await use.app.run("fiftyRest", {
        rests: well(50, HOUR),
      })) as Ended;
      expect(state).toBe("completed");
      expect(endedAt - startedAt).toBe(HOUR);
      await use.app.expectNothingLeft();
    },
  );

  test("[S254] as many as a function of the scope says", async () => {
    const id = await use.app.start("asManyAsSaid", { of: 10, times: 3 });
    await use.app.advance(SECOND);
    expect(await childrenIn("running", id)).toHaveLength(6);
    await use.app.drive();
    expect(await use.app.status("asManyAsSaid", id)).toMatchObject({ state: "completed" });
    expect(await use.app.error("asManyAsSaid", { of: 10, times: 0 })).toMatchObject({
      message:
        'The concurrency of "all" in workflow "asManyAsSaid" is 0: it must be a whole number from 1',
    });
  });

  test(
    "[S254] of items too; Infinity is all of them, and a fraction is refused",
    { tags: ["large"] },
    async () => {
      for (const [atOnce, running] of [
        [3, 3],
        [0, 12],
      ]) {
        const id = await use.app.start("itemsAsSaid", { of: 12, atOnce });
        await use.app.advance(SECOND);
        expect(await childrenIn("running", id)).toHaveLength(running ?? 0);
        await use.app.drive();
        expect(await use.app.status("itemsAsSaid", id)).toMatchObject({ state: "completed" });
      }
      expect(await use.app.error("itemsAsSaid", { of: 10, atOnce: 1.5 })).toMatchObject({
        message:
          'The concurrency of "all" in workflow "itemsAsSaid" is 1.5: it must be a whole number from 1',
      });
    },
  );

  test(
    "[S53] at most `concurrency` run at once, though they hold no slot",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("fiftyRest", { rests: well(120, HOUR) });
      for (const running of [50, 50, 20]) {
        await use.app.advance(SECOND);
        expect(await childrenIn("running", id)).toHaveLength(running);
        await use.app.advance(HOUR);
      }
      await use.app.drive();
      expect(await use.app.status("fiftyRest", id)).toMatchObject({ output: 120 });
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S43] a concurrency above maxParallelism is honoured: what needs a slot waits in the pool's line",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("fiftyWork", { of: 60 });
      await use.app.advance(SECOND);
      expect(await childrenIn("running", id)).toHaveLength(50);
      expect(await use.app.slotsHeld()).toBe(SLOTS);
      await use.app.drive();
      expect(await use.app.status("fiftyWork", id)).toMatchObject({
        state: "completed",
        output: Array.from({ length: 60 }, (_, n) => n * 10),
      });
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S43] without a concurrency, children that only work begin as the pool has slots for them",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("works", { of: 30 });
      await use.app.advance(SECOND);
      expect(await childrenIn("running", id)).toHaveLength(SLOTS);
      expect(await use.app.inComponent(async (ctx) => ctx.db.query("waiting").collect())).toEqual(
        [],
      );
      await use.app.drive();
      await use.app.expectNothingLeft();
    },
  );

  test.each(["asksAll", "asksLast", "asksByName", "asksAllThrough", "asksTeams"])(
    "[S43] without a concurrency, all begin where one may wait: %s asks all, and waits for all",
    { tags: ["large"] },
    async (name) => {
      const id = await use.app.start(name, { of: 30 });
      await use.app.advance(SECOND);
      expect(await childrenIn("running", id)).toHaveLength(30);
      await use.app.advance(DAY);
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

  test("[S53] [S88] one that runs is canceled by itself: its slot goes to one that waits", async () => {
    const id = await use.app.start("twoRest", { rests: well(4, HOUR) });
    await use.app.advance(SECOND);
    const [first] = await childrenIn("running", id);
    await use.app.t.mutation(internal.runs.cancel, { runId: first?.runId ?? "" });
    expect((await childrenIn("running", id)).map(({ index }) => index)).toEqual([1, 2]);
    await use.app.drive();
    expect(await use.app.status("twoRest", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });
});

describe("very many children that all begin", () => {
  test(
    "[S43] [S56] they are started in pages, whatever their number: a child costs two root executions, and some documents",
    { tags: ["large"] },
    async () => {
      const of = 1_050;
      const id = await use.app.start("allRest", { of, ms: HOUR });
      await use.app.advance(60 * SECOND);
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
    },
  );

  test(
    "[S59] pages of children leave half of the bytes that the smallest class takes in a second to others",
    { tags: ["large"] },
    async () => {
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
    },
  );

  test(
    "[S43] [S59] those that have ended before all have begun are counted",
    { tags: ["large"] },
    async () => {
      expect(await use.app.output("allRest", { of: 1_050, ms: 0 })).toBe(1_050);
      await use.app.expectNothingLeft();
    },
  );

  test("[S53] a large concurrency is reached, and not passed", { tags: ["large"] }, async () => {
    const id = await use.app.start("halfRest", { of: 700, ms: HOUR });
    for (const [running, done] of [
      [510, 0],
      [190, 510],
    ]) {
      await use.app.advance(60 * SECOND);
      const { children } = (await use.app.status("halfRest", id))?.active[0] ?? {};
      expect(children).toMatchObject({ running, done });
      await use.app.advance(HOUR);
    }
    await use.app.drive();
    expect(await use.app.status("halfRest", id)).toMatchObject({ output: 700 });
    await use.app.expectNothingLeft();
  });

  test(
    "[S46] 8,193 of them without a finalize: the list is too large, and the error names reduce",
    { tags: ["large"] },
    async () => {
      const error = await use.app.error("gathersMany", { of: 8_193 });
      expect(error).toMatchObject({ kind: "tooLarge", node: "all" });
      expect(error.message).toMatch(/8193 children.*8192 elements.*reduce/);
      await use.app.expectNothingLeft();
    },
  );
});
