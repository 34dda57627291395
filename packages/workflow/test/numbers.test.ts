import { expect, test, vi } from "vitest";
import type { BulkStatus } from "../src/index.js";
import type { Doc } from "../src/component/_generated/dataModel.js";
import { childProgress } from "../src/component/core/childRuns.js";
import { isOf } from "./component.js";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

/* What the numbers of the component are for, where nothing else fails without them. */

const use = useTestApp();
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

const startBulk = async (options: object) =>
  await use.app.t.mutation(internal.manager.startBulk, { options });

const runs = async () =>
  (await use.app.inComponent((ctx) => ctx.db.query("runs").collect())).length;

test("[S58] ten children that start together look once for free slots", async () => {
  const id = await use.app.start("list", {
    leaves: Array.from({ length: 10 }, (_none, n) => ({ n, ms: SECOND })),
  });
  await use.app.advance(SECOND / 2);
  expect(await use.app.tree(id)).toHaveLength(11);
  const looks = use.app.counter.calls.filter(({ name }) => name === "watchdog:freeSlots");
  expect(looks).toHaveLength(1);
});

/** A run that has ended, and copies of it. */
async function copied<Table extends "runs" | "steps">(
  table: Table,
  count: number,
  change: (of: string) => Partial<Doc<Table>>,
): Promise<string> {
  const id = await use.app.start("leaf", { n: 1 });
  await use.app.drive();
  for (let n = 0; n < count; n += 10)
    await use.app.inComponent(async (ctx) => {
      const { _id, _creationTime, ...row } = (await ctx.db.query(table).first())!;
      for (let i = 0; i < 10; i++) await ctx.db.insert(table, { ...row, ...change(id) } as never);
    });
  return id;
}
const treeOf = (runId: string) => use.app.t.query(components.workflow.views.tree, { runId });

test("[S183] a bulk is kept for a month after its end", async () => {
  const over = { do: "cancel", where: {}, state: "completed", done: 0, refused: 0 } as const;
  const ended = (daysAgo: number) => ({ endedAt: Date.now() - daysAgo * DAY });
  await use.app.inComponent(async (ctx) => {
    for (const daysAgo of [25, 35])
      await ctx.db.insert("bulks", { ...over, refusals: [], recent: "", ...ended(daysAgo) });
  });
  await startBulk({ do: "cancel", where: { workflow: "leaf" } });
  await use.app.drive();
  const left = await use.app.inComponent((ctx) => ctx.db.query("bulks").collect());
  const days = left.map(({ endedAt = 0 }) => Math.round((Date.now() - endedAt) / DAY));
  expect(days).toEqual([25, 0]);
});

test("[S183] of the reasons why runs were refused, ten are told apart", async () => {
  await use.app.start("leaf", { n: 1 });
  await use.app.drive();
  const bulkId = await startBulk({ do: "cancel", where: { workflow: "leaf" } });
  await use.app.inComponent(async (ctx) => {
    const refusals = Array.from({ length: 10 }, (_, n) => ({ why: `${n}`, count: 1, runId: "" }));
    await ctx.db.patch("bulks", bulkId as never, { refusals });
  });
  await use.app.drive();
  const { refusals } = (await use.app.t.query(internal.manager.bulks, {
    bulkId,
  })) as unknown as BulkStatus;
  expect(refusals).toHaveLength(11);
  expect(refusals[10]).toMatchObject({ why: "other reasons", count: 1 });
});

test("the tree of a run shows a hundred children", async () => {
  const root = await copied("runs", 100, (of) => ({ root: of, parentRun: of }) as never);
  const tree = await treeOf(root);
  expect(tree?.runs).toHaveLength(101);
  expect(tree?.truncated).toBe(false);
});

test(
  "records with outputs of a megabyte are read as far as a transaction can",
  { tags: ["large"] },
  async () => {
    const output = "x".repeat(950_000);
    const runId = await copied("steps", 20, () => ({ output }));
    const tree = await treeOf(runId);
    expect(tree?.truncated).toBe(true);
    expect(tree?.runs[0]?.steps.length).toBeGreaterThan(10);
    // A page ends far earlier: others are read beside it.
    const page = { cursor: null, numItems: 12 };
    const { records } = (await use.app.t.query(components.workflow.listing.steps, {
      runId,
      page,
    }))!;
    expect(records.length).toBeGreaterThan(2);
    expect(records.length).toBeLessThan(8);
  },
);

test("[S59] in a crowded pool, many children are inserted within 3 s, and a few at once", async () => {
  await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 1 });
  for (let n = 0; n < 4; n++) await use.app.start("leaf", { n, ms: HOUR });
  await use.app.advance(SECOND);
  vi.spyOn(Math, "random").mockReturnValue(0.9);
  await use.app.start("allRest", { of: 40, ms: HOUR });
  await use.app.start("allRest", { of: 10, ms: HOUR });
  await use.app.advance(SECOND);
  expect(await runs()).toBe(4 + 2 + 10);
  await use.app.advance(3 * SECOND);
  expect(await runs()).toBe(4 + 2 + 50);
});

/** A run whose children, so many, rest for an hour. */
async function resting(of: number, name = "allRest") {
  const id = await use.app.start(name, { of, count: of, ms: HOUR });
  await use.app.advance(SECOND);
  return id;
}

test("[S103] a pause reaches 30 children in one transaction", async () => {
  const id = await resting(30);
  await use.app.t.mutation(internal.manager.pause, { runId: id });
  const steps = await use.app.inComponent((ctx) => ctx.db.query("steps").collect());
  expect(steps.filter(({ paused }) => paused === true)).toHaveLength(31);
});

test.each([
  ["30 children are canceled in two pages", "allRest", 30],
  ["12 children whose `onEnd` runs code of the app are canceled in two", "manyEnds", 12],
])("[S86] %s", async (_how, name, of) => {
  const id = await resting(of, name);
  await use.app.t.mutation(internal.runs.cancel, { runId: id });
  await use.app.advance(SECOND);
  const { executions } = use.app.counter.totals(isOf("features/ending:cancelMoreChildren"));
  expect(executions).toBe(2);
});

test("two children with inputs of 300 kB are inserted at once", async () => {
  await use.app.start("weightyInTurn", { of: 2, characters: 300_000 });
  await use.app.drive(async () => (await runs()) > 1);
  expect(await runs()).toBe(3);
});

test("[S148] of some hundred children in each state it is known how many there are", async () => {
  await resting(1);
  await use.app.inComponent(async (ctx) => {
    const child = (await ctx.db.query("runs").order("desc").first())!;
    const { _id, _creationTime, ...row } = child;
    for (let index = 1; index <= 100; index++)
      await ctx.db.insert("runs", { ...row, index, state: "failed" });
    const parent = child.parentStep!;
    const { failed, isEstimate } = await childProgress(ctx, { _id: parent, total: 101 });
    expect({ failed, isEstimate }).toEqual({ failed: 100, isEstimate: undefined });
  });
});

test("a scope of 400 kB is no argument of a function, which would be kept for a week", async () => {
  await use.app.start("echo", { value: "x".repeat(400_000) });
  const jobs = await use.app.jobs();
  expect(jobs.length).toBeGreaterThan(0);
  expect(JSON.stringify(jobs).length).toBeLessThan(100_000);
});

test("a node looks at 50 events that are kept in one call", async () => {
  const id = await use.app.start("leaf", { n: 1, ms: HOUR });
  await use.app.inComponent(async (ctx) => {
    const run = ctx.db.normalizeId("runs", id)!;
    for (let n = 0; n < 60; n++) await ctx.db.insert("inbox", { run, name: "e", value: n });
  });
  const of = { run: id, names: ["e"], stage: "n" };
  const { events } = await use.app.t.query(components.workflow.events.look, of);
  expect(events).toHaveLength(50);
});
