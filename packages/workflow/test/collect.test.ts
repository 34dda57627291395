import { getConvexSize } from "convex/values";
import { expect, test } from "vitest";
import type { ListedRun, Page } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

/* Starts of one key of a workflow's `collect`, which become one run. */

const use = useTestApp();

const SECOND = 1_000;
const start = async (name: string, input: object, how: object = {}) =>
  (await use.app.t.mutation(internal.manager.start, { name, input, ...how })) as string;
const startBatch = async (name: string, inputs: object[]) =>
  (await use.app.t.mutation(internal.manager.startBatch, { name, inputs })) as string[];
const steer = async (how: "cancel" | "pause" | "resume", name: string, run: string) =>
  await use.app.t.mutation(internal.manager.steer, { how, name, run });
const list = async (filter: object) =>
  (
    (await use.app.t.query(internal.manager.list, {
      filter,
      page: { numItems: 100, cursor: null },
    })) as unknown as Page<ListedRun>
  ).page;
const rows = async () =>
  await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => [
      ...(await ctx.db.query("collected").collect()),
      ...(await ctx.db.query("collectors").collect()),
    ]),
  );
const all = (...ns: number[]) => ({ items: ns.map((n) => expect.objectContaining({ n })) });

test("[S204] a run begins when nothing was started for `quiet`, with the input of the last start", async () => {
  const first = await start("collectsLast", { key: "k", n: 1 });
  await use.app.advance(20 * SECOND);
  expect(await start("collectsLast", { key: "k", n: "2" })).toBe(first);
  await use.app.advance(20 * SECOND);
  expect(await use.app.status("collectsLast", first)).toMatchObject({ state: "pending" });
  await use.app.advance(15 * SECOND);
  const status = await use.app.status("collectsLast", first);
  expect(status).toMatchObject({ state: "completed", input: { n: 2 }, tags: { n: 2 } });
  expect(await use.app.log()).toEqual(["2"]);
  expect(await start("collectsLast", { key: "k", n: 3 })).not.toBe(first);
  await use.app.drive();
  expect(await use.app.log()).toEqual(["2", "3"]);
  await use.app.expectNothingLeft();
  expect(await rows()).toEqual([]);
});

test(
  "[S204] it begins after `atMost`, though starts go on; the first input is kept if so asked",
  { tags: ["large"] },
  async () => {
    const first = await start("collectsFirst", { key: "k", n: 1 });
    for (let n = 2; n < 5; n++) {
      await use.app.advance(20 * SECOND);
      const run = await start("collectsFirst", { key: "k", n });
      expect(run === first).toBe(n < 4);
    }
    await use.app.advance(SECOND);
    expect(await use.app.status("collectsFirst", first)).toMatchObject({ output: 1 });
    await use.app.drive();
    expect(await rows()).toEqual([]);
  },
);

test(
  "[S204] without `atMost` a run begins after 10 times `quiet`; other keys and none are apart",
  { tags: ["large"] },
  async () => {
    const first = await start("collectsLast", { key: "k", n: 0 });
    const other = await start("collectsLast", { key: "other", n: 7 });
    const single = await start("collectsLast", { n: 8 });
    expect(new Set([first, other, single]).size).toBe(3);
    await use.app.advance(SECOND);
    expect(await use.app.log()).toEqual(["8"]);
    for (let n = 1; n < 20; n++) {
      await use.app.advance(20 * SECOND);
      await start("collectsLast", { key: "k", n });
    }
    const { startedAt, createdAt } = (await use.app.status("collectsLast", first))!;
    expect(startedAt - createdAt).toBeGreaterThanOrEqual(300 * SECOND);
    expect(startedAt - createdAt).toBeLessThan(301 * SECOND);
    await use.app.drive();
  },
);

test("[S215] the tags of a run are those of its whole input, and no longer of its first start", async () => {
  const run = await start("collectsLast", { key: "k", n: 1 });
  await start("collectsLast", { key: "k", n: 2 });
  const found = async (n: number) => (await list({ tag: { n } })).map(({ runId }) => runId);
  expect(await found(1)).toEqual([run]);
  await use.app.drive();
  expect([await found(1), await found(2)]).toEqual([[], [run]]);
});

test("[S205] a run has the items of all starts in order, at most `size`, and begins when it has these", async () => {
  const ids = [];
  for (const n of [1, 2, 3, 4]) ids.push(await start("collectsAll", { key: "k", n, secret: "s" }));
  expect(new Set(ids.slice(0, 3)).size).toBe(1);
  expect(ids[3]).not.toBe(ids[0]);
  await use.app.advance(6 * SECOND);
  const [full, rest] = await Promise.all(
    [ids[0]!, ids[3]!].map((id) => use.app.status("collectsAll", id)),
  );
  expect(full).toMatchObject({
    state: "completed",
    output: { count: [1, 2, 3], first: 1 },
    tags: { count: 3 },
    input: all(1, 2, 3),
  });
  expect(JSON.stringify(full)).not.toContain("secret");
  expect(rest).toMatchObject({ state: "pending", collecting: { items: 1 } });
  await use.app.drive();
  await use.app.expectNothingLeft();
});

test(
  "[S205] starts of one transaction are in as many runs as they need, and so are large ones",
  { tags: ["large"] },
  async () => {
    const ids = await startBatch(
      "collectsAll",
      [1, 2, 3, 4, 5, 6, 7].map((n) => ({ key: "k", n })),
    );
    expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 0, 0, 3, 3, 3, 6]);
    // The fourth does not fit, though only two are there.
    const bulk = "x".repeat(400_000);
    const large = [];
    for (const n of [1, 2, 3]) large.push(await start("collectsAll", { key: "large", n, bulk }));
    expect(large[1]).toBe(large[0]);
    expect(large[2]).not.toBe(large[0]);
    await expect(
      start("collectsAll", { key: "large", n: 4, bulk: "x".repeat(999_955) }),
    ).rejects.toThrow(/cannot be stored|collected|can be stored/);
    await use.app.drive();
    expect(await use.app.status("collectsAll", ids[3]!)).toMatchObject({
      output: { count: [4, 5, 6] },
    });
    expect(await use.app.status("collectsAll", large[0]!)).toMatchObject({
      output: { count: [1, 2] },
    });
    expect(await rows()).toEqual([]);
  },
);

test("[S205] what was started at the same moment and is too much for one run is in a run after it", async () => {
  // A stale look sees none of these.
  const first = await start("collectsAll", { key: "k", n: 0 });
  await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => {
      const run = (await ctx.db.query("runs").collect()).find(({ _id }) => _id === first)!._id;
      for (const n of [1, 2, 3, 4, 5, 6])
        await ctx.db.insert("collected", {
          run,
          at: ctx.db.vars.commitTs,
          input: { key: "k", n },
          bytes: 10,
        });
    }),
  );
  await use.app.drive();
  const runs = await list({ workflow: "collectsAll" });
  const outputs = await Promise.all(
    runs.map(async ({ runId }) => (await use.app.status("collectsAll", runId)) as any),
  );
  expect(outputs.map(({ output }) => output.count).sort()).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
  expect(outputs.map(({ tags }) => tags.count).sort()).toEqual([1, 3, 3]);
  expect(await rows()).toEqual([]);
});

test("[S205] and so is what would make it too large", { tags: ["large"] }, async () => {
  const item = (n: number) => ({ key: "k", n, bulk: "x".repeat(400_000) });
  const first = await start("collectsAll", item(0));
  // A stale look sees neither of these.
  await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => {
      const run = (await ctx.db.query("runs").collect()).find(({ _id }) => _id === first)!._id;
      for (const n of [1, 2]) {
        const bytes = getConvexSize(item(n));
        await ctx.db.insert("collected", { run, at: ctx.db.vars.commitTs, input: item(n), bytes });
      }
    }),
  );
  await use.app.drive();
  const runs = await list({ workflow: "collectsAll" });
  const outputs = await Promise.all(
    runs.map(async ({ runId }) => (await use.app.status("collectsAll", runId)) as any),
  );
  expect(outputs.map(({ output }) => output?.count).sort()).toEqual([[0, 1], [2]]);
  expect(await rows()).toEqual([]);
});

test("[S207] a canceled run drops what it has collected, and the next start opens another", async () => {
  const first = await start("collectsAll", { key: "k", n: 1 });
  await start("collectsAll", { key: "k", n: 2 });
  await steer("cancel", "collectsAll", first);
  expect(await rows()).toEqual([]);
  const next = await start("collectsAll", { key: "k", n: 3 });
  expect(next).not.toBe(first);
  await use.app.drive();
  expect(await use.app.status("collectsAll", first)).toMatchObject({ state: "canceled" });
  expect(await use.app.status("collectsAll", next)).toMatchObject({ output: { count: [3] } });
  await use.app.expectNothingLeft();
});

test("[S207] a run that is canceled while it collects has no input, so its `onEnd` is not called", async () => {
  const run = await start("collectsEnding", { key: "k", n: 1 });
  await steer("cancel", "collectsEnding", run);
  await start("collectsEnding", { key: "k", n: 2 });
  await use.app.drive();
  const status = await use.app.status("collectsEnding", run);
  expect(status).toMatchObject({ state: "canceled" });
  expect(status).not.toHaveProperty("onEndError");
  expect(await use.app.log()).toEqual(["completed: 1"]);
  await use.app.expectNothingLeft();
});

test("[S207] a paused run collects on, and begins when it is resumed; a full one leaves the next start to another", async () => {
  const first = await start("collectsAll", { key: "k", n: 1 });
  await steer("pause", "collectsAll", first);
  await use.app.advance(3_600 * SECOND);
  expect(await start("collectsAll", { key: "k", n: 2 })).toBe(first);
  const full = await start("collectsAll", { key: "k", n: 3 });
  const other = await start("collectsAll", { key: "k", n: 4 });
  expect([full, other === first]).toEqual([first, false]);
  await use.app.advance(60 * SECOND);
  expect(await use.app.status("collectsAll", first)).toMatchObject({ state: "pending" });
  expect(await use.app.status("collectsAll", other)).toMatchObject({ output: { count: [4] } });
  const waits = await start("collectsLast", { key: "k", n: 5 });
  await steer("pause", "collectsLast", waits);
  await use.app.advance(60 * SECOND);
  for (const [name, run] of [
    ["collectsAll", first],
    ["collectsLast", waits],
  ] as const)
    await steer("resume", name, run);
  await use.app.drive();
  expect(await use.app.status("collectsAll", first)).toMatchObject({
    output: { count: [1, 2, 3] },
  });
  expect(await use.app.log()).toEqual(["5"]);
});

test("[S207] status and lists say that a run collects, how much, for which key and until when", async () => {
  const first = await start("collectsAll", { key: "k", n: 1 });
  await start("collectsAll", { key: "k", n: 2 });
  const collecting = { key: "k", items: 2, until: expect.closeTo(Date.now() + 300_000, -3) };
  const status = await use.app.status("collectsAll", first);
  expect(status).toMatchObject({
    state: "pending",
    collecting,
    tags: { count: 1 },
    active: [{ node: "count", kind: "collect", doing: "collecting", dueAt: collecting.until }],
    stalled: false,
  });
  expect(status).not.toHaveProperty("input");
  const found = await list({ doing: "collecting" });
  expect(found).toMatchObject([{ runId: first, collecting, at: { doing: "collecting" } }]);
  await use.app.drive();
  expect(await use.app.status("collectsAll", first)).not.toHaveProperty("collecting");
});

test("[S207] events that are sent to a run that collects are kept, and a repair goes on with it", async () => {
  const run = await start("collectsWaiting", { key: "k", n: 1 });
  const event = { name: "collectsWaiting", run, event: "approved", payload: { by: "ada" } };
  expect(await use.app.t.mutation(internal.manager.sendEvent, event)).toBe("kept");
  await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => {
      const steps = await ctx.db.query("steps").collect();
      for (const { job, check } of steps)
        for (const each of [job, check]) if (each !== undefined) await ctx.scheduler.cancel(each);
    }),
  );
  await use.app.advance(60 * SECOND);
  expect(await use.app.status("collectsWaiting", run)).toMatchObject({ stalled: true });
  await use.app.t.mutation(internal.manager.repair, {});
  await use.app.drive();
  expect(await use.app.status("collectsWaiting", run)).toMatchObject({ output: { by: "ada" } });
});

test("[S215] a start is parsed at once, and one that asks for what only a run of its own has is refused", async () => {
  const good = await start("collectsAll", { key: "k", n: 1 });
  const wrong = [
    [{ input: { key: "k", n: "no number" } }, /input\.n/],
    [{ input: { key: "k", n: 2 }, key: "idempotent" }, /no key of its own/],
    [{ input: { key: "k", n: 2 }, runAfter: "1m" }, /no runAfter of its own/],
    [{ input: { key: "k", n: 2 }, runAt: Date.now() }, /no runAt of its own/],
    [{ input: { key: "k", n: 2 }, context: 1 }, /no onComplete of its own/],
    [{ input: { key: "x".repeat(300), n: 2 } }, /key of the collect/],
  ] as const;
  for (const [{ input, ...how }, message] of wrong)
    await expect(start("collectsAll", input, how)).rejects.toThrow(message);
  const secret = { n: 1, secret: "s" };
  await expect(start("collectsSecret", secret)).rejects.toThrow(
    /input\.secret, which is sensitive/,
  );
  // Without a key it is a run of its own, which may have all of these.
  const single = await start("collectsAll", { n: 2 }, { key: "idempotent", runAfter: "1m" });
  await use.app.drive();
  expect(await use.app.status("collectsAll", good)).toMatchObject({ output: { count: [1] } });
  expect(await use.app.status("collectsAll", single)).toMatchObject({ output: { count: [2] } });
});

test("[S215] children are not collected, and a restart takes the input of one start", async () => {
  const run = await start("collectsBelow", { ns: [1, 2] });
  await use.app.advance(10 * SECOND);
  const output = [1, 2].map((n) => ({ count: [n], first: n }));
  expect(await use.app.status("collectsBelow", run)).toMatchObject({
    state: "completed",
    output: { children: output },
  });
  const collected = await start("collectsAll", { key: "k", n: "3" });
  await start("collectsAll", { key: "k", n: 4 });
  await use.app.drive();
  const restart = async (how: object) => {
    const args = { name: "collectsAll", runId: collected, ...how };
    await use.app.t.mutation(internal.manager.restart, args);
    await use.app.drive();
    return await use.app.status("collectsAll", collected);
  };
  expect(await restart({})).toMatchObject({ output: { count: [3, 4] } });
  expect(await restart({ input: { n: 5 } })).toMatchObject({ output: { count: [5] } });
});

test("[S215] collected runs of one key of a `one` follow each other", async () => {
  const first = await start("collectsInTurn", { key: "k", n: 1 });
  await use.app.advance(15 * SECOND);
  const second = await start("collectsInTurn", { key: "k", n: 2 });
  await start("collectsInTurn", { key: "k", n: 3 });
  await use.app.advance(15 * SECOND);
  expect(await use.app.status("collectsInTurn", second)).toMatchObject({
    state: "pending",
    waitsFor: { key: "k", runId: first, place: 1 },
  });
  await use.app.drive();
  expect(await use.app.log()).toEqual(["1", "2,3"]);
  expect(await rows()).toEqual([]);
});

test("[S215] if what is made of the items fails, so does the run, which keeps them", async () => {
  const run = await start("collectsOdd", { key: "k", n: 1 });
  await start("collectsOdd", { key: "k", n: 2 });
  await use.app.drive();
  expect(await use.app.status("collectsOdd", run)).toMatchObject({
    state: "failed",
    error: { message: expect.stringContaining("too many to tag") },
    input: all(1, 2),
  });
  expect(await rows()).toEqual([]);
});

test("[S206] a start that is added writes one document, and the run takes two executions to begin", async () => {
  const cost = async (what: () => Promise<unknown>) => {
    use.app.counter.clear();
    await what();
    const { rootExecutions, documentsRead, documentsWritten } = use.app.counter.totals(
      ({ name }) => !name.startsWith("watchdog:"),
    );
    return { rootExecutions, documentsRead, documentsWritten };
  };
  const opened = await cost(async () => await start("collectsFirst", { key: "k", n: 1 }));
  const added = await cost(async () => await start("collectsFirst", { key: "k", n: 2 }));
  const begun = await cost(async () => await use.app.drive());
  expect(added).toEqual({ rootExecutions: 1, documentsRead: 1, documentsWritten: 1 });
  // Its run and record, the collector, the item, and when the record is due.
  expect(opened.documentsWritten).toBe(5);
  // It is closed, and begins.
  expect(begun.rootExecutions).toBe(2);
});

/** Inserts rows as starts of one moment do, none of which sees the others. */
const insertRows = async (run: string, count: number, row: (n: number) => object) =>
  await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => {
      const id = (await ctx.db.query("runs").collect()).find(({ _id }) => _id === run)!._id;
      for (let n = 0; n < count; n++)
        await ctx.db.insert("collected", {
          run: id,
          at: ctx.db.vars.commitTs,
          bytes: 0,
          ...row(n),
        });
    }),
  );

test("[S214] starts that a `keep` did not keep go in pages when all are kept from then on", async () => {
  const run = await start("collectsInTurn", { key: "k", n: 1 });
  await insertRows(run, 1_800, () => ({}));
  await insertRows(run, 1, () => ({ input: { key: "k", n: 2 }, bytes: 10 }));
  use.app.counter.clear();
  await use.app.drive();
  expect(
    Math.max(...use.app.counter.calls.map(({ total }) => total.documentsWritten)),
  ).toBeLessThan(1_100);
  expect(await use.app.log()).toEqual(["1", "2"]);
  expect(await rows()).toEqual([]);
});

test("[S215] a run that cannot begin keeps what it has collected, whatever became of its entry", async () => {
  const app = new TestApp({ fails: (name) => name === "engine/entry:enter" });
  const begin = async (n: number) =>
    await app.t.mutation(internal.manager.start, {
      name: "collectsInTurn",
      input: { key: "k", n },
    });
  const run = await begin(1);
  await begin(2);
  await app.advance(3_600 * SECOND);
  const status = await app.status("collectsInTurn", run);
  expect(status).toMatchObject({ state: "failed", input: all(1, 2) });
  expect(await begin(3)).not.toBe(run);
});

test("[S207] a restart of a run that has collected nothing says that it needs an input", async () => {
  const run = await start("collectsAll", { key: "k", n: 1 });
  await steer("cancel", "collectsAll", run);
  const restart = async (how: object) =>
    await use.app.t.mutation(internal.manager.restart, { name: "collectsAll", runId: run, ...how });
  await expect(restart({})).rejects.toThrow(/has no input: give one/);
  await restart({ input: { n: 5 } });
  await use.app.drive();
  expect(await use.app.status("collectsAll", run)).toMatchObject({ output: { count: [5] } });
});
