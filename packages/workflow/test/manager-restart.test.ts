/** @module-tag large */
import { describe, expect, test } from "vitest";
import type { Page, TimelineEntry } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";
import { clutter } from "./tampering.js";

const use = useTestApp();
const HOUR = 60 * 60_000;

async function restart(name: string, runId: string, from?: string, input?: unknown): Promise<void> {
  const options = { ...(from ? { from } : {}), ...(input === undefined ? {} : { input }) };
  await use.app.t.mutation(internal.manager.restart, { name, runId, ...options });
}

async function note(text: string): Promise<void> {
  await use.app.t.mutation(internal.app.log, { text });
}

/** A run of `chain` that has failed at its last step, which is mended now. */
async function failedChain(): Promise<string> {
  const id = await use.app.t.mutation(internal.manager.start, {
    name: "chain",
    input: { fails: true },
    context: "c",
  });
  await use.app.drive();
  expect(await use.app.status("chain", id)).toMatchObject({ state: "failed" });
  await note("mended");
  return id;
}

async function timeline(name: string, runId: string): Promise<TimelineEntry[]> {
  const page = { numItems: 100, cursor: null };
  const found = (await use.app.t.query(internal.manager.steps, {
    name,
    runId,
    page,
  })) as unknown as Page<TimelineEntry>;
  return found.page;
}

/** What the log says since a line. */
async function logAfter(line: string): Promise<string[]> {
  const log = await use.app.log();
  return log.slice(log.lastIndexOf(line) + 1).filter((text) => !text.startsWith("{"));
}

describe("restart", () => {
  test("[S102] whole: the same input, a new generation, everything is done again with new idempotency keys", async () => {
    const id = await failedChain();
    await restart("chain", id);
    expect(await use.app.status("chain", id)).toMatchObject({ state: "running", generation: 2 });
    await use.app.drive();
    expect(await use.app.status("chain", id)).toMatchObject({
      state: "completed",
      generation: 2,
      output: `b after ${id}/a~2`,
    });
    expect(await logAfter("mended")).toEqual(["a", "b", "c", "d"]);
    const entries = await timeline("chain", id);
    expect(entries.map(({ node, generation }) => `${node} ${generation}`)).toEqual([
      "a 2",
      "b 2",
      "c 2",
      "d 2",
      "finalize 2",
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S102] from a node: what does not depend on it is kept, what does is done again", async () => {
    const id = await failedChain();
    await restart("chain", id, "b");
    await use.app.drive();
    expect(await use.app.status("chain", id)).toMatchObject({
      state: "completed",
      output: `b after ${id}/a`,
    });
    // c reads the input alone.
    expect(await logAfter("mended")).toEqual(["b", "d"]);
    const entries = await timeline("chain", id);
    expect(
      entries.map(({ node, generation, state }) => `${node} ${generation} ${state}`).sort(),
    ).toEqual([
      "a 1 completed",
      "b 2 completed",
      "c 1 completed",
      "d 2 completed",
      "finalize 2 completed",
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S102] with the records of its steps goes what would have undone them", async () => {
    const undos = async () =>
      await use.app.inComponent(async (ctx) => {
        const rows = await ctx.db.query("undos").collect();
        return await Promise.all(
          rows.map(async ({ step }) => (await ctx.db.get("steps", step))?.stage),
        );
      });
    const id = await use.app.start("saga", { fail: "no" });
    await use.app.drive();
    const before = await undos();
    expect(before.length).toBeGreaterThan(0);
    await restart("saga", id);
    await use.app.drive();
    expect(await use.app.status("saga", id)).toMatchObject({ state: "completed", generation: 2 });
    expect(await undos()).toEqual(before);
  });

  test("[S96] the status tells how a run was steered, and when: the newest 20 times", async () => {
    const id = await failedChain();
    expect(await use.app.status("chain", id)).not.toHaveProperty("steered");
    await restart("chain", id, "b");
    for (let n = 0; n < 10; n++) {
      await use.app.t.mutation(internal.manager.pause, { runId: id });
      await use.app.t.mutation(internal.manager.resume, { runId: id });
    }
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await use.app.drive();
    await restart("chain", id);
    const { steered = [] } = (await use.app.status("chain", id)) ?? {};
    expect(steered).toHaveLength(20);
    expect(steered.slice(-4)).toEqual([
      { what: "paused", at: expect.any(Number) },
      { what: "resumed", at: expect.any(Number) },
      { what: "canceled", at: expect.any(Number) },
      { what: "restarted", at: expect.any(Number) },
    ]);
    await use.app.drive();
  });

  test("[S102] from the node that failed only that and what follows is done again", async () => {
    const id = await failedChain();
    await restart("chain", id, "d");
    await use.app.drive();
    expect(await use.app.status("chain", id)).toMatchObject({ state: "completed" });
    expect(await logAfter("mended")).toEqual(["d"]);
  });

  test("[S102] from a node before the one that failed what has no result is done too", async () => {
    const id = await failedChain();
    await restart("chain", id, "c");
    await use.app.drive();
    expect(await logAfter("mended")).toEqual(["c", "d"]);
  });

  test("[S102] with another input: everything is done again with it, and it is the run's from then on", async () => {
    const id = await use.app.start("chain", { fails: true });
    await use.app.drive();
    const before = (await use.app.log()).length;
    await expect(restart("chain", id, undefined, { fails: "no" })).rejects.toThrow(
      /The input of workflow "chain".*input\.fails/s,
    );
    expect(await use.app.status("chain", id)).toMatchObject({ state: "failed", generation: 1 });
    await restart("chain", id, undefined, { fails: false });
    await use.app.drive();
    expect(await use.app.status("chain", id)).toMatchObject({ state: "completed", generation: 2 });
    expect((await use.app.log()).slice(before)).toEqual(["a", "b", "c", "d"]);
    await restart("chain", id, "c");
    await use.app.drive();
    expect(await use.app.status("chain", id)).toMatchObject({ state: "completed", generation: 3 });
    await use.app.expectNothingLeft();
  });

  test.each([
    ["b", "completed", ["b", "c", "d"]],
    ["c", "completed", ["c", "d"]],
    // c keeps what it made of the old input, and d fails by that.
    ["d", "failed", []],
  ])(
    "[S102] with another input from %s: what is before keeps its result, and each node from there that reads the input is done again",
    async (from, state, done) => {
      const id = await use.app.start("chain", { fails: true });
      await use.app.drive();
      const before = (await use.app.log()).length;
      await restart("chain", id, from, { fails: false });
      await use.app.drive();
      expect(await use.app.status("chain", id)).toMatchObject({ state });
      expect((await use.app.log()).slice(before)).toEqual(done);
    },
  );

  test("[S102] a large input takes the place of a small one, and the other way round", async () => {
    const id = await use.app.start("bulkOf", { text: "small" });
    await use.app.drive();
    for (const text of ["x".repeat(500_000), "y".repeat(600_000), "small again"]) {
      await restart("bulkOf", id, undefined, { text });
      await use.app.drive();
      const output = text.length;
      expect(await use.app.status("bulkOf", id)).toMatchObject({ state: "completed", output });
      const inputs = await use.app.inComponent(async (ctx) => {
        const records = await ctx.db.query("steps").collect();
        return records.filter(({ kind }) => kind === "input").length;
      });
      expect(inputs).toBe(text.length > 1_000 ? 1 : 0);
    }
    await use.app.expectNothingLeft();
  });

  test("[S102] a run that is complete, again and again; each generation has its own records", async () => {
    const id = await failedChain();
    for (const generation of [2, 3, 4]) {
      await restart("chain", id, generation === 3 ? "a" : "d");
      await use.app.drive();
      expect(await use.app.status("chain", id)).toMatchObject({ state: "completed", generation });
    }
    // Generation 3 began at a, on which b and d depend.
    expect(await logAfter("mended")).toEqual(["d", "a", "b", "d", "d"]);
    expect(await timeline("chain", id)).toHaveLength(5);
  });

  test("[S101] [S102] onComplete is called once for each generation", async () => {
    const id = await failedChain();
    await restart("chain", id, "d");
    await use.app.drive();
    const calls = (await use.app.log()).filter((line) => line.startsWith("{"));
    expect(calls.map((line) => (JSON.parse(line) as { seen: string }).seen)).toEqual([
      "failed",
      "completed",
    ]);
    expect(await use.app.status("chain", id)).not.toHaveProperty("onCompleteError");
  });

  test("[S102] a node of any kind that keeps its result is skipped", async () => {
    const { runId, ...status } = await use.app.run("varied", { n: 3 });
    const all = await use.app.tree(runId);
    await note("mended");
    await restart("varied", runId, "first");
    await use.app.drive();
    expect(await use.app.status("varied", runId)).toMatchObject({
      state: "completed",
      output: (status as { output?: unknown }).output,
    });
    expect(await logAfter("mended")).toEqual(["first"]);
    const ids = (runs: typeof all) => runs.map((run) => run.runId);
    expect(ids(await use.app.tree(runId))).toEqual(ids(all));
    const again = (await timeline("varied", runId)).filter(({ generation }) => generation === 2);
    expect(again.map(({ node }) => node)).toEqual(["first", "finalize"]);
    expect((await timeline("varied", runId)).filter(({ state }) => state === "skipped")).toEqual([
      { node: "route.down.rest", state: "skipped", errors: [] },
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S102] of a run that goes on, or is being undone, it is refused", async () => {
    const id = await use.app.start("slow", { ms: 1_000 });
    await use.app.advance(10);
    await expect(restart("slow", id)).rejects.toThrow(/Cannot restart run ".*": it goes on/);
    const saga = await use.app.start("saga", { fail: "ship" });
    await use.app.drive(async () => (await use.app.status("saga", saga))?.state === "compensating");
    await expect(restart("saga", saga)).rejects.toThrow(/it goes on/);
  });

  test("[S102] of a child it is refused, and from a node that is none", async () => {
    const id = await use.app.start("record", { n: 1 });
    await use.app.drive();
    const [, child] = await use.app.tree(id);
    await expect(restart("leaf", child!.runId)).rejects.toThrow(/child of another run/);
    await expect(restart("record", id, "pairs")).rejects.toThrow(/Did you mean "pair"/);
    const routed = await use.app.start("routed", { n: 1 });
    await use.app.drive();
    await expect(restart("routed", routed, "route.small.z")).rejects.toThrow(/on its top level/);
  });

  test("[S102] late reports of the generation before change nothing, and give their slots back", async () => {
    const id = await use.app.start("slow", { ms: 5_000 });
    await use.app.advance(1_000);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await restart("slow", id);
    await use.app.advance(1_000);
    expect(await use.app.slotsHeld()).toBe(2);
    // The first generation's action reports at 5 s, the second's at 6 s.
    await use.app.advance(3_500);
    expect(await use.app.slotsHeld()).toBe(1);
    expect(await use.app.status("slow", id)).toMatchObject({
      state: "running",
      active: [{ node: "wait", attempt: 1 }],
    });
    await use.app.drive();
    expect(await use.app.status("slow", id)).toMatchObject({ state: "completed", generation: 2 });
    await use.app.expectNothingLeft();
  });

  test("[S102] after a compensation what was undone is done again, wherever it is to begin", async () => {
    const id = await use.app.start("booked", {});
    await use.app.drive();
    expect(await use.app.log()).toEqual(["look", "book", "unbook"]);
    const entries = await timeline("booked", id);
    expect(entries.find(({ node }) => node === "how.well.book")).toMatchObject({ isUndone: true });
    await note("mended");
    await restart("booked", id, "pay");
    await use.app.drive();
    expect(await use.app.status("booked", id)).toMatchObject({ state: "completed" });
    // Nothing that `look` did was undone, and it reads nothing.
    expect(await logAfter("mended")).toEqual(["book"]);
    await use.app.expectNothingLeft();
  });

  test(
    "[S93] [S102] a parent whose children were undone starts them again",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("sagaAbove", { children: 2 });
      await use.app.drive();
      const before = (await use.app.tree(id)).length;
      await restart("sagaAbove", id, "fails");
      await use.app.drive();
      expect(await use.app.tree(id)).toHaveLength(before);
      const charged = (await use.app.log()).filter((line) => line === "charge");
      expect(charged).toHaveLength(4);
    },
  );

  test("[S102] children of what is done again are removed, and started anew", async () => {
    const id = await use.app.start("list", { leaves: [{ n: 1 }, { n: 2, fails: true }] });
    await use.app.drive();
    expect(await use.app.status("list", id)).toMatchObject({ state: "failed" });
    const before = (await use.app.tree(id)).map(({ runId }) => runId);
    await restart("list", id);
    await use.app.drive();
    const after = (await use.app.tree(id)).map(({ runId }) => runId);
    expect(after).toHaveLength(3);
    expect(after.filter((runId) => before.includes(runId))).toEqual([id]);
    await use.app.expectNothingLeft();
  });

  test(
    "[S102] in pages, where there is much to remove: pending until then, and it can be canceled",
    { tags: ["large"] },
    async () => {
      const id = await failedChain();
      await clutter(use.app, id);
      await restart("chain", id, "b");
      expect(await use.app.status("chain", id)).toMatchObject({ state: "pending", generation: 2 });
      await expect(restart("chain", id)).rejects.toThrow(/it goes on/);
      await use.app.drive();
      expect(await use.app.status("chain", id)).toMatchObject({ state: "completed" });
      expect(await timeline("chain", id)).toHaveLength(5);
      await clutter(use.app, id);
      await restart("chain", id, "b");
      await use.app.t.mutation(internal.runs.cancel, { runId: id });
      await use.app.drive();
      expect(await use.app.status("chain", id)).toMatchObject({ state: "canceled", generation: 3 });
      // What was removed already is done again, though it be before the node.
      await restart("chain", id, "d");
      await use.app.drive();
      expect(await use.app.status("chain", id)).toMatchObject({
        state: "completed",
        generation: 4,
      });
      expect(await logAfter("mended")).toEqual(["b", "d", "b", "d"]);
      await use.app.expectNothingLeft();
    },
  );

  test.each(["back", undefined])(
    "[S83] [S102] canceled before all pages are through (from %s): nothing below stays half removed, and what is kept is undone",
    { tags: ["large"] },
    async (from) => {
      const id = await use.app.start("travels", {});
      const below = async (index: number) =>
        (await use.app.tree(id)).findLast((run) => run.parentRunId === id && run.index === index)!;
      for (const index of [0, 0, 1]) {
        await use.app.drive();
        const run = (await below(index)).runId;
        const go = { name: "books", run, event: "go", payload: "now" };
        await use.app.t.mutation(internal.manager.sendEvent, go);
      }
      await use.app.drive();
      expect(await use.app.status("travels", id)).toMatchObject({ state: "completed" });
      // The first page ends inside the last child: its event and its undo are gone by then.
      await clutter(use.app, (await below(1)).runId, "go");
      await restart("travels", id, from);
      expect(await use.app.status("travels", id)).toMatchObject({ state: "pending" });
      expect((await below(1)).steps.map(({ stage }) => stage)).not.toContain("book");
      await use.app.t.mutation(internal.runs.cancel, { runId: id });
      await use.app.drive();
      expect(await use.app.status("travels", id)).toMatchObject({ state: "canceled" });
      const isKept = from !== undefined;
      expect(await logAfter("booked 3")).toEqual(isKept ? ["refunded", "canceled 1"] : []);
      const stages = (await use.app.tree(id)).map(({ steps }) => steps.map(({ stage }) => stage));
      const child = ["go", "book", "book.compensate"];
      expect(stages).toEqual(isKept ? [["out", "pay", "pay.compensate"], child] : [[]]);
      const rest = await use.app.inComponent(async (ctx) => ({
        steps: (await ctx.db.query("steps").collect()).length,
        undos: (await ctx.db.query("undos").collect()).length,
        inbox: (await ctx.db.query("inbox").collect()).length,
      }));
      expect(rest).toEqual({ steps: isKept ? 6 : 0, undos: 0, inbox: 0 });
      await use.app.expectNothingLeft();
    },
  );

  test("[S102] events that were not taken are kept; those that were are part of what is kept", async () => {
    const id = await use.app.start("told", { iterations: 1 });
    const send = async (text: string) =>
      await use.app.t.mutation(internal.manager.sendEvent, {
        name: "told",
        run: id,
        event: "answer",
        payload: { text },
      });
    await send("one");
    await use.app.drive(async () => (await use.app.steps(id)).includes("how.quietly.rest waiting"));
    await send("two");
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await restart("told", id, "how");
    await use.app.drive();
    expect(await use.app.status("told", id)).toMatchObject({
      output: { ask: "one", last: { text: "two" } },
    });
  });

  test("[S41] [S102] the time that the run may take begins anew", async () => {
    const id = await use.app.start("tooLong", { ms: 2 * HOUR });
    await use.app.drive();
    await restart("tooLong", id);
    const begun = Date.now();
    await use.app.drive();
    expect(await use.app.status("tooLong", id)).toMatchObject({
      state: "timedOut",
      startedAt: begun,
      endedAt: begun + HOUR,
    });
  });
});
