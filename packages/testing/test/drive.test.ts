import { anyApi } from "convex/server";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import {
  installTimers,
  realTime,
  spanLongTimers,
  type TimerHost,
  vitestTimers,
} from "../src/index.js";
import { countedApp } from "./app/index.js";

const tasks = anyApi["tasks"]!;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("virtual time is exactly what was scheduled", async () => {
  const { counter, t } = countedApp();
  await t.mutation(tasks["scheduleAdd"]!, { texts: ["a", "b"], afterMs: 86_400_000 });
  const drive = await counter.drive({ timers: vitestTimers(vi) });
  expect(drive).toMatchObject({ done: true, virtualMs: 86_400_000 });
  expect(await t.query(tasks["list"]!, {})).toEqual(["a", "b"]);
});

test("with installed timers, those due at the same instant are fired one by one", async () => {
  vi.useRealTimers();
  const timers = installTimers();
  try {
    const { counter, t } = countedApp();
    await t.mutation(tasks["scheduleAdd"]!, { texts: ["a", "b"], afterMs: 1000 });
    const seen: unknown[] = [];
    const look = async () => {
      seen.push(await t.query(tasks["list"]!, {}));
      return false;
    };
    expect(await counter.drive({ timers, done: look })).toMatchObject({ timers: 2 });
    expect(seen).toEqual([[], ["a"], ["a", "b"], ["a", "b"]]);
  } finally {
    timers.uninstall();
  }
});

test("installed timers tell when the next is due", () => {
  vi.useRealTimers();
  const timers = installTimers({ now: 1_000 });
  try {
    expect(timers.nextAt()).toBeUndefined();
    setTimeout(() => {}, 5_000);
    const sooner = setTimeout(() => {}, 300);
    expect(timers.nextAt()).toBe(1_300);
    clearTimeout(sooner);
    expect(timers.nextAt()).toBe(6_000);
  } finally {
    timers.uninstall();
  }
});

test("it stops when done says so, and asks uncounted", async () => {
  const { counter, t } = countedApp();
  await t.mutation(tasks["tick"]!, {});
  counter.clear();
  let asked = 0;
  const drive = await counter.drive({
    timers: vitestTimers(vi),
    done: async () => {
      await t.query(tasks["list"]!, {});
      asked += 1;
      return asked > 5;
    },
  });
  expect(drive).toMatchObject({ done: true, virtualMs: 5000, timers: 5 });
  expect(counter.totals().executions).toBe(5);
});

test("it says when nothing is left to fire and done was never true", async () => {
  const { counter } = countedApp();
  const drive = await counter.drive({ timers: vitestTimers(vi), done: () => false });
  expect(drive).toMatchObject({ done: false, timers: 0 });
});

test("what schedules itself without end is stopped with an error", async () => {
  const { counter, t } = countedApp();
  await t.mutation(tasks["tick"]!, {});
  await expect(counter.drive({ timers: vitestTimers(vi), maxTimers: 50 })).rejects.toThrow(
    "not done after 50 timers and 50000 virtual ms",
  );
});

test("an action that does real work finishes before its timeout's timer is fired", async () => {
  const { counter, t } = countedApp();
  const running = t.action(tasks["store"]!, { bytes: 4_000_000, timeoutMs: 5 });
  await counter.drive({ timers: vitestTimers(vi), patienceMs: 1000 });
  expect(await running).toBe("stored");
});

test("of what only waits for timers nobody waits to be done with real work", async () => {
  const { counter, t } = countedApp({ onlyWaits: (component) => component === "" });
  const running = t.action(tasks["busy"]!, { text: "a", forMs: 500 });
  // Otherwise this would take an hour.
  const { virtualMs } = await counter.drive({ timers: vitestTimers(vi), patienceMs: 3_600_000 });
  await running;
  expect(virtualMs).toBe(500);
  expect([counter.running, counter.waiting]).toEqual([0, 0]);
});

test("two runs of the same app make the same calls at the same virtual times", async () => {
  const record = async () => {
    vi.setSystemTime(1_000_000);
    const { counter, t } = countedApp();
    const running = t.action(tasks["busy"]!, { text: "a", forMs: 500 });
    await t.mutation(tasks["scheduleAdd"]!, { texts: ["b", "c"], afterMs: 10 });
    await counter.drive({ timers: vitestTimers(vi) });
    await running;
    return counter.calls;
  };
  expect(await record()).toEqual(await record());
});

test("with installed timers, what is due in a year is fired then, and not at once", async () => {
  vi.useRealTimers();
  const timers = installTimers();
  try {
    const { counter, t } = countedApp();
    const year = 365 * 86_400_000;
    await t.mutation(tasks["scheduleAdd"]!, { texts: ["late"], afterMs: year });
    await t.mutation(tasks["scheduleAdd"]!, { texts: ["soon"], afterMs: 1000 });
    const drive = await counter.drive({ timers });
    expect(drive).toMatchObject({ done: true, virtualMs: year });
    expect(await t.query(tasks["list"]!, {})).toEqual(["soon", "late"]);
  } finally {
    timers.uninstall();
  }
});

test("a timer of a month can be cleared, in the midst of it too", () => {
  vi.useRealTimers();
  const timers = installTimers();
  try {
    const fired: string[] = [];
    const month = 30 * 86_400_000;
    const cleared = [1, 2].map(() => setTimeout(() => fired.push("cleared"), month));
    setTimeout((text: string) => fired.push(text), month, "fired");
    clearTimeout(cleared[0]);
    setTimeout(() => clearTimeout(cleared[1]), month - 1);
    while (timers.nextTimer());
    expect(fired).toEqual(["fired"]);
  } finally {
    timers.uninstall();
  }
  // What the process had before is there again.
  expect([typeof setTimeout, typeof clearTimeout]).toEqual(["function", "function"]);
});

test("once long timers are taken back, those that still wait are never fired", () => {
  const fired: string[] = [];
  // Node's types say more of a timer than is asked here.
  const giveBack = spanLongTimers(globalThis as unknown as TimerHost);
  setTimeout(() => fired.push("soon"), 1_000);
  setTimeout(() => fired.push("later"), 2_000);
  setTimeout(() => fired.push("much later"), 30 * 86_400_000);
  vi.advanceTimersByTime(1_500);
  giveBack();
  expect(vi.getTimerCount()).toBe(0);
  vi.runAllTimers();
  expect(fired).toEqual(["soon"]);
});

test.each([
  ["a function", undefined, true],
  ["one on standby", (name: string) => name === "tasks:add", false],
])("in real time a process goes on for %s that is scheduled", async (_what, isStandby, goesOn) => {
  vi.useRealTimers();
  const { counter, t } = countedApp(isStandby === undefined ? {} : { isStandby });
  const set = vi.fn(setTimeout);
  vi.stubGlobal("setTimeout", set);
  onTestFinished(() => void vi.unstubAllGlobals());
  const clock = realTime(counter);
  await t.mutation(tasks["scheduleAdd"]!, { texts: ["a", "b"], afterMs: 86_400_000 });
  const timers = set.mock.results.map(({ value }) => value as NodeJS.Timeout);
  clock.stop();
  expect(timers.map((timer) => timer.hasRef())).toEqual([goesOn, goesOn]);
});
