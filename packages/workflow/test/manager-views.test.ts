import { describe, expect, test } from "vitest";
import type { ListedRun, Page, Status, TimelineEntry } from "../src/index.js";
import type { Id } from "../src/component/_generated/dataModel.js";
import { internal } from "./convex/_generated/api.js";
import { workflows } from "./convex/_workflows/index.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const HOUR = 60 * 60_000;
const leaves = (...ms: number[]) => ({ leaves: ms.map((time, n) => ({ n, ms: time })) });

async function page(name: string, runId: string, numItems = 100, cursor: string | null = null) {
  return (await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.steps, { name, runId, page: { numItems, cursor } }),
  )) as unknown as Page<TimelineEntry>;
}

/** The whole timeline, read in pages of so many. */
async function timeline(name: string, runId: string, numItems = 100): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  let cursor: string | null = null;
  for (;;) {
    const next: Page<TimelineEntry> = await page(name, runId, numItems, cursor);
    entries.push(...next.page);
    if (next.isDone) return entries;
    cursor = next.continueCursor;
  }
}

async function list(filter: object, numItems = 100, cursor: string | null = null) {
  return (await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.list, { filter, page: { numItems, cursor } }),
  )) as unknown as Page<ListedRun>;
}

async function ids(filter: object): Promise<string[]> {
  return (await list(filter)).page.map(({ runId }) => runId);
}

const told = (entries: readonly TimelineEntry[]) =>
  entries.map(({ node, state }) => `${node} ${state}`);

describe("status", () => {
  test(
    "[S96] an action that waits for a slot, one that runs, one that waits for its next attempt",
    { tags: ["large"] },
    async () => {
      const ids: string[] = [];
      for (let n = 0; n < 11; n++) ids.push(await use.app.start("slow", { ms: 1_000 }));
      const begun = Date.now();
      await use.app.advance(10);
      expect(await use.app.status("slow", ids[0]!)).toMatchObject({
        state: "running",
        generation: 1,
        isOutdated: false,
        paused: false,
        stalled: false,
        active: [{ node: "wait", kind: "action", state: "running", since: begun, attempt: 1 }],
      });
      expect((await use.app.status("slow", ids[10]!))?.active).toMatchObject([
        { state: "pending" },
      ]);
      const flaky = await use.app.start("flaky", { goodAttempt: 2 });
      await use.app.drive(async () => {
        const status = await use.app.status("flaky", flaky);
        return status?.active[0]?.state === "waiting";
      });
      expect((await use.app.status("flaky", flaky))?.active).toMatchObject([
        {
          node: "attempt",
          attempt: 2,
          dueAt: expect.any(Number),
          errors: [{ message: "attempt 1 failed", attempt: 1 }],
        },
      ]);
    },
  );

  test("[S96] a sleep says until when, an event for what, a loop which iteration it is at", async () => {
    const id = await use.app.start("told", { iterations: 2 });
    await use.app.drive();
    const active = (await use.app.status("told", id))?.active;
    expect(active).toMatchObject([
      { node: "ask", kind: "loop", iteration: 1 },
      { node: "ask.answer", kind: "event", iterations: [1], events: ["answer"] },
    ]);
    const sleeping = await use.app.start("sleeps", { ms: 0 });
    await use.app.advance(1);
    expect((await use.app.status("sleeps", sleeping))?.active).toMatchObject([
      { node: "fixed", kind: "sleep", dueAt: Date.now() - 1 + 10 * 60_000 },
    ]);
  });

  test(
    "[S96] a parent says how many of its children are done, have failed, and run",
    { tags: ["large"] },
    async () => {
      const many = Array.from({ length: 6 }, (_none, n) => ({ n, ms: 100 * (n + 1) }));
      const id = await use.app.start("twoAtOnce", { leaves: many });
      await use.app.advance(350);
      // 0 and 1 ended at 100 and 200, 2 began at 100 and ends at 400, 3 at 200.
      expect((await use.app.status("twoAtOnce", id))?.active).toMatchObject([
        { node: "all", children: { total: 6, done: 2, failed: 0, running: 2 } },
      ]);
      const bad = await use.app.start("tolerant", { bad: 2, of: 4, ms: 1_000 });
      await use.app.advance(10_000);
      const entries = await timeline("tolerant", bad);
      expect(entries.find(({ node }) => node === "some")?.children).toEqual({
        total: 4,
        done: 2,
        failed: 2,
        canceled: 0,
        running: 0,
      });
    },
  );

  test("[S96] of 1,500 children it reads a bounded number", { tags: ["large"] }, async () => {
    const id = await use.app.start("tenThousand", { of: 1_500, concurrency: 200 });
    await use.app.drive(async () => {
      const active = (await use.app.status("tenThousand", id))?.active[0];
      return (active?.children?.done ?? 0) >= 700;
    });
    use.app.counter.clear();
    const of = { name: "tenThousand", runId: id };
    const status = (await use.app.t.query(internal.runs.status, of)) as unknown as Status<unknown>;
    const { total, done, running } = status.active[0]!.children!;
    expect(total).toBe(1_500);
    const states = await use.app.counter.uncounted(() =>
      use.app.inComponent(async (ctx) => {
        const runs = await ctx.db.query("runs").collect();
        return runs.filter(({ parentRun }) => parentRun === id).map(({ state }) => state);
      }),
    );
    expect(done).toBe(states.filter((state) => state === "completed").length);
    expect(running).toBe(states.filter((state) => state === "running").length);
    // The 200 that run, and those that have ended behind the first which waits.
    expect(use.app.counter.totals().documentsRead).toBeLessThan(400);
  });

  test("[S96] every end: completed with its output, the others with their error", async () => {
    const timedOut = await use.app.run("tooLong", { ms: 2 * HOUR });
    expect(timedOut).toMatchObject({
      state: "timedOut",
      endedAt: timedOut.startedAt + HOUR,
      error: { kind: "timedOut" },
      active: [],
    });
    const id = await use.app.start("saga", { fail: "ship" });
    await use.app.drive(async () => (await use.app.status("saga", id))?.state === "compensating");
    expect(await use.app.status("saga", id)).toMatchObject({
      state: "compensating",
      error: { message: "no ship" },
      active: [{ node: "charge.compensate" }],
    });
    await use.app.drive();
    expect(await use.app.status("saga", id)).toMatchObject({ state: "failed" });
  });

  test.each([
    ["that are completed", { fails: true, bookings: [{ n: 0 }, { n: 1 }] }, { done: 2 }],
    [
      "that were going on",
      { bookings: [{ n: 0, ms: HOUR }, { n: 1 }, { n: 2, ms: 1_000, fails: true }] },
      { done: 1, running: 1 },
    ],
  ])(
    "[S96] a run that is compensating is at the parent whose children, %s, are being undone",
    { tags: ["large"] },
    async (_which, input, children) => {
      const id = await use.app.start("tour", input);
      await use.app.drive(async () => (await use.app.log()).includes("unbooking 0"));
      expect(await use.app.status("tour", id)).toMatchObject({
        state: "compensating",
        active: [{ node: "all", kind: "children", state: "waiting", children }],
        stalled: false,
      });
      await use.app.drive();
      expect(await use.app.status("tour", id)).toMatchObject({ state: "failed", active: [] });
    },
  );

  test("[S106] of an unknown id, and of a run of another workflow, it is null", async () => {
    const id = await use.app.start("leaf", { n: 1 });
    expect(await use.app.status("leaf", "nonsense")).toBeNull();
    expect(await use.app.status("slow", id)).toBeNull();
    await use.app.drive();
    await use.app.t.mutation(internal.manager.cleanup, { runId: id });
    expect(await use.app.status("leaf", id)).toBeNull();
  });

  test.each([
    ["cancel", "Cannot cancel"],
    ["pause", "Cannot pause"],
    ["resume", "Cannot resume"],
    ["cleanup", "Cannot clean up"],
  ] as const)("[S106] %s of an unknown id throws", async (member, message) => {
    const of = member === "cancel" ? internal.runs.cancel : internal.manager[member];
    const call = use.app.t.mutation(of, { runId: "nonsense" });
    await expect(call).rejects.toThrow(`${message} run "nonsense": there is no such run`);
  });

  test("[S106] restart of an unknown id, and of a run of another workflow, throws", async () => {
    const id = await use.app.start("leaf", { n: 1 });
    await use.app.drive();
    for (const [name, runId] of [
      ["leaf", "nonsense"],
      ["slow", id],
    ] as const)
      await expect(use.app.t.mutation(internal.manager.restart, { name, runId })).rejects.toThrow(
        `Cannot restart run "${runId}": there is no such run`,
      );
  });

  test("[S119] it tells the hash of the plan that the run started under", async () => {
    const id = await use.app.start("leaf", { n: 1 });
    const status = await use.app.status("leaf", id);
    expect(status?.plan).toMatch(/^[0-9a-f]{16}$/);
    expect(status?.isOutdated).toBe(false);
    await ofOlderPlan(id);
    expect(await use.app.status("leaf", id)).toMatchObject({ plan: "older", isOutdated: true });
  });
});

/** As if the run had started before the last deploy. */
async function ofOlderPlan(runId: string): Promise<void> {
  await use.app.inComponent(async (ctx) => {
    await ctx.db.patch("runs", runId as Id<"runs">, { plan: "older" });
  });
}

describe("steps", () => {
  test("[S97] the timeline in order, with times, attempts, durations and results", async () => {
    const id = await use.app.start("chain", {});
    await use.app.drive();
    const entries = await timeline("chain", id);
    expect(told(entries)).toEqual([
      "a completed",
      "b completed",
      "c completed",
      "d completed",
      "finalize completed",
    ]);
    expect(entries[0]).toMatchObject({
      kind: "action",
      attempt: 1,
      generation: 1,
      output: `${id}/a`,
      durationMs: entries[0]!.endedAt! - entries[0]!.startedAt!,
    });
    const flaky = await use.app.start("flaky", { goodAttempt: 3 });
    await use.app.drive();
    const [attempt] = await timeline("flaky", flaky);
    expect(attempt).toMatchObject({ attempt: 3, errors: [{ attempt: 1 }, { attempt: 2 }] });
    expect(attempt?.durationMs).toBeGreaterThan(1_000);
    const [first, second] = attempt?.retries ?? [];
    expect([first?.attempt, second?.attempt]).toEqual([1, 2]);
    expect(first?.nextAt).toBeGreaterThan(first?.failedAt ?? Infinity);
    expect(second?.failedAt).toBeGreaterThanOrEqual(first?.nextAt ?? Infinity);
    expect(attempt?.endedAt).toBeGreaterThanOrEqual(second?.nextAt ?? Infinity);
  });

  test("[S97] of a sensitive node no result is shown, and nothing of it is among scheduled arguments", async () => {
    const id = await use.app.start("secretive", {});
    await use.app.drive();
    expect(await use.app.status("secretive", id)).toMatchObject({ output: 6 });
    const entries = await timeline("secretive", id);
    expect(entries).toMatchObject([
      { node: "token", state: "completed", isSensitive: true },
      { node: "used", state: "completed", isSensitive: true },
      { node: "open", state: "completed", output: 6 },
    ]);
    expect(entries.map((entry) => "output" in entry)).toEqual([false, false, true]);
    const jobs = await use.app.jobs();
    expect(JSON.stringify(jobs)).not.toContain("s3cret");
    expect(JSON.stringify(await use.app.tree(id))).not.toContain("s3cret");
  });

  test("[S63] after a failure the nodes that never ran are skipped", async () => {
    const id = await use.app.start("chain", { fails: true });
    await use.app.drive();
    expect(told(await timeline("chain", id))).toEqual([
      "a completed",
      "b completed",
      "c completed",
      "d failed",
      "finalize skipped",
    ]);
  });

  test("[S76] the nodes of the cases that were not chosen are skipped, as soon as one is chosen", async () => {
    const id = await use.app.start("routed", { n: 1 });
    await use.app.drive();
    expect(told(await timeline("routed", id))).toEqual([
      "doubled completed",
      "route completed",
      "route.big.x skipped",
      "route.big.y skipped",
      "route.small.z completed",
      "finalize completed",
    ]);
    const failed = await use.app.start("routed", { n: -1 });
    await use.app.drive();
    expect(told(await timeline("routed", failed))).toEqual([
      "doubled completed",
      "route failed",
      "route.big.x skipped",
      "route.big.y skipped",
      "route.small.z skipped",
      "finalize skipped",
    ]);
  });

  test("[S97] a branch takes as long as its case, and tells which that is", async () => {
    const id = await use.app.start("told", { iterations: 1 });
    await use.app.drive();
    const event = { name: "told", run: id, event: "answer", payload: { text: "one" } };
    await use.app.t.mutation(internal.manager.sendEvent, event);
    await use.app.advance(1_000);
    const steps = async () =>
      (await timeline("told", id)).filter(
        ({ node, state }) => node === "how" && state !== "skipped",
      );
    expect(await steps()).toMatchObject([{ state: "running", chosen: "quietly" }]);
    await use.app.drive();
    expect(await steps()).toMatchObject([
      { state: "completed", chosen: "quietly", durationMs: HOUR },
    ]);
  });

  test("[S76] while the run goes on nothing is skipped that may still come", async () => {
    const id = await use.app.start("told", { iterations: 1 });
    await use.app.drive();
    expect(told(await timeline("told", id))).toEqual(["ask running", "ask.answer waiting"]);
    await use.app.t.mutation(internal.manager.sendEvent, {
      name: "told",
      run: id,
      event: "answer",
      payload: { text: "one" },
    });
    expect(told(await timeline("told", id))).toEqual([
      "ask completed",
      "ask.answer completed",
      "ask.said completed",
      "how running",
      "how.loudly.shout skipped",
      "how.quietly.rest waiting",
    ]);
  });

  test("[S97] in a loop: each iteration; a node inside is skipped where no iteration came to it", async () => {
    const id = await use.app.start("counted", { to: 3, inAction: false });
    await use.app.drive();
    const entries = await timeline("counted", id);
    expect(told(entries)).toEqual(
      [
        "count completed",
        ...[1, 2, 3].flatMap(() => [
          "count.how completed",
          "count.how.mutation.m completed",
          "count.next completed",
        ]),
        "finalize completed",
        "count.how.action.a skipped",
      ].sort((one, other) => order(one) - order(other)),
    );
    expect(
      entries.filter(({ node }) => node === "count.next").map(({ iterations }) => iterations),
    ).toEqual([[1], [2], [3]]);
    expect(entries[0]).toMatchObject({ iteration: 3 });
    // The case that no iteration has chosen is told of once.
    expect(entries.filter(({ state }) => state === "skipped")).toHaveLength(1);
  });

  test.each([1, 2, 3])(
    "[S97] in pages of %i it is the same, with the same nodes skipped",
    { tags: ["large"] },
    async (size) => {
      for (const [name, input] of [
        ["chain", { fails: true }],
        ["routed", { n: 1 }],
        ["counted", { to: 3 }],
      ] as const) {
        const id = await use.app.start(name, input);
        await use.app.drive();
        expect(told(await timeline(name, id, size))).toEqual(told(await timeline(name, id)));
      }
    },
  );

  test(
    "[S97] results that are large together make pages that are shorter, and none fails",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("hoards", {});
      await use.app.drive();
      const first = await page("hoards", id);
      expect(first.isDone).toBe(false);
      expect(first.page.length).toBeGreaterThan(0);
      expect(await timeline("hoards", id)).toHaveLength(8);
    },
  );

  test("a cursor that is none is refused; an unknown run has no timeline", async () => {
    const id = await use.app.start("leaf", { n: 1 });
    await expect(page("leaf", id, 10, "nonsense")).rejects.toThrow(/cursor is "nonsense"/);
    expect(await page("leaf", "nonsense")).toEqual({ page: [], isDone: true, continueCursor: "" });
  });
});

/** Sorting is stable: only what is skipped inside the loop moves to before the finalize. */
function order(entry: string): number {
  return entry.startsWith("finalize") ? 2 : entry.endsWith("skipped") ? 1 : 0;
}

describe("list", () => {
  test("[S98] tells the beginning of the input of a run that has neither a key nor tags", async () => {
    await use.app.start("leaf", { n: 1 }, "with a key");
    await use.app.start("sleepy", { ms: 1, text: "x".repeat(118) + "😀".repeat(50) });
    await use.app.start("leaf", { n: 2 });
    const [short, long, none] = (await list({})).page.map(({ input }) => input);
    expect(JSON.parse(short ?? "")).toEqual({ n: 2, ms: 0, fails: false });
    expect(long).toMatch(/^{.*x+/);
    expect(long!.length).toBeLessThanOrEqual(120);
    expect(none).toBeUndefined();
  });

  test("[S98] the newest first, by workflow and state; children only where they are asked for", async () => {
    const one = await use.app.start("leaf", { n: 1 });
    await use.app.advance(1);
    const two = await use.app.start("list", leaves(0));
    await use.app.advance(1);
    const three = await use.app.start("leaf", { n: 3, fails: true });
    await use.app.drive();
    expect(await ids({})).toEqual([three, two, one]);
    expect(await ids({ workflow: "leaf" })).toEqual([three, one]);
    expect(await ids({ state: "completed" })).toEqual([two, one]);
    expect(await ids({ workflow: "leaf", state: "failed" })).toEqual([three]);
    expect(await ids({ workflow: "slow" })).toEqual([]);
    const withChildren = (await list({ workflow: "leaf", children: true })).page;
    expect(withChildren).toHaveLength(3);
    expect(withChildren[1]).toMatchObject({ parentRunId: two, index: 0 });
    expect((await list({})).page[0]).toMatchObject({
      workflow: "leaf",
      state: "failed",
      error: { message: "leaf 3 fails" },
      generation: 1,
      paused: false,
      startedAt: expect.any(Number),
      endedAt: expect.any(Number),
    });
  });

  test("[S98] the children of a run, in their order", async () => {
    const id = await use.app.start("record", { n: 1 });
    await use.app.drive();
    const children = (await list({ parent: id })).page;
    expect(children.map(({ childKey, index }) => [childKey, index])).toEqual([
      ["left", 0],
      ["right", 1],
    ]);
    const page = { numItems: 10, cursor: null };
    const of = { name: "record", runId: id, page };
    const { page: entries } = (await use.app.t.query(
      internal.manager.steps,
      of,
    )) as unknown as Page<TimelineEntry>;
    const parents = entries.flatMap((entry) => entry.id ?? []);
    expect(parents).toHaveLength(1);
    expect(await ids({ parent: parents[0] })).toEqual(children.map(({ runId }) => runId));
    expect(await ids({ parent: parents[0], state: "failed" })).toEqual([]);
    expect(await ids({ parent: "nonsense" })).toEqual([]);
    expect(await ids({ parent: id, state: "failed" })).toEqual([]);
  });

  test("[S98] by the node that runs are at", async () => {
    const slow = await use.app.start("patient", leaves(0));
    await use.app.advance(61_000);
    const slower = await use.app.start("patient", leaves(0));
    await use.app.advance(1_000);
    expect(await ids({ workflow: "patient", node: "rest" })).toEqual([slow]);
    expect(await ids({ workflow: "patient", node: "slow" })).toEqual([slower]);
    expect(await ids({ workflow: "patient", node: "slow", state: "completed" })).toEqual([]);
    const inLoop = await use.app.start("told", { iterations: 2 });
    await use.app.advance(1_000);
    expect(await ids({ workflow: "told", node: "ask" })).toEqual([inLoop]);
    expect(await ids({ workflow: "told", node: "ask.answer" })).toEqual([inLoop]);
    // A branch has no record of its own while a case runs.
    expect(await ids({ workflow: "told", node: "how" })).toEqual([]);
    for (const text of ["one", "two"])
      await use.app.t.mutation(internal.manager.sendEvent, {
        name: "told",
        run: inLoop,
        event: "answer",
        payload: { text },
      });
    expect(await ids({ workflow: "told", node: "how" })).toEqual([inLoop]);
    expect(await ids({ workflow: "told", node: "how.quietly.rest" })).toEqual([inLoop]);
  });

  test("[S98] children that are at a node too, where they are asked for", async () => {
    const top = await use.app.start("leaf", { n: 1, ms: 1_000 });
    await use.app.start("list", leaves(1_000));
    await use.app.advance(500);
    expect(await ids({ workflow: "leaf", node: "work" })).toEqual([top]);
    expect(await ids({ workflow: "leaf", node: "work", children: true })).toHaveLength(2);
  });

  test("[S98] a parent is at its node from its handler to its finalize", async () => {
    const id = await use.app.start("handled", { n: 1 });
    await use.app.advance(1);
    expect(await ids({ workflow: "handled", node: "all" })).toEqual([id]);
    await use.app.drive();
    expect(await ids({ workflow: "handled", node: "all" })).toEqual([]);
  });

  test("[S98] by when they were created, and by how their keys begin", async () => {
    const begin = Date.now();
    const older = await use.app.start("leaf", { n: 1 }, "box 2");
    await use.app.advance(1_000);
    const newer = await use.app.start("leaf", { n: 2 }, "box 1");
    await use.app.start("leaf", { n: 3 }, "bag");
    for (const filter of [{}, { workflow: "leaf" }, { state: "completed" }, { children: true }]) {
      expect(await ids({ ...filter, since: begin, until: begin + 500 })).toEqual([older]);
      expect(await ids({ ...filter, until: begin })).toEqual([]);
    }
    expect(await ids({ workflow: "leaf", key: "box" })).toEqual([newer, older]);
    expect(await ids({ workflow: "leaf", key: "box 1" })).toEqual([newer]);
    expect(await ids({ workflow: "leaf", key: "box", until: begin + 500 })).toEqual([older]);
    expect(await ids({ workflow: "chain", key: "box" })).toEqual([]);
  });

  test("[S98] a key may go on with any character", async () => {
    const last = "\u{10ffff}";
    const keys = ["k", `k${last}`, `k${last}${last}z`, "l", `${last}${last}`];
    const [k, more, most, , other] = await keys.reduce<Promise<string[]>>(
      async (before, key, n) => [...(await before), await use.app.start("leaf", { n }, key)],
      Promise.resolve([]),
    );
    expect(await ids({ workflow: "leaf", key: "k" })).toEqual([k, more, most]);
    expect(await ids({ workflow: "leaf", key: `k${last}` })).toEqual([more, most]);
    expect(await ids({ workflow: "leaf", key: last })).toEqual([other]);
  });

  test("[S98] in pages", async () => {
    const all: string[] = [];
    for (let n = 0; n < 7; n++) {
      all.unshift(await use.app.start("leaf", { n }));
      await use.app.advance(1);
    }
    const found: string[] = [];
    let cursor: string | null = null;
    for (let pages = 1; ; pages++) {
      const next: Page<ListedRun> = await list({ workflow: "leaf" }, 3, cursor);
      found.push(...next.page.map(({ runId }) => runId));
      if (next.isDone) {
        expect(pages).toBe(3);
        break;
      }
      cursor = next.continueCursor;
    }
    expect(found).toEqual(all);
  });

  test(
    "[S98] a page reads a bounded number of runs, however few of them fit",
    { tags: ["large"] },
    async () => {
      const { plan } = workflows.leaf;
      await use.app.inComponent(async (ctx) => {
        const run = { workflow: "leaf", entry: "", index: 0, startedAt: 0, endedAt: 0 };
        for (let n = 0; n < 1_500; n++)
          await ctx.db.insert("runs", {
            ...run,
            state: "completed",
            plan: n === 0 ? "older" : plan,
          });
      });
      use.app.counter.clear();
      const filter = { workflow: "leaf", outdated: true };
      const args = { filter, page: { numItems: 10, cursor: null } };
      const first = (await use.app.t.query(
        internal.manager.list,
        args,
      )) as unknown as Page<ListedRun>;
      expect(first).toMatchObject({ page: [], isDone: false });
      expect(use.app.counter.totals().documentsRead).toBeLessThanOrEqual(1_001);
      const second = await list(filter, 10, first.continueCursor);
      expect(second.page).toHaveLength(1);
    },
  );

  test("[S119] it finds runs of older plans", async () => {
    const older = await use.app.start("leaf", { n: 1 });
    const newer = await use.app.start("leaf", { n: 2 });
    await ofOlderPlan(older);
    expect(await ids({ workflow: "leaf", outdated: true })).toEqual([older]);
    expect(await ids({ workflow: "leaf", outdated: false })).toHaveLength(2);
    expect((await list({ workflow: "leaf" })).page).toMatchObject([
      { runId: newer },
      { runId: older, plan: "older" },
    ]);
  });

  test("what does not go together, or is no node, is refused", async () => {
    await expect(list({ node: "a" })).rejects.toThrow(/needs a workflow/);
    await expect(list({ outdated: true })).rejects.toThrow(/needs a workflow/);
    await expect(list({ key: "a" })).rejects.toThrow(/needs a workflow/);
    for (const two of [
      { node: "a", parent: "x" },
      { node: "a", key: "x" },
    ])
      await expect(list({ workflow: "chain", ...two })).rejects.toThrow(/not by two of them/);
    await expect(list({ workflow: "told", node: "ask.anser" })).rejects.toThrow(
      'Workflow "told" has no node "ask.anser". Did you mean "ask.answer"?',
    );
  });
});
