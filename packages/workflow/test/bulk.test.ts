/** @module-tag large */
import { expect, test } from "vitest";
import type { BulkStatus, Page } from "../src/index.js";
import { isOf } from "./component.js";
import { components, internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const isPage = isOf("bulk:nextPage");

const begin = async (options: object, app: TestApp = use.app) =>
  await app.t.mutation(internal.manager.startBulk, { options });
const stop = async (bulkId: string) =>
  await use.app.t.mutation(internal.manager.stopBulk, { bulkId });
const status = async (bulkId: string, app: TestApp = use.app) =>
  (await app.counter.uncounted(() =>
    app.t.query(internal.manager.bulks, { bulkId }),
  )) as unknown as BulkStatus;
const pages = (app: TestApp = use.app) => app.counter.totals(isPage).rootExecutions;

/** Starts a bulk and lets it, and what it starts, come to an end. */
async function bulk(options: object): Promise<BulkStatus> {
  const id = await begin(options);
  await use.app.drive();
  return await status(id);
}

async function startMany(name: string, inputs: unknown[]): Promise<string[]> {
  await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
  return await use.app.t.mutation(internal.manager.startBatch, { name, inputs });
}

/** Runs that have failed, and fail again whenever they are restarted. */
async function failMany(count: number, input: object = {}): Promise<string[]> {
  const inputs = Array.from({ length: count }, (_, n) => ({ n, fails: true, ...input }));
  const ids = await startMany("leaf", inputs);
  await use.app.drive();
  return ids;
}

const generations = async () =>
  await use.app.inComponent(async (ctx) =>
    (await ctx.db.query("runs").collect()).map(({ generation = 1 }) => generation),
  );

const failed = { workflow: "leaf", state: "failed" };

test("[S183] a bulk comes to each run once, in pages of 50, though what it does lists the runs again", async () => {
  await failMany(60);
  const where = { bulkId: undefined, where: failed };
  expect(await use.app.t.query(internal.manager.bulks, where)).toMatchObject({ count: 60 });
  const id = await begin({ do: "restart", where: failed });
  // One that is started later is none of them.
  const later = await use.app.start("leaf", { n: 1, fails: true });
  await use.app.drive();
  const over = await status(id);
  expect(over).toMatchObject({ do: "restart", state: "completed", done: 60, refused: 0 });
  expect(over.endedAt).toBeGreaterThanOrEqual(over.startedAt);
  expect(pages()).toBe(2);
  expect(await use.app.status("leaf", later)).toMatchObject({ state: "failed", generation: 1 });
  expect((await generations()).filter((each) => each === 2)).toHaveLength(60);
  await use.app.expectNothingLeft();
});

test("[S183] runs that are found by their key, or by what they do in several places, are counted once", async () => {
  for (let n = 0; n < 3; n++) {
    await use.app.start("leaf", { n, fails: true }, `of ${n % 2}`);
    await use.app.drive();
  }
  const ofKey = { workflow: "leaf", key: "of" };
  expect(await bulk({ do: "restart", where: ofKey, perSecond: 1 })).toMatchObject({ done: 2 });
  const leaves = Array.from({ length: 60 }, (_, n) => ({ n, ms: HOUR }));
  const parent = await use.app.start("list", { leaves });
  await use.app.advance(SECOND);
  const paused = await begin({ do: "pause", where: { doing: "running" }, perSecond: 1 });
  await use.app.advance(5 * SECOND);
  expect(await status(paused)).toMatchObject({ state: "completed", done: 1, refused: 0 });
  await use.app.t.mutation(internal.runs.cancel, { runId: parent });
  await use.app.drive();
});

test("[S183] a bulk stops by itself when more than half of 100 runs are refused, and says why", async () => {
  await startMany(
    "leaf",
    Array.from({ length: 70 }, (_, n) => ({ n })),
  );
  await use.app.drive();
  const over = await bulk({ do: "cancel", where: { workflow: "leaf" } });
  expect(over).toMatchObject({ state: "halted", done: 0, refused: 51 });
  expect(over.refusals).toMatchObject([
    { why: "it has ended, or is being undone", count: 51, runId: expect.any(String) },
  ]);
});

test("[S183] a bulk comes to the oldest runs first", async () => {
  const ids = await failMany(3);
  await bulk({ do: "restart", where: failed, atMost: 1 });
  await bulk({ do: "restart", where: { state: "failed" }, atMost: 2 });
  const seen = ids.map(async (id) => (await use.app.status("leaf", id))?.generation);
  expect(await Promise.all(seen)).toEqual([3, 2, 1]);
});

test("[S183] a bulk keeps to atMost and perSecond, and is stopped at once", async () => {
  await failMany(12);
  const first = await begin({ do: "cleanup", where: failed, atMost: 5 });
  await use.app.drive();
  expect(await status(first)).toMatchObject({ state: "completed", done: 5 });
  const slow = await begin({ do: "cleanup", where: failed, perSecond: 2 });
  await use.app.advance(1_500);
  expect((await status(slow)).done).toBe(4);
  expect(await stop(slow)).toBe(true);
  expect(await stop(slow)).toBe(false);
  await use.app.drive();
  expect(await status(slow)).toMatchObject({ state: "stopped", done: 4 });
  await use.app.expectNothingLeft();
  const { page } = (await use.app.t.query(internal.manager.bulks, {})) as Page<BulkStatus>;
  expect(page.map(({ bulkId }) => bulkId)).toEqual([slow, first]);
});

test("[S183] a run that no longer fits, as another run of its page was canceled, is not counted", async () => {
  await use.app.start("oneAround", { key: "k", name: "x", below: ["oneWaits"] });
  await use.app.advance(SECOND);
  const where = { state: "running", children: true };
  expect(await bulk({ do: "cancel", where })).toMatchObject({ done: 1, refused: 0 });
});

test(
  "[S183] a page takes no more runs than fit into a transaction",
  { tags: ["large"] },
  async () => {
    const text = "x".repeat(900_000);
    for (let n = 0; n < 12; n++) await use.app.start("sleepy", { ms: HOUR, text });
    // With these, the first page is not the last either where all that it found would fit.
    const small = Array.from({ length: 45 }, () => ({ ms: HOUR, text: "" }));
    await startMany("sleepy", small);
    const where = { workflow: "sleepy" };
    expect(await bulk({ do: "cancel", where: { ...where, state: "running" } })).toMatchObject({
      done: 57,
    });
    const before = pages();
    expect(await bulk({ do: "restart", where })).toMatchObject({ done: 57, refused: 0 });
    expect(pages() - before).toBeGreaterThan(1);
    expect(pages() - before).toBeLessThan(6);
  },
);

test("[S183] a page that fails is tried again with fewer runs, until the first of them is refused", async () => {
  let left = 3;
  const app = new TestApp({ fails: (name) => name === "bulk:nextPage" && left-- > 0 });
  for (let n = 0; n < 4; n++) await app.start("leaf", { n });
  await app.drive();
  const id = await begin({ do: "cleanup", where: { workflow: "leaf" } }, app);
  await app.drive();
  expect(await status(id, app)).toMatchObject({ state: "completed", done: 3, refused: 1 });
  expect((await status(id, app)).refusals[0]!.why).toBe("its page has failed again and again");
});

test("what a bulk cannot do is refused at once", async () => {
  const all = { workflow: "leaf" };
  await expect(begin({ do: "restart", where: {}, from: "work" })).rejects.toThrow(
    /needs the workflow/,
  );
  await expect(begin({ do: "restart", where: all, from: "wrk" })).rejects.toThrow(/no node "wrk"/);
  await expect(begin({ do: "cancel", where: all, from: "work" })).rejects.toThrow(
    /is for a restart/,
  );
  await expect(begin({ do: "cancel", where: all, atMost: 0 })).rejects.toThrow(/atMost is 0/);
  await expect(begin({ do: "cancel", where: all, perSecond: 0 })).rejects.toThrow(/perSecond is 0/);
  await expect(stop("none")).rejects.toThrow(/no bulk "none"/);
  expect(await status("none")).toBeNull();
});
