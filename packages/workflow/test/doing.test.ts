import { expect, test } from "vitest";
import type { Doing, ListedRun, Page } from "../src/index.js";
import type { Run, Step } from "../src/component/core/documents.js";
import { pathBelow, placeIn } from "../src/component/core/paths.js";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;

async function list(filter: object, cursor: string | null = null, numItems = 100) {
  return (await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.list, { filter, page: { numItems, cursor } }),
  )) as unknown as Page<ListedRun>;
}

const counted = async (of: { doing?: Doing; state?: "failed" }) =>
  await use.app.t.query(components.workflow.listing.count, of);

/** Takes all slots of the pool for so long. */
async function busy(ms: number): Promise<void> {
  for (let n = 0; n < 10; n++) await use.app.start("leaf", { n, ms });
  await use.app.advance(SECOND);
}

test("[S181] a list says of each run that goes on what it does, where and since when, and lists by that", async () => {
  const failed = await use.app.start("leaf", { n: 1, fails: true });
  const retrying = await use.app.start("neverWell", {});
  await use.app.drive(async () => (await use.app.steps(retrying)).includes("attempt waiting"));
  const begun = Date.now();
  const asks = await use.app.start("asks", { question: "Now?" });
  const sleeps = await use.app.start("sleepy", { ms: HOUR, text: "" });
  await busy(60 * SECOND);
  const queued = await use.app.start("leaf", { n: 1, ms: 1 });
  const expected = {
    waitingForEvent: [asks, { path: "answer", since: begun, dueAt: begun + HOUR }],
    sleeping: [sleeps, { path: "a", dueAt: begun + HOUR }],
    queued: [queued, { path: "work" }],
    retrying: [retrying, { path: "attempt" }],
  } as const;
  const all = (await list({ places: true })).page;
  expect(all).toHaveLength(15);
  expect(all.find(({ runId }) => runId === failed)).not.toHaveProperty("at");
  for (const [doing, [runId, at]] of Object.entries(expected)) {
    const run = all.find((each) => each.runId === runId)!;
    expect(run).toMatchObject({ at: { doing, ...at } });
    expect((await use.app.status(run.workflow, runId))?.active).toMatchObject([{ doing }]);
  }
  const some = ["running", "queued", "retrying", "waitingForEvent", "sleeping", "stalled"] as const;
  for (const doing of some) {
    const those = all.filter(({ at }) => at?.doing === doing);
    const found = (await list({ doing })).page;
    expect(new Set(found)).toEqual(new Set(those));
    expect(found).toHaveLength(those.length);
    expect(await counted({ doing })).toEqual({ count: those.length, isMore: false });
  }
  expect((await list({ doing: "running", workflow: "leaf" })).page.length).toBeGreaterThan(0);
  expect((await list({ doing: "running", workflow: "asks" })).page).toEqual([]);
  expect(await counted({ state: "failed" })).toEqual({ count: 1, isMore: false });
  await expect(list({ doing: "queued", parent: asks })).rejects.toThrow(/not by two of them/);
});

test("[S181] a run is where its children are, and is listed once a page whatever they do", async () => {
  const id = await use.app.start("desk", { note: "" });
  const race = await use.app.start("bidden", { firstMs: 0 });
  await use.app.advance(SECOND);
  const [waits, asks] = (await list({ places: true })).page;
  expect(waits).toMatchObject({ runId: race, at: { doing: "waitingForEvent" } });
  expect(asks).toMatchObject({
    runId: id,
    at: { path: "rooms/left/turns.research#1/0/answer", doing: "waitingForEvent" },
  });
  const found = (await list({ doing: "waitingForEvent" })).page;
  // Both began to wait in the same moment.
  expect(new Set(found.map(({ runId }) => runId))).toEqual(new Set([race, id]));
  const { at } = found.find(({ runId }) => runId === id)!;
  expect(at).toMatchObject({ path: "rooms/right/turns.research#1/1/answer" });
  expect((await list({ doing: "sleeping" })).page).toMatchObject([
    { runId: race, at: { path: "settled/lapsed/rest", doing: "sleeping" } },
  ]);
  const below = (await list({ doing: "waitingForEvent", children: true, workflow: "asks" })).page;
  expect(below).toHaveLength(3);
  for (const run of below) expect(run).toMatchObject({ workflow: "asks", at: { path: "answer" } });
  expect(await counted({ doing: "waitingForEvent" })).toEqual({ count: 2, isMore: false });
});

test("[S181] what was lost is stalled, until it is repaired", async () => {
  const id = await use.app.start("sleepy", { ms: HOUR, text: "" });
  await use.app.advance(60 * SECOND);
  await use.app.inComponent(async (ctx) => {
    for (const { _id, state } of await ctx.db.system.query("_scheduled_functions").collect())
      if (state.kind === "pending") await ctx.scheduler.cancel(_id);
  });
  await use.app.advance(2 * HOUR);
  const stalled = { runId: id, at: { path: "a", doing: "stalled" } };
  expect((await list({ places: true })).page).toMatchObject([stalled]);
  expect((await list({ doing: "stalled" })).page).toMatchObject([stalled]);
  expect(await counted({ doing: "stalled" })).toEqual({ count: 1, isMore: false });
  await use.app.t.mutation(internal.manager.repair, {});
  await use.app.drive();
  expect((await list({ doing: "stalled" })).page).toEqual([]);
});

test("[S181] the pool says which steps hold its slots, since when, and whose steps wait for one", async () => {
  const parent = await use.app.start("list", { leaves: [{ n: 1, ms: HOUR }] });
  await use.app.advance(SECOND);
  const begun = Date.now();
  for (let n = 0; n < 12; n++) await use.app.start("leaf", { n, ms: HOUR });
  await use.app.advance(SECOND);
  const found = await use.app.t.query(components.workflow.listing.poolUse, {});
  // The smallest class has six.
  expect(found.holders).toHaveLength(6);
  expect(found.holders[0]).toMatchObject({ runId: parent, workflow: "list", path: "all/0/work" });
  expect(found.holders[0]!.since).toBeLessThan(begun);
  expect(found.holders[1]).toMatchObject({ workflow: "leaf", path: "work" });
  expect(found).toMatchObject({ queue: [{ workflow: "leaf", count: 7 }], isMore: false });
  expect(found.queue[0]!.since).toBeGreaterThanOrEqual(begun);
  expect(found.limited).toEqual([]);
});

test("[S181] an action that is in neither a slot nor the queue is stalled", async () => {
  const id = await use.app.start("leaf", { n: 1, ms: HOUR });
  await use.app.advance(SECOND);
  await use.app.inComponent(async (ctx) => {
    for (const { _id, work } of await ctx.db.query("slots").collect())
      if (work !== undefined) await ctx.db.delete("slots", _id);
  });
  await use.app.advance(2 * 60 * SECOND);
  const stalled = { runId: id, at: { path: "work", doing: "stalled" } };
  expect((await list({ doing: "stalled" })).page).toMatchObject([stalled]);
});

test("[S181] no more than 100 are counted and read for that, however many there are", async () => {
  await use.app.inComponent(async (ctx) => {
    const of = { workflow: "asks", entry: "", index: 0, startedAt: 0 };
    const step = {
      stage: "answer",
      kind: "event",
      attempt: 1,
      createdAt: 0,
      startedAt: 0,
    } as const;
    for (let n = 0; n < 150; n++) {
      await ctx.db.insert("runs", { ...of, state: "failed" });
      const run = await ctx.db.insert("runs", { ...of, state: "running" });
      await ctx.db.insert("steps", { ...step, run, state: "waiting" });
    }
  });
  use.app.counter.clear();
  expect(await counted({ doing: "waitingForEvent" })).toEqual({ count: 100, isMore: true });
  expect(use.app.counter.totals().documentsRead).toBeLessThanOrEqual(201);
  use.app.counter.clear();
  expect(await counted({ state: "failed" })).toEqual({ count: 100, isMore: true });
  expect(use.app.counter.totals().documentsRead).toBeLessThanOrEqual(101);
  const pages = [await list({ doing: "waitingForEvent" }, null, 100)];
  pages.push(await list({ doing: "waitingForEvent" }, pages[0]!.continueCursor, 100));
  const ids = pages.flatMap(({ page }) => page.map(({ runId }) => runId));
  expect(new Set(ids).size).toBe(150);
});

test("[S181] a name with a dot or a slash is one name of a path, in quotes", () => {
  const step = { stage: 'kind."v1.2".text/html.ask', iterations: [3] } as unknown as Step;
  expect(placeIn(step)).toBe('kind."v1.2"."text/html".ask#3');
  expect(placeIn(step, { within: 'kind."v1.2"' })).toBe('"text/html".ask#3');
  for (const [childKey, path] of [
    ["left", "rooms/left/"],
    ["v1.2", 'rooms/"v1.2"/'],
    ["a/b", 'rooms/"a/b"/'],
  ])
    expect(pathBelow("rooms", step, { childKey } as unknown as Run)).toBe(path);
});
