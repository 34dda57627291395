import { expect, test } from "vitest";
import type { ListedRun, Page } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

/* Runs of one key of a workflow's `one`, one at a time. */

const use = useTestApp();

const MINUTE = 60_000;
const start = async (name: string, input: object, how: object = {}) =>
  (await use.app.t.mutation(internal.manager.start, { name, input, ...how })) as string;
const stateOf = async (name: string, runId: string) => (await use.app.status(name, runId))?.state;
const turns = async () =>
  await use.app.counter.uncounted(() =>
    use.app.inComponent((ctx) => ctx.db.query("turns").collect()),
  );
const steer = async (how: "cancel" | "pause" | "resume", name: string, run: string) =>
  await use.app.t.mutation(internal.manager.steer, { how, name, run });
const list = async (filter: object) =>
  (
    (await use.app.t.query(internal.manager.list, {
      filter,
      page: { numItems: 100, cursor: null },
    })) as unknown as Page<ListedRun>
  ).page;

test("[S202] runs of one key follow each other in the order of their starts; other keys and none do not wait", async () => {
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) ids.push(await start("oneWaits", { key: "k", name }));
  await start("oneWaits", { key: "other", name: "x" });
  await start("oneWaits", { name: "y" });
  await use.app.advance(MINUTE);
  expect(await use.app.log()).toEqual(["a", "x", "y"]);
  expect(await Promise.all(ids.map((id) => stateOf("oneWaits", id)))).toEqual([
    "running",
    "pending",
    "pending",
  ]);
  await use.app.drive();
  const log = (await use.app.log()).filter((text) => !/[xy]/.test(text));
  expect(log).toEqual(["a", "a ended", "b", "b ended", "c", "c ended"]);
  const [, second] = await Promise.all(ids.map((id) => use.app.status("oneWaits", id)));
  // Its timeout counts from its beginning, and all three took half an hour.
  expect(second).toMatchObject({ state: "completed" });
  expect(second!.startedAt - second!.createdAt).toBeGreaterThanOrEqual(10 * MINUTE);
  expect(await turns()).toEqual([]);
  await use.app.expectNothingLeft();
});

test(
  "[S202] a run that fails is undone first, and one that is started for later takes its turn then",
  { tags: ["large"] },
  async () => {
    const later = await start("oneWaits", { key: "k", name: "later" }, { runAfter: "5m" });
    const failing = await start("oneWaits", { key: "k", name: "first", fails: true });
    await start("oneWaits", { key: "k", name: "second" });
    await use.app.drive();
    expect(await stateOf("oneWaits", failing)).toBe("failed");
    expect(await use.app.log()).toEqual([
      "first",
      "second",
      "second ended",
      "later",
      "later ended",
    ]);
    expect(await stateOf("oneWaits", later)).toBe("completed");
    expect(await turns()).toEqual([]);
  },
);

test("[S203] skip gives the run that goes on, and says that none was started", async () => {
  const first = await start("oneSkips", { key: "k" });
  const again = { name: "oneSkips", input: { key: "k" }, key: "idempotent" };
  expect(await use.app.t.mutation(internal.manager.startOrGet, again)).toEqual({
    runId: first,
    started: false,
  });
  const later = await start("oneSkips", { key: "k" }, { runAfter: "1m" });
  await use.app.drive();
  // When its time came, the first one went on.
  expect(await use.app.status("oneSkips", later)).toMatchObject({
    state: "canceled",
    error: { message: expect.stringContaining(first) as string },
  });
  const next = await use.app.t.mutation(internal.manager.startOrGet, again);
  expect(next.started).toBe(true);
  const restarted = use.app.t.mutation(internal.manager.restart, {
    name: "oneSkips",
    runId: first,
  });
  await expect(restarted).rejects.toThrow(/key/);
  await use.app.drive();
  expect(await turns()).toEqual([]);
});

test("[S203] cancelOld cancels the run that goes on, and whoever waits", async () => {
  const [first, second] = (await use.app.t.mutation(internal.manager.startBatch, {
    name: "oneCancels",
    inputs: [
      { key: "k", name: "a" },
      { key: "k", name: "b" },
    ],
  })) as [string, string];
  await use.app.advance(MINUTE);
  expect(await stateOf("oneCancels", first)).toBe("canceled");
  expect(await stateOf("oneCancels", second)).toBe("running");
  const third = await start("oneCancels", { key: "k", name: "c" });
  await use.app.drive();
  const states = await Promise.all([first, second, third].map((id) => stateOf("oneCancels", id)));
  expect(states).toEqual(["canceled", "canceled", "completed"]);
  expect(await turns()).toEqual([]);
  await use.app.expectNothingLeft();
});

test(
  "[S101] [S203] a callback that uses up its transaction takes nothing from that of the next canceled run",
  { tags: ["large"] },
  async () => {
    const context = { throws: "at its limits" };
    const first = await start("oneCancels", { key: "k", name: "a" }, { context: {} });
    const second = await start("oneCancels", { key: "k", name: "b" }, { context });
    await start("oneCancels", { key: "k", name: "c" });
    await use.app.drive();
    expect(await use.app.status("oneCancels", second)).toMatchObject({
      state: "canceled",
      onCompleteError: expect.any(String),
    });
    const status = await use.app.status("oneCancels", first);
    expect(status).toMatchObject({ state: "canceled" });
    expect(status).not.toHaveProperty("onCompleteError");
    expect((await use.app.log()).filter((line) => line.startsWith("{"))).toHaveLength(1);
  },
);

test("[S203] of newestWaits one waits at most: a newer one takes its place", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push(await start("oneReplaces", { key: "k" }));
  await use.app.drive();
  const states = await Promise.all(ids.map((id) => stateOf("oneReplaces", id)));
  expect(states).toEqual(["completed", "canceled", "canceled", "completed"]);
  expect(await use.app.status("oneReplaces", ids[1]!)).toMatchObject({
    error: { message: expect.stringContaining(ids[3]!) as string },
  });
});

test("[S203] the newest begins, though the run before it ends before the others are canceled", async () => {
  const [first, older] = [
    await start("oneReplaces", { key: "k" }),
    await start("oneReplaces", { key: "k" }),
  ];
  await use.app.advance(MINUTE);
  const newest = await start("oneReplaces", { key: "k" });
  await steer("cancel", "oneReplaces", first);
  await use.app.drive();
  expect(await stateOf("oneReplaces", older)).toBe("canceled");
  expect(await stateOf("oneReplaces", newest)).toBe("completed");
});

test("[S203] an older run that comes to its cancels late cancels none that is newer: one that goes on", async () => {
  const first = await start("oneCancels", { key: "k", name: "a" });
  await use.app.advance(MINUTE);
  const older = await start("oneCancels", { key: "k", name: "b" });
  const newest = await start("oneCancels", { key: "k", name: "c" });
  await steer("cancel", "oneCancels", first);
  await use.app.drive();
  expect(await stateOf("oneCancels", older)).toBe("canceled");
  expect(await stateOf("oneCancels", newest)).toBe("completed");
});

test("[S203] an older run that comes to its cancels late cancels none that is newer: one that is paused", async () => {
  await start("oneReplaces", { key: "k" });
  await use.app.advance(MINUTE);
  const older = await start("oneReplaces", { key: "k" });
  const newest = await start("oneReplaces", { key: "k" });
  await steer("pause", "oneReplaces", newest);
  await use.app.drive();
  await steer("resume", "oneReplaces", newest);
  await use.app.drive();
  expect(await stateOf("oneReplaces", older)).toBe("canceled");
  expect(await stateOf("oneReplaces", newest)).toBe("completed");
});

test("[S218] status and lists say for which key and run a run waits, and its place", async () => {
  const [first, second, third] = [
    await start("oneWaits", { key: "k" }),
    await start("oneWaits", { key: "k" }),
    await start("oneWaits", { key: "k" }),
  ];
  const waits = { state: "pending", waitsFor: { key: "k", runId: first, place: 2 } };
  expect(await use.app.status("oneWaits", third)).toMatchObject({
    ...waits,
    active: [{ node: "begin", kind: "turn", doing: "waitingForTurn" }],
    stalled: false,
  });
  const found = await list({ doing: "waitingForTurn" });
  expect(found.map(({ runId, at, waitsFor }) => [runId, at?.doing, waitsFor?.place])).toEqual([
    [third, "waitingForTurn", 2],
    [second, "waitingForTurn", 1],
  ]);
  expect(await list({ places: true })).toMatchObject([waits, { state: "pending" }, {}]);
  expect((await use.app.status("oneWaits", first))?.waitsFor).toBeUndefined();
  await use.app.drive();
  expect((await use.app.status("oneWaits", third))?.waitsFor).toBeUndefined();
});

test("[S219] a run that is canceled while it waits leaves its line; a paused one lets others begin, and keeps its place", async () => {
  const ids: string[] = [];
  for (const name of ["a", "b", "c", "d"]) ids.push(await start("oneWaits", { key: "k", name }));
  const [, b, c] = ids as [string, string, string];
  expect(await steer("cancel", "oneWaits", b)).toBe(true);
  await steer("pause", "oneWaits", c);
  await use.app.advance(11 * MINUTE);
  expect(await use.app.log()).toEqual(["a", "a ended", "d"]);
  const last = await start("oneWaits", { key: "k", name: "e" });
  await steer("resume", "oneWaits", c);
  expect((await use.app.status("oneWaits", last))?.waitsFor?.place).toBe(2);
  await use.app.drive();
  expect((await use.app.log()).slice(3)).toEqual(["d ended", "c", "c ended", "e", "e ended"]);
  // Nobody has the turn when the only one that waits is resumed.
  const [one, two] = [
    await start("oneWaits", { key: "k", name: "1" }),
    await start("oneWaits", { key: "k", name: "2" }),
  ];
  await steer("pause", "oneWaits", two);
  await steer("cancel", "oneWaits", one);
  await use.app.drive();
  await steer("resume", "oneWaits", two);
  await use.app.drive();
  expect(await stateOf("oneWaits", two)).toBe("completed");
  expect(await turns()).toEqual([]);
  await use.app.expectNothingLeft();
});

test("[S219] a restart waits for its turn again, also from a node", async () => {
  const first = await start("oneWaits", { key: "k", name: "a" });
  await use.app.drive();
  await start("oneWaits", { key: "k", name: "b" });
  const again = { name: "oneWaits", runId: first, from: "last" };
  await use.app.t.mutation(internal.manager.restart, again);
  expect(await use.app.status("oneWaits", first)).toMatchObject({
    state: "pending",
    waitsFor: { place: 1 },
  });
  await use.app.drive();
  expect(await use.app.log()).toEqual(["a", "a ended", "b", "b ended", "a ended"]);
});

test("[S219] a restart with another input waits for the turn of that one's key", async () => {
  const free = await start("oneWaits", { name: "a" });
  await use.app.drive();
  await start("oneWaits", { key: "k", name: "b" });
  const again = { name: "oneWaits", runId: free, input: { key: "k", name: "a" } };
  await use.app.t.mutation(internal.manager.restart, again);
  expect(await use.app.status("oneWaits", free)).toMatchObject({
    state: "pending",
    waitsFor: { place: 1 },
  });
});

test("[S219] a turn whose run is gone is passed on by a repair", async () => {
  const lose = async () =>
    await use.app.inComponent(async (ctx) => {
      for (const { run, state } of await ctx.db.query("turns").collect())
        if (state === "has it") await ctx.db.delete("runs", run);
    });
  const ids: string[] = [];
  for (const name of ["a", "b"]) ids.push(await start("oneWaits", { key: "k", name }));
  await use.app.advance(MINUTE);
  await lose();
  await use.app.t.mutation(internal.manager.repair, {});
  await use.app.advance(11 * MINUTE);
  expect(await stateOf("oneWaits", ids[1]!)).toBe("completed");
  expect(await turns()).toEqual([]);
});

test("[S104] [S219] runs that are removed before they are canceled keep no turn", async () => {
  const runId = await start("oneForEach", { of: 20 });
  await use.app.advance(MINUTE);
  expect(await turns()).toHaveLength(20);
  await steer("cancel", "oneForEach", runId);
  expect(await turns()).toHaveLength(20);
  await use.app.t.mutation(internal.manager.cleanup, { runId });
  expect(await turns()).toEqual([]);
});

test("[S219] the next run begins when an onEnd has ended", async () => {
  const input = { key: "k", below: ["oneSkips"] };
  const first = await start("oneAround", input);
  const second = await start("oneAround", { key: "k" });
  await use.app.drive(async () => (await stateOf("oneAround", first)) === "completed");
  await use.app.advance(MINUTE / 2);
  expect(await stateOf("oneAround", second)).toBe("pending");
  await use.app.drive();
  expect(await stateOf("oneAround", second)).toBe("completed");
  expect(await turns()).toEqual([]);
});

test("[S220] a run below one with the same key is in its turn; a child of another key waits, or does what its one says", async () => {
  // Itself would wait for itself.
  const id = await start("oneAround", { key: "k", below: ["oneAround", "oneWaits"], name: "x" });
  await start("oneWaits", { key: "k", name: "before" });
  const skipped = await start("oneSkips", { key: "k" });
  const child = await start("oneAround", { key: "other", below: ["oneSkips"] });
  await start("oneSkips", { key: "other" });
  await use.app.drive();
  expect(await stateOf("oneAround", id)).toBe("completed");
  expect(await stateOf("oneSkips", skipped)).toBe("completed");
  const states = async (run: string) => (await use.app.tree(run)).map(({ state }) => state);
  expect(await states(id)).toEqual(["completed", "completed", "completed"]);
  expect(await states(child)).toContain("completed");
  expect(await turns()).toEqual([]);
});

test("[S220] a child whose key is taken by another run waits, and is canceled if it is skipped", async () => {
  await start("oneWaits", { key: "k", name: "before" });
  await start("oneSkips", { key: "k" });
  const id = await start("oneAround", { key: "k", below: ["oneWaits", "oneSkips"], name: "x" });
  await use.app.drive();
  const [top, waited, skipped] = await use.app.tree(id);
  expect([top?.state, waited?.state, skipped?.state]).toEqual([
    "completed",
    "completed",
    "canceled",
  ]);
  expect(await use.app.log()).toEqual(["before", "before ended", "below x", "below x ended"]);
  // Its timeout counts from its turn.
  expect(waited!.startedAt - top!.startedAt).toBeGreaterThanOrEqual(10 * MINUTE);
});

test("[S220] a child that has waited for its turn times out, so long after that", async () => {
  await start("oneWaits", { key: "k", name: "before" });
  const input = { key: "k", below: ["oneWaits"], name: "slow", restMs: 120 * MINUTE };
  const id = await start("oneAround", input);
  await use.app.drive();
  const [, child] = await use.app.tree(id);
  expect(child?.state).toBe("timedOut");
  const lasted = child!.endedAt! - child!.startedAt;
  expect(Math.round(lasted / MINUTE)).toBe(60);
});

test("[S220] a child that is skipped is not shown as one that waits", async () => {
  await start("oneSkips", { key: "k" });
  const id = await start("oneAround", { key: "k", below: ["oneSkips"], name: "x" });
  const seen: unknown[] = [];
  await use.app.drive(async () => {
    const [, child] = await use.app.tree(id);
    if (child !== undefined) seen.push(...child.steps.map(({ state }) => state));
    return false;
  });
  expect(new Set(seen)).toEqual(new Set(["canceled"]));
});

test("[S202] a key is a short text, and made of nothing that is sensitive", async () => {
  await expect(start("oneWaits", { key: "" })).rejects.toThrow(/key of the one.*1 to 256/s);
  const long = start("oneWaits", { key: "k".repeat(300) });
  await expect(long).rejects.toThrow(/is "k{100}…": it may be a text/);
  await expect(start("oneSecret", { secret: "s" })).rejects.toThrow(/input\.secret.*sensitive/s);
});

test("[S202] a turn costs a row, and nothing where there is none", async () => {
  const costs = async (input: object) => {
    use.app.counter.clear();
    await start("oneSkips", input);
    await use.app.drive();
    const { documentsRead, documentsWritten, rootExecutions } = use.app.counter.totals();
    return { documentsRead, documentsWritten, rootExecutions };
  };
  await costs({});
  const [none, one] = [await costs({}), await costs({ key: "k" })];
  expect(one.rootExecutions).toBe(none.rootExecutions);
  expect(one.documentsWritten - none.documentsWritten).toBe(2);
  expect(one.documentsRead - none.documentsRead).toBeLessThanOrEqual(3);
});

test("[S218] runs of one batch that wait each have a place of their own", async () => {
  const inputs = ["a", "b", "c", "d"].map((name) => ({ key: "k", name }));
  const args = { name: "oneWaits", inputs };
  const ids = (await use.app.t.mutation(internal.manager.startBatch, args)) as string[];
  await use.app.advance(MINUTE);
  const seen = await Promise.all(ids.map((id) => use.app.status("oneWaits", id)));
  expect(seen.map((each) => each?.waitsFor?.place)).toEqual([undefined, 1, 2, 3]);
});

test("a run that goes on, waits or is not there cannot be restarted, and the error says so", async () => {
  const going = await start("oneWaits", { key: "k", name: "a" });
  const waiting = await start("oneWaits", { key: "k", name: "b" });
  await use.app.advance(MINUTE);
  const restart = (runId: string) =>
    use.app.t.mutation(internal.manager.restart, { name: "oneWaits", runId });
  await expect(restart(going)).rejects.toThrow("it goes on");
  await expect(restart(waiting)).rejects.toThrow("it goes on");
  await expect(restart("nobody")).rejects.toThrow("there is no such run");
});

test("[S219] a restarted run that is canceled while it waits leaves its line, and is undone at once", async () => {
  const again = await start("oneWaits", { key: "k", name: "again" });
  await use.app.drive();
  await start("oneWaits", { key: "k", name: "holds" });
  await use.app.advance(MINUTE);
  const args = { name: "oneWaits", runId: again, from: "last" };
  await use.app.t.mutation(internal.manager.restart, args);
  const next = await start("oneWaits", { key: "k", name: "next" });
  await use.app.advance(MINUTE);
  expect((await use.app.status("oneWaits", next))?.waitsFor?.place).toBe(2);
  await steer("cancel", "oneWaits", again);
  expect((await use.app.status("oneWaits", next))?.waitsFor?.place).toBe(1);
  await use.app.drive();
  expect(await stateOf("oneWaits", again)).toBe("canceled");
  expect((await use.app.log()).at(-1)).toBe("next ended");
  expect(await turns()).toEqual([]);
});

test("[S219] the time of a loop that a restart goes on with counts from the turn", async () => {
  const again = await start("oneLoops", { key: "k", name: "again", fails: true });
  await use.app.drive();
  expect(await stateOf("oneLoops", again)).toBe("failed");
  await start("oneLoops", { key: "k", name: "holds" });
  const args = { name: "oneLoops", runId: again, from: "rounds" };
  await use.app.t.mutation(internal.manager.restart, args);
  await use.app.drive();
  const seen = await use.app.status("oneLoops", again);
  expect(seen).toMatchObject({ state: "completed" });
  await use.app.expectNothingLeft();
});

test.each([
  ["the turn", { key: "k" }, 20],
  ["the restart, without a key", {}, 0],
])(
  "[S130] [S219] a loop that a restart goes on with times out, so long after %s",
  async (_what, key, waits) => {
    const input = { ...key, name: "again", restMs: 30 * MINUTE };
    const again = await start("oneLoops", input);
    await use.app.drive();
    const isTimedOut = { state: "failed", error: { kind: "timedOut", node: "rounds" } };
    expect(await use.app.status("oneLoops", again)).toMatchObject(isTimedOut);
    await start("oneLoops", { key: "k", name: "holds" });
    const from = Date.now();
    // It goes on in its second iteration, which rests for 30 of 25 minutes.
    const args = { name: "oneLoops", runId: again, from: "rounds" };
    await use.app.t.mutation(internal.manager.restart, args);
    await use.app.drive();
    expect(await use.app.status("oneLoops", again)).toMatchObject(isTimedOut);
    const [run] = await use.app.tree(again);
    expect(Math.round((run!.endedAt! - from) / MINUTE)).toBe(waits + 25);
  },
);
