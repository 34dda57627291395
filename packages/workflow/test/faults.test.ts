/** @module-tag large */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { type ComponentFunction, isOf } from "./component.js";
import { dying, TestApp, useTestApp, type Faults } from "./harness.js";

/* Faults that do not last: the run goes on as if they had not been. */

useTestApp();
// The back end tells there of each function that fails.
beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterEach(() => void vi.restoreAllMocks());

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** The first calls of a function fail. */
function first(
  times: number,
  fails: (name: ComponentFunction) => boolean,
): NonNullable<Faults["fails"]> {
  let left = times;
  return (name) => fails(name) && left-- > 0;
}

const runOf = async (app: TestApp, id: string) =>
  await app.inComponent(async (ctx) =>
    (await ctx.db.query("runs").collect()).find((run) => run._id === id),
  );

/** Both tries of the first completion fail. */
function losing(fails: NonNullable<Faults["fails"]> = () => false): Faults {
  let hasResult = false;
  return {
    settle: () => !hasResult,
    fails: (name, args) => {
      hasResult ||= name === "lib:keep";
      return fails(name, args);
    },
  };
}

describe("a completion that fails twice, and then no more", () => {
  test("[S107] [S109] its result is kept, and taken in by a scheduled mutation: nothing is done again", async () => {
    const app = new TestApp(losing());
    const { runId, ...status } = await app.run("pays", {});
    expect(status).toMatchObject({ state: "completed", output: "receipt" });
    expect(await app.log()).toEqual(["paid"]);
    expect((await app.tree(runId))[0]?.steps[0]).toMatchObject({ attempt: 1, errors: [] });
    await app.expectNothingLeft();
  });

  test("[S31] [S109] so is its error: the action is tried again", async () => {
    const app = new TestApp(losing());
    const status = await app.run("flaky", { goodAttempt: 2 });
    expect(status).toMatchObject({ state: "completed", output: { attempt: 2 } });
    await app.expectNothingLeft();
  });

  test("[S92] [S109] the run can never go on with it: it fails, and what has taken effect is undone", async () => {
    const app = new TestApp({ settle: ({ outcome }) => outcome.kind === "success" });
    const status = await app.run("pays", {});
    expect(status).toMatchObject({ state: "failed", error: { node: "pay" } });
    expect(await app.log()).toEqual(["paid", "refunded receipt"]);
    await app.expectNothingLeft();
  });

  test("[S92] [S109] nor after a mutation: what that did stays, and is recorded", async () => {
    const app = new TestApp({ settle: ({ next }) => next.kind !== "fail" });
    const { runId, ...status } = await app.run("approval", {});
    expect(status).toMatchObject({ state: "failed" });
    expect(await app.log()).toEqual(["asked"]);
    expect(await app.steps(runId)).toEqual(["asked completed"]);
  });

  test("[S92] [S109] the same in a loop: what undoes it sees the iteration", async () => {
    const app = new TestApp({
      settle: ({ outcome, token }) => outcome.kind === "success" && token.iterations?.[0] === 2,
    });
    expect(await app.run("paysOften", {})).toMatchObject({ state: "failed" });
    expect(await app.log()).toEqual(["refunded 2 of iteration 2", "refunded 1 of iteration 1"]);
    await app.expectNothingLeft();
  });

  test("[S92] [S109] nor when it is resumed at an action in a loop: that is recorded as failed", async () => {
    const app = new TestApp({
      settle: ({ outcome, next }) =>
        outcome.kind === "open" && next.kind === "stage" && next.stage.stage === "again.pay",
    });
    const runId = await app.start("asksOften", {});
    await app.drive();
    await app.t.mutation(internal.manager.resume, { runId });
    await app.drive();
    expect(await app.status("asksOften", runId)).toMatchObject({ state: "failed" });
    expect(await app.steps(runId)).toEqual([
      "again failed",
      "again.ask completed",
      "again.pay failed",
    ]);
  });

  test("[S109] [S162] the same in a branch inside a loop: the other branches and iterations are undone too", async () => {
    const app = new TestApp({
      settle: ({ outcome }) =>
        outcome.kind === "success" && JSON.stringify(outcome).includes("card 2"),
    });
    const status = await app.run("paysInBranches", {});
    expect(status).toMatchObject({
      state: "failed",
      error: { kind: "childFailed", node: "again.both", key: "card" },
    });
    expect((await app.log()).toSorted()).toEqual([
      "gave back points 0",
      "gave back points 1",
      "refunded card 1 of iteration 1",
      "refunded card 2 of iteration 2",
    ]);
    expect((await app.log()).slice(2).toSorted()).toEqual([
      "gave back points 0",
      "refunded card 1 of iteration 1",
    ]);
    await app.expectNothingLeft();
  });

  test("[S97] [S109] a result that is not to be seen stands in no scheduled arguments", async () => {
    const app = new TestApp(losing());
    expect(await app.run("whispered", {})).toMatchObject({ state: "completed", output: 6 });
    const jobs = await app.jobs();
    expect(JSON.stringify(jobs)).not.toContain("s3cret");
  });

  test.each(["cancel", "pause"] as const)(
    "[S42] [S109] %s before the result is taken in: its slot is free, and nothing is left",
    async (how) => {
      const app = new TestApp(losing());
      const id = await app.start("pays", {});
      await app.drive(async () =>
        (await app.inComponent((ctx) => ctx.db.query("steps").collect())).some(
          ({ event }) => event?.kind === "success",
        ),
      );
      if (how === "cancel") await app.t.mutation(internal.runs.cancel, { runId: id });
      else await app.t.mutation(internal.manager.pause, { runId: id });
      expect(await app.slotsHeld()).toBe(0);
      await app.drive();
      await app.expectNothingLeft();
      if (how === "pause") await app.t.mutation(internal.manager.resume, { runId: id });
      await app.drive();
      expect(await runOf(app, id)).toMatchObject({
        state: how === "cancel" ? "canceled" : "completed",
      });
      expect(await app.log()).toEqual(["paid"]);
    },
  );

  test("[S109] [S111] the mutation that should take it in fails too: the watchdog has it done again", async () => {
    const app = new TestApp(losing(first(1, (name) => name === "engine/entry:enter")));
    expect(await app.run("pays", {})).toMatchObject({ state: "completed", output: "receipt" });
    expect(await app.log()).toEqual(["paid"]);
    expect(await app.slotsHeld()).toBe(0);
  });
});

describe("what records the arrival at a stage fails for a moment", () => {
  const arriving =
    (stage: string, times: number): NonNullable<Faults["settle"]> =>
    ({ next }) =>
      next.kind === "stage" && next.stage.stage === stage && times-- > 0;

  test.each([1, 3])("[S92] [S109] %i times, at a compensation: it runs", async (times) => {
    const app = new TestApp({ settle: arriving("pay.compensate", times) });
    const id = await app.start("paysTwice", {});
    await app.advance(SECOND);
    await app.t.mutation(internal.runs.cancel, { runId: id });
    await app.drive();
    const run = await runOf(app, id);
    expect(run).toMatchObject({ state: "canceled" });
    expect(run?.error?.compensationErrors).toBeUndefined();
    expect(await app.log()).toEqual(["paid", "refunded"]);
    expect(await app.slotsHeld()).toBe(0);
  });

  test("[S109] at an action: it runs, and the run goes on", async () => {
    const app = new TestApp({ settle: arriving("again", 1) });
    expect(await app.run("paysTwice", {})).toMatchObject({ state: "completed" });
    expect(await app.log()).toEqual(["paid", "paid again"]);
  });
});

describe("what should end a sleep fails in a way that cannot be caught", () => {
  test("[S66] [S111] the run goes on within half a minute, though nothing else is going on", async () => {
    const app = new TestApp({ fails: first(1, (name) => name === "engine/entry:enter") });
    const begun = Date.now();
    const { runId, ...status } = await app.run("naps", {});
    expect(status).toMatchObject({ state: "completed" });
    const { endedAt = Infinity } = (await runOf(app, runId)) ?? {};
    expect(endedAt - begun - HOUR).toBeLessThan(30 * SECOND);
    expect(await app.log()).toEqual(["after"]);
  });

  test("[S42] [S111] what looks after it is gone where it does not fail, or is not to come any more", async () => {
    const app = new TestApp();
    const scheduled = () =>
      app.inComponent(async (ctx) =>
        (await ctx.db.system.query("_scheduled_functions").collect())
          .filter((job) => job.state.kind === "pending" && !isOf("watchdog:sweep")(job))
          .map(({ name }) => name),
      );
    const steer = async (how: "pause" | "resume", runId: string) =>
      await app.t.mutation(internal.manager[how], { runId });
    const id = await app.start("naps", {});
    await app.advance(SECOND);
    const waking: ComponentFunction[] = ["engine/entry:enter", "features/lost:checkLate"];
    expect(await scheduled()).toEqual(waking);
    await steer("pause", id);
    expect(await scheduled()).toEqual([]);
    await steer("resume", id);
    expect(await scheduled()).toEqual(waking);
    await app.t.mutation(internal.runs.cancel, { runId: id });
    expect(await scheduled()).toEqual([]);
    const other = await app.start("naps", {});
    await app.drive(async () => (await runOf(app, other))?.state === "completed");
    expect(await scheduled()).toEqual([]);
  });
});

test("[S86] [S120] children that are called off, and wait to be canceled, are not lost: a repair leaves them", async () => {
  let isLate = true;
  const app = new TestApp({
    fails: (name) => isLate && name === "features/ending:cancelMoreChildren",
  });
  const id = await app.start("fiftyWork", { of: 100 });
  await app.advance(30 * SECOND);
  await app.t.mutation(internal.runs.cancel, { runId: id });
  // Slots that become free are offered to them, and they leave the queue.
  await app.advance(40 * SECOND);
  await app.t.mutation(internal.manager.repair, {});
  await app.advance(SECOND);
  isLate = false;
  await app.drive();
  const runs = (await app.tree(id)).slice(1);
  expect(runs.filter(({ state }) => state === "canceled").length).toBeGreaterThan(80);
  expect(runs.flatMap(({ steps }) => steps.flatMap(({ errors }) => errors))).toEqual([]);
});

describe("a recovery that throws", () => {
  /** Of an action whose machine died nothing can be recovered, so many times. */
  async function stranded(times: number): Promise<{ app: TestApp; id: string }> {
    const recovers = (name: ComponentFunction) =>
      name === "watchdog:recover" || name === "features/lost:recover";
    const throws = first(times, recovers);
    const { settle, fails } = dying(1);
    const app = new TestApp({
      ...(settle && { settle }),
      fails: (name, args) => fails?.(name, args) === true || throws(name, args),
    });
    return { app, id: await app.start("flaky", { goodAttempt: 2 }) };
  }

  test("[S107] once: a later check recovers the action", async () => {
    const { app, id } = await stranded(1);
    await app.drive();
    expect(await app.status("flaky", id)).toMatchObject({
      state: "completed",
      output: { attempt: 2 },
    });
    expect(await app.slotsHeld()).toBe(0);
  });

  test("[S111] often: status says stalled, and repair mends what it says that of", async () => {
    const { app, id } = await stranded(3);
    const isStalled = async () => (await app.status("flaky", id))?.stalled === true;
    await app.drive(
      async () => (await app.inComponent((ctx) => ctx.db.query("setAside").collect())).length > 0,
    );
    expect(await isStalled()).toBe(true);
    // Nothing watches it any more.
    await app.inComponent(async (ctx) => {
      for (const { _id } of await ctx.db.query("setAside").collect())
        await ctx.db.delete("setAside", _id);
      for (const job of await ctx.db.system.query("_scheduled_functions").collect())
        if (job.state.kind === "pending") await ctx.scheduler.cancel(job._id);
    });
    for (let n = 0; n < 3 && (await isStalled()); n++) {
      await app.t.mutation(internal.manager.repair, {});
      await app.advance(10);
    }
    expect(await isStalled()).toBe(false);
    await app.drive();
    expect(await app.status("flaky", id)).toMatchObject({ state: "completed" });
    expect(await app.inComponent((ctx) => ctx.db.query("setAside").collect())).toEqual([]);
  });

  test("[S107] as its run is paused: the action is recovered, and goes on once the run is resumed", async () => {
    const { app, id } = await stranded(2);
    await app.drive(
      async () => (await app.inComponent((ctx) => ctx.db.query("setAside").collect())).length > 0,
    );
    await app.t.mutation(internal.manager.pause, { runId: id });
    await app.drive();
    await app.t.mutation(internal.manager.resume, { runId: id });
    await app.drive();
    expect(await app.status("flaky", id)).toMatchObject({ state: "completed", stalled: false });
    expect(await app.slotsHeld()).toBe(0);
  });
});
