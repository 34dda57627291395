/** @module-tag large */
import type { FunctionHandle } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import * as core from "@stepwise/workpool/core";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { components, internal } from "./convex/_generated/api.js";
import { isOf } from "./component.js";
import { dying, TestApp, useTestApp, type Faults } from "./harness.js";

/**
 * The handle of a function that a deploy took away. A deployment refuses to schedule it;
 * convex-test does not know that.
 */
const GONE = "function://;gone:gone";
beforeEach(() => {
  const { enqueueWork, completeWork } = core;
  vi.spyOn(core, "enqueueWork").mockImplementation(async (ctx, work, host) => {
    if (work.fn === GONE) throw new Error("There is no such function");
    return await enqueueWork(ctx, work, host);
  });
  vi.spyOn(core, "completeWork").mockImplementation(async (ctx, host, ended, successor) => {
    const isGone = successor?.fn === GONE;
    await completeWork(ctx, host, ended, isGone ? undefined : successor);
    if (isGone) await host.functionGone(ctx, successor.work, "There is no such function");
  });
});

// Pools of up to 200: on the smallest class works would share actions, of which carriers.test.ts is.
const use = useTestApp({ deploymentClass: "s256" });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function send(name: string, run: string, event: string, payload: Value): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

async function cancel(runId: string): Promise<boolean> {
  return await use.app.t.mutation(internal.runs.cancel, { runId });
}

/**
 * The scheduled functions of the component that are still to come, but for the pool's last sweep.
 */
async function pending(app: TestApp = use.app) {
  return await app.inComponent(async (ctx) => {
    const jobs = await ctx.db.system.query("_scheduled_functions").collect();
    return jobs.filter((job) => job.state.kind === "pending" && !isOf("watchdog:sweep")(job));
  });
}

/** Cancels the scheduled functions whose name ends so, as somebody might by hand. */
async function cancelJobs(name: string, app: TestApp = use.app): Promise<number> {
  const jobs = (await pending(app)).filter((job) => job.name.endsWith(name));
  await app.inComponent(async (ctx) => {
    for (const { _id } of jobs) await ctx.scheduler.cancel(_id);
  });
  return jobs.length;
}

async function stateOf(name: string, id: string, app: TestApp = use.app) {
  return (await app.status(name, id))?.state;
}

/** The runs of the top level, oldest first. */
async function topRuns() {
  return await use.app.inComponent(async (ctx) =>
    ctx.db
      .query("runs")
      .withIndex("by_root", (q) => q.eq("root", undefined))
      .collect(),
  );
}

/** No document is larger than a deployment stores; convex-test would. */
async function expectFits(): Promise<void> {
  const sizes = await use.app.inComponent(async (ctx) => {
    const documents = [
      ...(await ctx.db.query("runs").collect()),
      ...(await ctx.db.query("steps").collect()),
    ];
    return documents.map((document) => getConvexSize(document as Value));
  });
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024);
}

/** The rows of a table of the component. */
async function rows(table: "childPages" | "undos" | "deadlines" | "inbox" | "continuations") {
  return await use.app.inComponent(async (ctx) => (await ctx.db.query(table).collect()).length);
}

describe("events and time", () => {
  test("[S42] [S69] an event that is taken leaves no timer of its node", async () => {
    const id = await use.app.start("answered", {});
    await use.app.advance(MINUTE);
    expect(await send("answered", id, "first", "a")).toBe("taken");
    expect(await send("answered", id, "second", "b")).toBe("taken");
    expect(await use.app.status("answered", id)).toMatchObject({
      state: "completed",
      output: {
        first: { timedOut: false, event: "a" },
        second: { timedOut: false, event: { name: "second", value: "b" } },
      },
    });
    expect(await pending()).toEqual([]);
  });
});

describe("at the same instant", () => {
  test("[S41] [S66] a sleep ends as the time of its run is up: the run ends once", async () => {
    const status = await use.app.run("tooLong", { ms: HOUR });
    expect(status).toMatchObject({ endedAt: status.startedAt + HOUR });
    expect(await use.app.log()).toEqual(status.state === "completed" ? [] : ["undone"]);
    expect(await rows("deadlines")).toBe(0);
    await use.app.expectNothingLeft();
  });

  test("[S85] a run is canceled as its sleep ends: nothing follows", async () => {
    const id = await use.app.start("sleeps", { ms: MINUTE });
    await use.app.advance(1);
    vi.setSystemTime(Date.now() + 10 * MINUTE);
    expect(await cancel(id)).toBe(true);
    await use.app.drive();
    expect(await use.app.steps(id)).toEqual(["before completed", "fixed canceled"]);
    await use.app.expectNothingLeft();
  });

  test.each(["event", "timeout"])(
    "[S73] [S75] an event comes as its time is up, the %s first",
    async (first) => {
      const id = await use.app.start("answered", {});
      await use.app.advance(1);
      await send("answered", id, "first", "early");
      if (first === "event") {
        vi.setSystemTime(Date.now() + HOUR);
        expect(await send("answered", id, "second", "in time")).toBe("taken");
      } else {
        await use.app.advance(HOUR);
        await expect(send("answered", id, "second", "too late")).rejects.toThrow(
          "so it takes no more events",
        );
      }
      await use.app.drive();
      const second =
        first === "event"
          ? { timedOut: false, event: { name: "second", value: "in time" } }
          : { timedOut: true };
      expect(await use.app.status("answered", id)).toMatchObject({
        output: { first: { timedOut: false, event: "early" }, second },
      });
      await use.app.expectNothingLeft();
    },
  );

  test("[S70] [S75] of two events at once the second is kept for a later node", async () => {
    const id = await use.app.start("answered", {});
    await use.app.advance(1);
    const sent = await Promise.all([1, 2].map((n) => send("answered", id, "first", `${n}`)));
    expect(sent).toEqual(["taken", "taken"]);
    expect(await use.app.status("answered", id)).toMatchObject({
      output: {
        first: { timedOut: false, event: "1" },
        second: { timedOut: false, event: { name: "first", value: "2" } },
      },
    });
    await use.app.drive();
    await use.app.expectNothingLeft();
  });

  test.each(["early", "awaited"])("[S69] an event as large as one may be, %s", async (when) => {
    const id = await use.app.start("answered", {});
    if (when === "awaited") await use.app.advance(1);
    const text = "x".repeat(999_990);
    expect(await send("answered", id, "first", text)).toBe(when === "early" ? "kept" : "taken");
    await use.app.advance(1);
    expect(await send("answered", id, "second", text)).toBe("taken");
    await use.app.drive();
    const [top] = await topRuns();
    expect(top).toMatchObject({
      state: "failed",
      error: { kind: "tooLarge", node: "finalize" },
    });
    await expectFits();
  });
});

describe("the time of a parent", () => {
  test.each([
    { handlerMs: 6 * MINUTE, childMs: 0, finalizeMs: 0 },
    { handlerMs: 0, childMs: HOUR, finalizeMs: 0 },
    { handlerMs: 0, childMs: 0, finalizeMs: HOUR },
  ])("[S40] is counted once, whatever is tried again: %o", async (input) => {
    const status = await use.app.run("timedParent", input);
    const endedAt = status.startedAt + 10 * MINUTE;
    expect(status).toMatchObject({ state: "failed", error: { kind: "timedOut" }, endedAt });
    expect(await rows("deadlines")).toBe(0);
    await use.app.expectNothingLeft();
  });

  test("[S42] and is over when the parent is", async () => {
    const status = await use.app.run("timedParent", { handlerMs: 0, childMs: 0, finalizeMs: 0 });
    expect(status).toMatchObject({ state: "completed", output: 2 });
    expect(await rows("deadlines")).toBe(0);
    await use.app.expectNothingLeft();
  });

  test("[S113] a finalize that began before parts were stored gives the parent its output", async () => {
    const input = { handlerMs: 0, childMs: 0, finalizeMs: MINUTE };
    const id = await use.app.start("timedParent", input);
    await use.app.advance(30_000);
    const parts = await use.app.inComponent(async (ctx) => {
      const steps = await ctx.db.query("steps").collect();
      for (const { _id } of steps) await ctx.db.patch("steps", _id, { part: undefined });
      return steps.flatMap(({ stage, part }) => (part === undefined ? [] : [[stage, part]]));
    });
    expect(parts).toEqual([
      ["all.output", "output"],
      ["all.finalize", "finalize"],
    ]);
    await use.app.drive();
    expect(await use.app.status("timedParent", id)).toMatchObject({
      state: "completed",
      output: 2,
    });
    await use.app.expectNothingLeft();
  });

  test("[S41] [S95] that of a run which is being undone is over", async () => {
    const id = await use.app.start("timedBooking", {});
    await use.app.advance(HOUR - 30_000);
    await cancel(id);
    await use.app.drive();
    const status = await use.app.status("timedBooking", id);
    expect(status).toMatchObject({
      state: "canceled",
      endedAt: (status?.startedAt ?? 0) + HOUR + 30_000,
    });
    await use.app.expectNothingLeft();
  });
});

describe("compensation", () => {
  const trips = async () => (await use.app.log()).filter((line) => line.includes("un"));

  test("[S95] a run is canceled while a child of it undoes itself: each thing is undone once", async () => {
    const id = await use.app.start("tour", {
      bookings: [
        { n: 0, ms: HOUR },
        { n: 1, ms: 1_000, fails: true },
      ],
    });
    await use.app.drive(async () => (await trips()).includes("unbooking 1"));
    expect(await cancel(id)).toBe(true);
    expect(await cancel(id)).toBe(false);
    expect(await stateOf("tour", id)).toBe("compensating");
    await use.app.drive();
    expect(await stateOf("tour", id)).toBe("canceled");
    expect((await trips()).sort()).toEqual([
      "unbooked 0",
      "unbooked 1",
      "unbooking 0",
      "unbooking 1",
      "undo own",
    ]);
    expect((await trips()).at(-1)).toBe("undo own");
    await use.app.expectNothingLeft();
  });

  const faults: Record<string, Faults["settle"]> = {
    "has been executed": ({ fused }) => fused.some(({ stage }) => stage === "own.compensate"),
    "is to be an action": ({ next }) =>
      next.kind === "stage" && next.stage.stage === "book.compensate",
  };
  test.each(Object.entries(faults))(
    "[S94] [S109] what undoes a step %s, and that cannot be written down: it has failed, and nothing is left of it",
    async (_what, settle) => {
      const app = new TestApp(settle === undefined ? {} : { settle });
      const id = await app.start("tour", { bookings: [{ n: 0 }], fails: true });
      await app.drive();
      expect(await app.status("tour", id)).toMatchObject({
        state: "failed",
        error: { message: "the tour fails", compensationErrors: [{ attempt: 1 }] },
      });
      const log = await app.log();
      expect(log.filter((line) => line === "undo own").length).toBeLessThanOrEqual(1);
      expect(log.filter((line) => line === "unbooked 0").length).toBeLessThanOrEqual(1);
      const open = (await app.tree(id)).flatMap(({ steps }) =>
        steps.filter(({ endedAt }) => endedAt === undefined),
      );
      expect(open).toEqual([]);
    },
  );

  test("[S111] what was to undo a step is canceled by hand: it is done all the same, once", async () => {
    const id = await use.app.start("tour", { bookings: [], fails: true });
    await use.app.drive(async () => (await stateOf("tour", id)) === "compensating");
    expect(await cancelJobs("tour:entry")).toBe(1);
    await use.app.drive();
    expect(await stateOf("tour", id)).toBe("failed");
    expect(await trips()).toEqual(["undo own"]);
  });

  test(
    "[S92] [S86] children are still being canceled while one is undone: that happens once",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("crowd", { of: 600 });
      await use.app.drive();
      expect(await stateOf("crowd", id)).toBe("failed");
      expect(await trips()).toEqual(["unbooking 0", "unbooked 0"]);
      await use.app.expectNothingLeft();
    },
  );

  test("[S95] a child fails while a sibling can be undone: the run is compensating until that is done, and then undoes itself", async () => {
    const id = await use.app.start("tour", {
      bookings: [
        { n: 0, ms: HOUR },
        { n: 1, ms: HOUR },
        { n: 2, ms: 1_000, fails: true },
      ],
    });
    await use.app.drive(async () => (await trips()).includes("unbooking 0"));
    expect(await stateOf("tour", id)).toBe("compensating");
    expect(await cancel(id)).toBe(false);
    await use.app.drive();
    expect(await stateOf("tour", id)).toBe("failed");
    const log = await trips();
    // The one that failed undid itself first; then those that were canceled, at the same time.
    expect(log.slice(0, 2)).toEqual(["unbooking 2", "unbooked 2"]);
    expect(log.slice(2, -1).sort()).toEqual([
      "unbooked 0",
      "unbooked 1",
      "unbooking 0",
      "unbooking 1",
    ]);
    expect(log.at(-1)).toBe("undo own");
    expect(await rows("undos")).toBe(0);
    await use.app.expectNothingLeft();
  });

  test("[S95] the same where the run is canceled", async () => {
    const id = await use.app.start("tour", { bookings: [{ n: 0, ms: HOUR }, { n: 1 }] });
    await use.app.advance(MINUTE);
    await cancel(id);
    await use.app.drive();
    expect(await stateOf("tour", id)).toBe("canceled");
    expect(await trips()).toEqual([
      "unbooking 0",
      "unbooked 0",
      "unbooking 1",
      "unbooked 1",
      "undo own",
    ]);
    expect(await rows("undos")).toBe(0);
    await use.app.expectNothingLeft();
  });

  test(
    "[S93] children of children, and those of all iterations of a loop, are undone, the last first",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("season", { iterations: 2 });
      await use.app.drive();
      expect(await stateOf("season", id)).toBe("failed");
      const undone = (await trips()).filter((line) => !line.startsWith("unbooking"));
      expect(undone).toEqual([
        "unbooked 22",
        "unbooked 21",
        "unbooked 20",
        "undo own",
        "unbooked 12",
        "unbooked 11",
        "unbooked 10",
        "undo own",
      ]);
      expect(await rows("undos")).toBe(0);
      await use.app.expectNothingLeft();
    },
  );

  test.each(["action", "mutation"])(
    "[S94] a compensation that is a %s fails: the run's error lists it",
    async (kind) => {
      const error = await use.app.error("stubborn", { iterations: 3, bytes: 1, in: kind });
      expect(error.message).toBe("it fails");
      expect(error.compensationErrors).toMatchObject([
        { kind: "thrown", data: { output: 3 } },
        { kind: "thrown", data: { output: 2 } },
        { kind: "thrown", data: { output: 1 } },
      ]);
      await use.app.expectNothingLeft();
    },
  );

  test.each(["action", "mutation"])(
    "[S94] very many %ss fail for very long reasons: the run ends all the same",
    { tags: ["large"] },
    async (kind) => {
      const error = await use.app.error("stubborn", { iterations: 30, bytes: 60_000, in: kind });
      expect(error.message).toBe("it fails");
      expect(error.compensationErrors?.length).toBeGreaterThan(5);
      await expectFits();
      expect(await rows("undos")).toBe(0);
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S79] [S92] what is undone of an iteration long ago sees what that iteration made",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("manyIterations", { iterations: 250 });
      await use.app.drive();
      expect(await stateOf("manyIterations", id)).toBe("failed");
      const log = await use.app.log();
      expect(log).toHaveLength(250);
      expect(log).toEqual(Array.from({ length: 250 }, (_, n) => `a${250 - n} b${250 - n}`));
    },
  );
});

describe("limits", () => {
  test.each(["none", "query", "action"])(
    "[S57] children are reduced to half a megabyte and more, with %s as finalize",
    async (finalize) => {
      const id = await use.app.start("bulkyFold", { finalize, bytes: 600_000 });
      await use.app.drive();
      expect(await stateOf("bulkyFold", id)).toBe("completed");
      await expectFits();
      await use.app.expectNothingLeft();
    },
  );

  test("[S69] a run is told by a run that is told, and so on: nesting fails none of them", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) ids.push(await use.app.start("messenger", {}));
    await use.app.drive();
    const [first = "", ...rest] = ids;
    expect(await send("messenger", first, "message", rest)).toBe("taken");
    await use.app.drive();
    for (const id of ids) expect(await stateOf("messenger", id)).toBe("completed");
    expect(await use.app.log()).toHaveLength(6);
    await use.app.expectNothingLeft();
    // Some calls were nested too deeply, and refused; these runs were told in transactions of their
    // own.
    const refused = use.app.counter.violations.splice(0);
    expect(new Set(refused.map(({ limit }) => limit))).toEqual(new Set(["nesting"]));
  });

  test("[S69] a sender has used up its transaction: the run that is told does not fail for it", async () => {
    const id = await use.app.start("messenger", {});
    await use.app.drive();
    await use.app.t.mutation(internal.adversarial.sendAfterMuch, { run: id, megabytes: 16 });
    await use.app.drive();
    expect(await stateOf("messenger", id)).toBe("completed");
    await use.app.expectNothingLeft();
  });

  test(
    "[S27] what is executed together leaves too little to write it down: it is executed apart",
    { tags: ["large"] },
    async () => {
      const status = await use.app.run("fullTransaction", {});
      expect(status).toMatchObject({ state: "completed", output: "done" });
      expect(await use.app.slotsHeld()).toBe(0);
    },
  );

  test.each([
    { of: 33, bytes: 254_000, megabytes: 0 },
    { of: 33, bytes: 254_000, megabytes: 7 },
    { of: 8, bytes: 990_000, megabytes: 7 },
  ])(
    "[S56] children with inputs as large as they may be, in a pool that is busy: %o",
    { tags: ["large"] },
    async (input) => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 50 });
      for (let n = 0; n < 50; n++) await use.app.start("leaf", { n, ms: MINUTE });
      const status = await use.app.run("bulkyInputs", input);
      expect(status).toMatchObject({ state: "completed", output: input.of });
      expect(await use.app.slotsHeld()).toBe(0);
    },
  );

  test.each([
    { of: 700, bad: 350, bytes: 60_000 },
    { of: 700, bad: 351, bytes: 60_000 },
  ])(
    "[S50] very many children fail for very long reasons: %o",
    { tags: ["large"] },
    async (input) => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 100 });
      await use.app.start("badReasons", input);
      await use.app.drive();
      const [top] = await topRuns();
      expect(top?.state).toBe(input.bad === 350 ? "completed" : "failed");
      await use.app.expectNothingLeft();
    },
  );

  test.each([
    { iterations: 130, heavy: 130 },
    { iterations: 250, heavy: 60 },
  ])(
    "[S79] [S80] a megabyte of state, for more iterations than are kept: %o",
    { tags: ["large"] },
    async (input) => {
      const id = await use.app.start("heavyLoop", { ...input, bytes: 990_000 });
      await use.app.drive();
      expect(await stateOf("heavyLoop", id)).toBe("completed");
      expect((await use.app.tree(id))[0]?.steps.length).toBeLessThanOrEqual(103);
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S81] loops in branches in loops, with nothing between them",
    { tags: ["large"] },
    async () => {
      expect(await use.app.output("maze", { outer: 7, inner: 70 })).toEqual({
        names: ["input", "outer"],
        outer: ["loop 70", "case", "none", "loop 70", "case", "none", "loop 70"],
      });
      await use.app.expectNothingLeft();
    },
  );
});

describe("children", () => {
  test("[S53] one that waits for its turn is canceled by itself: its slot is free", async () => {
    const id = await use.app.start("patientPairs", { of: 6 });
    await use.app.advance(1_000);
    const waiting = (await use.app.tree(id)).find(
      ({ index, state }) => index === 5 && state === "pending",
    );
    await cancel(waiting?.runId ?? "");
    await use.app.advance(1_000);
    const running = (await use.app.tree(id)).filter(
      ({ parentRunId, state }) => parentRunId === id && state === "running",
    );
    expect(running).toHaveLength(2);
    await use.app.drive();
    expect(await use.app.status("patientPairs", id)).toMatchObject({
      output: [true, true, true, true, true, false],
    });
    await use.app.expectNothingLeft();
  });

  test.each([1, 2])(
    "[S49] a limit that is no whole number: %i failures of at most 1.5",
    async (bad) => {
      const id = await use.app.start("oddTolerance", { bad });
      await use.app.drive();
      expect(await stateOf("oddTolerance", id)).toBe(bad === 1 ? "completed" : "failed");
      await use.app.expectNothingLeft();
    },
  );

  test.each([
    { of: 1_101, bad: [0, 1_100], state: "completed" },
    { of: 1_101, bad: [0, 1_099, 1_100], state: "failed" },
    { of: 1_101, bad: [0, 1, 2], state: "failed" },
    { of: 3, bad: [0, 1, 2], state: "failed" },
    { of: 2, bad: [0, 1], state: "completed" },
    { of: 1_101, bad: [700], tolerate: false, state: "failed" },
  ])(
    "[S17] [S49] children are refused for their inputs, in pages: %o",
    { tags: ["large"] },
    async ({ state, ...input }) => {
      const id = await use.app.start("refused", input);
      await use.app.drive();
      expect(await stateOf("refused", id)).toBe(state);
      expect(await rows("childPages")).toBe(0);
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S17] [S111] a child is refused while others are inserted, and what tells its run is lost: it is told again",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("refused", { of: 2_501, bad: [0], tolerate: false });
      await use.app.drive(async () => (await use.app.tree(id)).length > 1);
      expect(await cancelJobs("refused:entry")).toBe(1);
      await use.app.drive();
      expect(await stateOf("refused", id)).toBe("failed");
      expect(await rows("childPages")).toBe(0);
    },
  );

  test("[S110] the function that a child begins with is gone: it fails, and the sibling that made room for it does not", async () => {
    const id = await use.app.start("patientPairs", { of: 3 });
    await use.app.advance(1_000);
    await use.app.inComponent(async (ctx) => {
      const runs = await ctx.db.query("runs").collect();
      const last = runs.find(({ state }) => state === "pending");
      if (last?.first === undefined) throw new Error("None waits for its turn");
      await ctx.db.patch("runs", last._id, { first: { ...last.first, action: { fn: GONE } } });
    });
    await use.app.drive();
    expect(await use.app.status("patientPairs", id)).toMatchObject({
      state: "completed",
      output: [true, true, false],
    });
    await use.app.expectNothingLeft();
  });

  test("[S53] a fan-out that begins while the pool is paused is not slow for ever", async () => {
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 0 });
    const id = await use.app.start("twoAtOnce", {
      leaves: [1, 2, 3, 4].map((n) => ({ n, ms: 1_000 })),
    });
    await use.app.advance(1_000);
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 10 });
    const resumed = Date.now();
    await use.app.drive();
    expect(await use.app.status("twoAtOnce", id)).toMatchObject({ endedAt: resumed + 2_000 });
  });
});

describe("secrets", () => {
  test("[S97] what a branch or a loop comes to is as secret as the node that made it", async () => {
    const id = await use.app.start("secrets", {});
    await use.app.drive();
    expect(await use.app.status("secrets", id)).toMatchObject({ output: [6, 6] });
    const jobs = await use.app.jobs();
    expect(jobs.length).toBeGreaterThan(5);
    expect(JSON.stringify(jobs)).not.toContain("s3cret");
    const steps = await use.app.inComponent(async (ctx) => ctx.db.query("steps").collect());
    const open = steps.filter(({ sensitive, output }) => sensitive !== true && output === "s3cret");
    expect(open).toEqual([]);
  });
});

describe("what is lost", () => {
  test("[S109] [S111] a run could not be written down: it goes on at the next sweep", async () => {
    let failures = 1;
    const app = new TestApp({ settle: () => failures-- > 0 });
    const id = await app.start("sleeps", { ms: 0 });
    await app.drive();
    expect(await stateOf("sleeps", id, app)).toBe("completed");
    expect(await app.log()).toEqual(["before", "after"]);
  });

  test("[S109] it never can: the run fails with that", async () => {
    const app = new TestApp({ settle: () => true });
    const status = await app.run("sleeps", { ms: 0 });
    const message = expect.stringContaining("could not go on");
    expect(status).toMatchObject({ state: "failed", error: { node: "before", message } });
    expect(await app.log()).toEqual([]);
  });

  test("[S111] where a run was to go on is canceled by hand: it goes on", async () => {
    const id = await use.app.start("sleeps", { ms: 0 });
    expect(await cancelJobs("sleeps:entry")).toBe(1);
    await use.app.drive();
    expect(await stateOf("sleeps", id)).toBe("completed");
  });

  test("[S111] what goes on late may fail even then: it is looked after until it has", async () => {
    let failures = 1;
    const app = new TestApp({ settle: () => failures-- > 0 });
    const id = await app.start("sleeps", { ms: 0 });
    // The scheduler is far behind: its function is still to come when the watchdog sweeps.
    await app.inComponent(async (ctx) => {
      const [run] = await ctx.db.query("runs").collect();
      const step = (await ctx.db.query("steps").collect()).find((one) => one.job !== undefined);
      const job = await ctx.db.system.get("_scheduled_functions", step!.job!);
      await ctx.scheduler.cancel(job!._id);
      const entry = run!.entry as FunctionHandle<"mutation">;
      const late = await ctx.scheduler.runAfter(100_000, entry, job!.args[0] as object);
      await ctx.db.patch("steps", step!._id, { job: late });
    });
    await app.drive();
    expect(await stateOf("sleeps", id, app)).toBe("completed");
  });

  test("[S90] [S107] an action was lost for good: its step recovers", async () => {
    const app = new TestApp(dying());
    const id = await app.start("risky", { how: "well" });
    await app.drive();
    expect(await app.status("risky", id)).toMatchObject({
      state: "completed",
      output: [expect.stringContaining("recovered from Its action was lost"), "well"],
    });
    expect(await app.slotsHeld()).toBe(0);
  });

  test("[S100] [S111] a run that begins later has lost its beginning: repaired, it begins, and its time is counted", async () => {
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "startsLate",
      input: {},
      runAt: Date.now() + HOUR,
    });
    expect(await cancelJobs("engine/entry:enter")).toBe(1);
    expect(await cancelJobs("checkLate")).toBe(1);
    await use.app.advance(2 * HOUR);
    await use.app.t.mutation(internal.manager.repair, {});
    await use.app.advance(MINUTE);
    expect(await stateOf("startsLate", id)).toBe("running");
    await use.app.drive();
    expect(await stateOf("startsLate", id)).toBe("timedOut");
    await use.app.expectNothingLeft();
  });

  test(
    "[S92] [S86] a run ends by itself after the one above it was canceled, and before it is canceled too: it is undone",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
      const bookings = Array.from({ length: 4 }, (_, n) => ({ n, ms: MINUTE + 5_000 }));
      const id = await use.app.start("tours", { of: 60, bookings });
      await use.app.advance(MINUTE);
      await cancel(id);
      // Nobody finds it within some seconds; by then those end whose parents are canceled.
      expect(await cancelJobs("cancelMoreChildren")).toBeGreaterThan(0);
      await use.app.drive();
      expect(await stateOf("tours", id)).toBe("canceled");
      const log = await use.app.log();
      const counted = (text: string) => log.filter((line) => line.startsWith(text)).length;
      expect(counted("unbooked")).toBe(counted("book "));
      await use.app.expectNothingLeft();
    },
  );
});
