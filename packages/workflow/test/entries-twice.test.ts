import { makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { internal } from "./convex/_generated/api.js";
import type { MutationCtx } from "../src/component/_generated/server.js";
import { isOf } from "./component.js";
import { TestApp } from "./harness.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Nobody but the platform writes scheduled functions; convex-test lets a test do it. */
interface Restoring {
  patch(id: string, fields: { state: { kind: "pending" } }): Promise<void>;
}

/** What a run did, and what is left of it. */
async function whatItDid(app: TestApp, name: string, runId: string) {
  const runs = await app.tree(runId);
  return {
    status: (await app.status(name, runId))?.state,
    steps: runs.flatMap(({ steps }) => steps.map(({ stage, state }) => `${stage} ${state}`)).sort(),
    runs: runs.length,
    log: (await app.log()).map((line) => line.replaceAll(runId, "run")),
    actions: app.counter.calls
      .filter(({ type, name }) => type === "action" && name.startsWith("_workflows/"))
      .map(({ name }) => name)
      .sort(),
  };
}

const leaves = [
  { n: 1, ms: 10 },
  { n: 2, ms: 20 },
];
/** Where runs are entered: by the node that they come to, or by what they have waited for. */
const entered = [
  ["a first mutation, and a sleep's end", "sleeps", { ms: 60_000 }],
  ["an event's timeout", "impatient", {}],
  ["a node after a sleep, as an action", "paysTwice", {}],
  ["children, and what follows them", "list", { leaves }],
  [
    "a parent with a handler that is tried again, and with an action as finalize",
    "handled",
    { n: 2 },
  ],
  ["a child with a sleep", "napping", { of: 3 }],
  ["an iteration of a loop", "counted", { to: 12 }],
  ["an iteration of a loop with actions", "counted", { to: 3, inAction: true }],
  ["an isolated mutation", "isolated", {}],
  ["a retry", "flaky", { goodAttempt: 3 }],
  ["compensations", "saga", { fail: "late" }],
  ["a race that is won, whose loser is undone", "contested", {}],
  ["a race that all cases lose", "contested", { fails: ["fast", "slow"] }],
  ["a node that cancels its own run", "steersItself", { how: "cancel" }],
  ["a node that pauses its own run", "steersItself", { how: "pause" }],
  ["a node that pauses and resumes its own run", "steersItself", { how: "pauseAndResume" }],
] as const;

describe("an entry that comes again does nothing", () => {
  test.each(entered)(
    "[S133] delivered twice: %s",
    { tags: ["large"] },
    async (_what, name, input) => {
      const done = [];
      for (const twice of [false, true]) {
        const app = new TestApp({ twice });
        const runId = await app.start(name, input);
        await app.drive();
        done.push(await whatItDid(app, name, runId));
        await app.expectNothingLeft();
      }
      expect(done[1]).toEqual(done[0]);
    },
  );

  test.each(entered)(
    "[S133] from another time, as after a partial restore: %s",
    { tags: ["large"] },
    async (_what, name, input) => {
      // convex-test tells what was rolled back.
      vi.spyOn(console, "error").mockImplementation(() => {});
      const done = [];
      for (const again of [false, true]) {
        const app = new TestApp();
        const runId = await app.start(name, input);
        let came = 0;
        for (let at = 0; at < 8; at++) {
          if (again) came += await scheduleAgain(app);
          await app.advance(at < 4 ? 400 : 20 * 60_000);
        }
        await app.drive();
        if (again) expect(came).toBeGreaterThan(0);
        done.push(await whatItDid(app, name, runId));
      }
      expect(done[1]).toEqual(done[0]);
    },
  );

  test("[S133] a wait is not over before its time", async () => {
    const app = new TestApp();
    const runId = await app.start("sleeper", { ms: 60_000 });
    await app.advance(1_000);
    expect(await scheduleAgain(app)).toBe(2);
    await app.advance(1_000);
    expect(await app.steps(runId)).toEqual(["a waiting"]);
    await app.drive();
    expect(await app.status("sleeper", runId)).toMatchObject({ state: "completed" });
  });

  test("[S133] of a run that has ended, as after a partial restore, does nothing", async () => {
    const app = new TestApp();
    await app.start("naps", {});
    await app.advance(1_000);
    const entered = () =>
      app.counter.calls.filter(({ name }) => name.startsWith("_workflows/naps")).length;
    const before = entered();
    // Its record is of a later time than what is scheduled.
    await app.inComponent(async (ctx) => {
      const over = { state: "canceled", endedAt: Date.now() } as const;
      for (const { _id } of await ctx.db.query("runs").collect())
        await ctx.db.patch("runs", _id, over);
      for (const { _id } of await ctx.db.query("steps").collect())
        await ctx.db.patch("steps", _id, over);
    });
    await app.drive();
    // Nor is the app's function called, only to be rolled back.
    expect(app.counter.calls.filter(isOf("engine/entry:enter"))).toHaveLength(1);
    expect(entered()).toBe(before);
    expect(await app.log()).toEqual([]);
  });

  test("[S133] of a run that was canceled, as after a partial restore, it takes no effect", async () => {
    // convex-test says that it was rolled back.
    vi.spyOn(console, "error").mockImplementation(() => {});
    const app = new TestApp();
    const runId = await app.start("approval", {});
    await app.t.mutation(internal.manager.steer, { how: "cancel", name: "approval", run: runId });
    // What was scheduled is of an earlier time than the records.
    await app.inComponent(async (ctx) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      const canceled = jobs.filter(({ state }) => state.kind === "canceled");
      expect(canceled.map(({ name }) => name)).toContain("_workflows/approval:entry");
      for (const { _id } of canceled)
        await (ctx.db as unknown as Restoring).patch(_id, { state: { kind: "pending" } });
    });
    await app.drive();
    expect(app.counter.calls.map(({ name }) => name)).toContain("_workflows/approval:entry");
    expect(await app.log()).toEqual([]);
    expect(await app.status("approval", runId)).toMatchObject({ state: "canceled" });
  });

  test("[S133] an event that is sent while the entry of its timeout comes again is taken once", async () => {
    const app = new TestApp({ twice: true });
    const runId = await app.start("awaited", {});
    await app.drive(async () => (await app.steps(runId)).includes("first waiting"));
    const event = { name: "awaited", run: runId, event: "paid", payload: { cents: 5 } };
    await app.t.mutation(internal.manager.sendEvent, event);
    await scheduleAgain(app);
    await app.advance(1_000);
    expect(await app.steps(runId)).toEqual(["first completed", "second waiting"]);
    await app.drive();
    expect(await app.status("awaited", runId)).toMatchObject({ state: "completed" });
    await app.expectNothingLeft();
  });
});

test(
  "[S109] [S111] [S168] whichever entry or report of a race fails once, it ends as without that",
  { tags: ["large"] },
  async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const ended = async (failing: number) => {
      let calls = 0;
      const isOne = (name: string) => name === "engine/entry:enter" || name === "lib:settle";
      const app = new TestApp({ fails: (name) => isOne(name) && calls++ === failing });
      const runId = await app.start("contested", {});
      await app.drive();
      expect(await app.slotsHeld()).toBe(0);
      return { did: await whatItDid(app, "contested", runId), calls };
    };
    const usual = await ended(-1);
    for (let failing = 0; failing < usual.calls; failing++)
      expect([failing, (await ended(failing)).did]).toEqual([failing, usual.did]);
  },
);

/** Schedules every entry that ever was scheduled once more, at once. @returns how many. */
async function scheduleAgain(app: TestApp): Promise<number> {
  return await app.counter.uncounted(async () => {
    const jobs = await app.jobs();
    const entries = new Map(
      jobs
        .filter(({ name }) => name.endsWith(":entry") || isOf("engine/entry:enter")({ name }))
        .map(({ name, args }) => [name + JSON.stringify(args), { name, given: args[0] }]),
    );
    for (const { name, given } of entries.values()) {
      const again = async (ctx: Pick<MutationCtx, "scheduler">) => {
        const entry = makeFunctionReference<"mutation">(name);
        await ctx.scheduler.runAfter(0, entry, given as Record<string, never>);
      };
      await (name.startsWith("_workflows/") ? app.t.run(again) : app.inComponent(again));
    }
    return entries.size;
  });
}
