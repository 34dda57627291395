/** @module-tag large */
import { describe, expect, test, vi } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { type ComponentFunction, isOf } from "./component.js";
import { useTestApp } from "./harness.js";

/* How soon it is detected that something was lost, and what it costs to watch. */

const use = useTestApp();
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** An action runs for a day: the pool is busy. */
const makeBusy = async () => await use.app.start("leaf", { n: 1, ms: 24 * HOUR });
const stateOf = async (name: string, id: string) => (await use.app.status(name, id))?.state;
const sweeps = () => use.app.counter.totals(isOf("watchdog:sweep")).rootExecutions;

/** When the watchdog sweeps next. */
async function nextSweep(): Promise<number> {
  const watch = await use.app.inComponent((ctx) => ctx.db.query("watch").first());
  return watch?.job === undefined ? Infinity : watch.at;
}

/**
 * What becomes of the scheduled function of the action that runs: its machine dies, or somebody
 * cancels it.
 */
async function loseAction(kind: "failed" | "canceled"): Promise<void> {
  await use.app.inComponent(async (ctx) => {
    const slots = (await ctx.db.query("slots").collect()).filter(({ job }) => job !== undefined);
    expect(slots).toHaveLength(1);
    // Nobody but the platform writes there, so no type allows it.
    const system = ctx.db as unknown as {
      patch(table: string, id: string, value: unknown): Promise<void>;
    };
    await system.patch("_scheduled_functions", slots[0]!.job!, { state: { kind } });
  });
}

/** Cancels by hand what is scheduled of a function, and what would look after it. */
async function cancelScheduled(name: ComponentFunction): Promise<void> {
  await cancelAlone(name);
  await cancelAlone(
    name === "engine/entry:enter" ? "features/lost:checkLate" : "features/deadlines:checkLate",
  );
}

async function cancelAlone(name: ComponentFunction | "_workflows/sleeper:entry"): Promise<void> {
  await use.app.inComponent(async (ctx) => {
    const jobs = await ctx.db.system.query("_scheduled_functions").collect();
    const pending = jobs.filter((job) => job.name === name && job.state.kind === "pending");
    expect(pending).toHaveLength(1);
    await ctx.scheduler.cancel(pending[0]!._id);
  });
}

describe("an action without a timeout", () => {
  test.each([
    ["failed", 5, 10],
    ["failed", 20, 30],
    ["failed", 100, 270],
    ["failed", 300, 810],
    ["failed", 1_000, 1_350],
    ["canceled", 40, 90],
  ] as const)(
    "[S107] [S111] whose scheduled function is %s after %i s, in a pool that is otherwise idle: detected at %i s, and stalled until then",
    async (kind, lostAt, detectedAt) => {
      const started = Date.now();
      const id = await use.app.start("leaf", { n: 1, ms: 24 * HOUR });
      await use.app.advance(lostAt * SECOND);
      expect(await use.app.status("leaf", id)).toMatchObject({ stalled: false });
      await loseAction(kind);
      await use.app.advance(started + (detectedAt - 1) * SECOND - Date.now());
      expect(await use.app.status("leaf", id)).toMatchObject({ state: "running", stalled: true });
      await use.app.advance(2 * SECOND);
      expect(await use.app.status("leaf", id)).toMatchObject({
        state: "failed",
        error: { kind: "lost" },
      });
      expect(await use.app.slotsHeld()).toBe(0);
    },
  );

  test("[S107] that begins late in a time that is busy, and is lost at 15 s of it: detected at 30 s of it", async () => {
    const busySince = Date.now();
    await use.app.start("leaf", { n: 1, ms: 9 * SECOND });
    await use.app.advance(8 * SECOND);
    const id = await use.app.start("leaf", { n: 2, ms: 24 * HOUR });
    await use.app.advance(7 * SECOND);
    await loseAction("failed");
    await use.app.advance(busySince + 29 * SECOND - Date.now());
    expect(await stateOf("leaf", id)).toBe("running");
    await use.app.advance(2 * SECOND);
    expect(await stateOf("leaf", id)).toBe("failed");
  });

  test("[S107] watching one of 9 minutes takes 4 executions: with its own two, 6; and one of half an hour 6", async () => {
    const roots = () => use.app.counter.totals().rootExecutions;
    for (const [minutes, watching] of [
      [9, 4],
      [30, 6],
    ] as const) {
      const id = await use.app.start("leaf", { n: 1, ms: minutes * MINUTE });
      use.app.counter.clear();
      await use.app.drive(async () => (await stateOf("leaf", id)) === "completed");
      expect(sweeps()).toBe(watching);
      expect(roots()).toBe(2 + watching);
      // And one when it has ended.
      await use.app.drive();
      expect(sweeps()).toBe(watching + 1);
      await use.app.advance(24 * HOUR);
      expect(roots()).toBe(2 + watching + 1);
    }
  });
});

describe("a scheduled function that was canceled by hand", () => {
  const kinds = [
    ["a sleep", "sleeper", { ms: HOUR }, "engine/entry:enter", "completed"],
    ["an event's timeout", "unanswered", {}, "engine/entry:enter", "completed"],
    ["a run's timeout", "oversleeps", {}, "features/deadlines:expire", "timedOut"],
    ["a parent's timeout", "outlasts", {}, "features/deadlines:expire", "failed"],
  ] as const;
  /** Nobody knows of something late before that, and no sweep is further away. */
  const LATE_MS = 15 * SECOND;
  const LONGEST_PAUSE_MS = 540 * SECOND;

  test.each(kinds)(
    "[S111] of %s, while an action runs: detected by the first sweep 15 s after its time or later, and stalled until then",
    async (_what, name, input, fn, state) => {
      await makeBusy();
      const id = await use.app.start(name, input);
      const due = Date.now() + HOUR;
      await use.app.advance(SECOND);
      expect(await use.app.status(name, id)).toMatchObject({ stalled: false });
      await cancelScheduled(fn);
      await use.app.advance(due + LATE_MS - Date.now());
      expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
      const next = await nextSweep();
      expect(next).toBeLessThanOrEqual(due + LATE_MS + LONGEST_PAUSE_MS);
      await use.app.advance(next - 1 - Date.now());
      expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
      await use.app.advance(SECOND);
      expect(await stateOf(name, id)).toBe(state);
    },
  );

  test.each(kinds)(
    "[S111] of %s, while nothing else runs: stalled until something does, and detected 10 s later",
    async (_what, name, input, fn, state) => {
      const id = await use.app.start(name, input);
      await use.app.advance(MINUTE);
      await cancelScheduled(fn);
      await use.app.advance(5 * HOUR);
      expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
      expect(await nextSweep()).toBe(Infinity);
      await makeBusy();
      await use.app.advance(9 * SECOND);
      expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
      await use.app.advance(2 * SECOND);
      expect(await stateOf(name, id)).toBe(state);
    },
  );

  test.each(kinds)(
    "[S111] of %s: repair mends it, and it comes at its time",
    async (_what, name, input, fn, state) => {
      const id = await use.app.start(name, input);
      const due = Date.now() + HOUR;
      await use.app.advance(MINUTE);
      await cancelScheduled(fn);
      expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
      await use.app.t.mutation(internal.manager.repair, {});
      await use.app.advance(SECOND);
      expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: false });
      await use.app.advance(due - 1 - Date.now());
      expect(await stateOf(name, id)).toBe("running");
      await use.app.advance(SECOND);
      expect(await stateOf(name, id)).toBe(state);
    },
  );

  test.each(kinds)(
    "[S111] of %s, and not what looks after it: it goes on seconds later, though nothing else runs",
    async (_what, name, input, fn, state) => {
      const id = await use.app.start(name, input);
      const due = Date.now() + HOUR;
      await use.app.advance(MINUTE);
      await cancelAlone(fn);
      await use.app.advance(due + LATE_MS - 1 - Date.now());
      expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
      await use.app.advance(SECOND);
      expect(await stateOf(name, id)).toBe(state);
    },
  );

  test("[S111] of a step due at once, after the clock has jumped back by an hour: the watchdog stays on, and it goes on", async () => {
    const id = await use.app.start("sleeper", { ms: 0 });
    vi.setSystemTime(Date.now() - HOUR);
    await cancelAlone("_workflows/sleeper:entry");
    await use.app.drive();
    expect(await stateOf("sleeper", id)).toBe("completed");
  });
});
