import { describe, expect, test } from "vitest";
import type { Event } from "../src/component/protocol.js";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

const scheduledJobs = async () => {
  const jobs = await use.app.jobs();
  return jobs.filter(({ state }) => state.kind === "pending");
};

const isPageOfCancel = ({ name }: { name: string }) => name.endsWith("cancelMoreChildren");

/** The pages of a cancel come when the watchdog finds that they have been lost. */
const delayPages = async () => {
  const pages = (await scheduledJobs()).filter(isPageOfCancel);
  await use.app.inComponent(async (ctx) => {
    for (const { _id } of pages) await ctx.scheduler.cancel(_id);
  });
};

const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });

describe("cancel", () => {
  test("[S83] before anything ran, nothing ever runs", async () => {
    const id = await use.app.start("thirdFails", {});
    expect(await cancel(id)).toBe(true);
    await use.app.drive();
    expect(await use.app.status("thirdFails", id)).toMatchObject({ state: "canceled" });
    expect(await use.app.log()).toEqual([]);
  });

  test("[S83] [S85] an action that has a slot, and has not begun: its slot is free at once", async () => {
    const id = await use.app.start("slow", { ms: 5_000 });
    expect(await use.app.slotsHeld()).toBe(1);
    await cancel(id);
    expect(await use.app.slotsHeld()).toBe(0);
    await use.app.drive();
    expect(await use.app.log()).toEqual([]);
    await use.app.expectNothingLeft();
  });

  test("[S83] [S85] an action that waits for a slot leaves the queue at once", async () => {
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 1 });
    await use.app.start("slow", { ms: 5_000 });
    const id = await use.app.start("slow", { ms: 5_000 });
    await use.app.advance(1_000);
    const waiting = async () =>
      await use.app.inComponent(async (ctx) => (await ctx.db.query("waiting").collect()).length);
    expect(await waiting()).toBe(1);
    await cancel(id);
    expect(await waiting()).toBe(0);
    await use.app.drive();
    await use.app.expectNothingLeft();
  });

  test("[S84] while an action runs: canceled at once, and its result changes nothing", async () => {
    const id = await use.app.start("slow", { ms: 5_000 });
    await use.app.advance(1_000);
    await cancel(id);
    expect(await use.app.status("slow", id)).toMatchObject({
      state: "canceled",
      error: { kind: "canceled" },
    });
    const before = await use.app.tree(id);
    await use.app.drive();
    expect(await use.app.tree(id)).toEqual(before);
    await use.app.expectNothingLeft();
  });

  test("[S84] its slot is held until the action ends", async () => {
    const id = await use.app.start("slow", { ms: 5_000 });
    await use.app.advance(1_000);
    await cancel(id);
    expect(await use.app.slotsHeld()).toBe(1);
    await use.app.drive();
    expect(await use.app.slotsHeld()).toBe(0);
  });

  test("[S85] while it waits for a retry, nothing stays scheduled", async () => {
    const id = await use.app.start("flaky", { goodAttempt: 2 });
    await use.app.drive(async () => {
      const status = await use.app.status("flaky", id);
      return status?.active[0]?.state === "waiting";
    });
    await cancel(id);
    await use.app.expectNothingLeft();
    await use.app.drive();
    expect(await use.app.steps(id)).toEqual(["attempt canceled"]);
  });

  test(
    "[S86] it cascades to all below, also to those that wait in the pool's line",
    { tags: ["large"] },
    async () => {
      const many = Array.from({ length: 40 }, (_none, n) => ({ n, ms: 1_000 }));
      const id = await use.app.start("grandparent", { leaves: many, ms: 1_000 });
      await use.app.advance(500);
      await cancel(id);
      const started = use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work")).length;
      const areCanceled = async () =>
        (await use.app.tree(id)).every(({ state }) => state === "canceled");
      await use.app.drive(areCanceled);
      expect(await areCanceled()).toBe(true);
      await use.app.drive();
      const after = use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work")).length;
      expect(after).toBe(started);
      await use.app.expectNothingLeft();
    },
  );

  test.each(["a cancel", "a failure"])(
    "[S86] [S48] no child that waits in the pool's queue starts after %s, long before it is canceled itself",
    { tags: ["large"] },
    async (cause) => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 12 });
      const fails = cause === "a failure";
      const all = (ms: number, of: number) =>
        Array.from({ length: of }, (_none, n) => ({ n, ms, fails: fails && ms < 2_000 }));
      await use.app.start("list", { leaves: all(2_000, fails ? 11 : 12) });
      // On S16, only some of them start at once.
      await use.app.advance(300);
      const id = await use.app.start("list", { leaves: all(1_000, 12) });
      await use.app.advance(500);
      if (!fails) await cancel(id);
      await use.app.drive(async () => (await scheduledJobs()).some(isPageOfCancel));
      await delayPages();
      await use.app.advance(2_500);
      const started = () =>
        use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work")).length;
      expect(started()).toBe(12);
      await use.app.drive();
      expect(started()).toBe(12);
      await use.app.expectNothingLeft();
    },
  );

  test.each([
    [
      "a sleep",
      "fiftyRest",
      { rests: Array.from({ length: 12 }, () => ({ ms: 1_000, fails: false })) },
    ],
    ["a mutation", "fair", { items: 12, slow: 0 }],
  ])(
    "[S86] nor does one begin that begins with %s, and nothing fails",
    async (_first, name, input) => {
      const id = await use.app.start(name, input);
      await use.app.drive(async () => (await use.app.tree(id)).length > 12);
      await cancel(id);
      await delayPages();
      await use.app.advance(1);
      const [, ...children] = await use.app.tree(id);
      const begun = children.flatMap(({ steps }) => steps.map(({ kind }) => kind));
      expect(new Set(begun)).toEqual(new Set(["entry"]));
      // They are about to be canceled, and not lost.
      const { status } = components.workflow.views;
      for (const { runId } of children)
        expect(await use.app.t.query(status, { run: { runId } })).toMatchObject({
          stalled: false,
        });
      await use.app.drive();
      expect(await use.app.log()).not.toContain("make 0");
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S86] few children are canceled at once, many in transactions that follow",
    { tags: ["large"] },
    async () => {
      const many = Array.from({ length: 120 }, (_none, n) => ({ n, ms: 10_000 }));
      const id = await use.app.start("wide", { lists: 3, leaves: many });
      // The children of the last list are inserted within 3 s, as more works wait than the pool runs.
      await use.app.advance(3_500);
      await cancel(id);
      const canceled = async () => {
        const states = (await use.app.tree(id)).map(({ state }) => state);
        return states.filter((state) => state === "canceled").length;
      };
      expect(await canceled()).toBe(1 + 3);
      await use.app.drive();
      expect(await canceled()).toBe(1 + 3 + 360);
      await use.app.expectNothingLeft();
    },
  );

  test("[S85] after the last child has ended, before the parent goes on: nothing stays scheduled", async () => {
    const id = await use.app.start("twoAtOnce", { leaves: [{ n: 1 }] });
    await use.app.drive(async () => {
      const jobs = await scheduledJobs();
      return jobs.some(({ args }) => (args[0] as { event?: Event }).event?.kind === "settled");
    });
    await cancel(id);
    await use.app.expectNothingLeft();
  });

  test("a step that cancels its own run, or the one above: the run ends, and what the step did stays", async () => {
    const id = await use.app.start("cancelsItself", {});
    await use.app.drive();
    expect(await use.app.status("cancelsItself", id)).toMatchObject({ state: "canceled" });
    const above = await use.app.start("canceledFromBelow", {});
    await use.app.drive();
    expect((await use.app.tree(above)).map(({ state }) => state)).toEqual(["canceled", "canceled"]);
    expect(await use.app.log()).toEqual(["stopping", "stopping"]);
    await use.app.expectNothingLeft();
  });

  test("[S87] twice is as once; of an ended run it does nothing, and says so", async () => {
    const id = await use.app.start("flaky", { goodAttempt: 1 });
    expect(await cancel(id)).toBe(true);
    expect(await cancel(id)).toBe(false);
    const ended = await use.app.start("flaky", { goodAttempt: 1 });
    await use.app.drive();
    expect(await cancel(ended)).toBe(false);
    expect(await use.app.status("flaky", ended)).toMatchObject({ state: "completed" });
  });
});

describe("deep trees", () => {
  test(
    "[S65] [S86] 100 runs under each other are canceled, from the top",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("wells", { depth: 99 });
      await use.app.advance(1_000);
      expect(await use.app.tree(id)).toHaveLength(100);
      await cancel(id);
      await use.app.drive();
      const states = (await use.app.tree(id)).map(({ state }) => state);
      expect(new Set(states)).toEqual(new Set(["canceled"]));
      await use.app.expectNothingLeft();
    },
  );
});
