import { describe, expect, test } from "vitest";
import { isOf } from "./component.js";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const HOUR = 60 * 60_000;

async function start(name: string, input: unknown, options: Record<string, unknown> = {}) {
  return await use.app.t.mutation(internal.manager.start, { name, input, ...options });
}

/** What `onComplete` was called with, in the order of the calls. */
async function callbacks(): Promise<unknown[]> {
  const log = await use.app.log();
  return log.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as unknown);
}

async function runsStored(): Promise<number> {
  return await use.app.inComponent(async (ctx) => (await ctx.db.query("runs").collect()).length);
}

describe("key", () => {
  test("[S99] one that exists gives that run, in whatever state, and starts nothing", async () => {
    const id = await start("flaky", { goodAttempt: 1 }, { key: "k" });
    expect(await start("flaky", { goodAttempt: 2 }, { key: "k" })).toBe(id);
    await use.app.drive();
    expect(await use.app.status("flaky", id)).toMatchObject({ state: "completed", key: "k" });
    expect(await start("flaky", { goodAttempt: 1 }, { key: "k" })).toBe(id);
    expect(await runsStored()).toBe(1);
    await use.app.expectNothingLeft();
  });

  test("[S99] of two at once, one; another workflow's key is another", async () => {
    const [one, two] = await Promise.all([
      start("flaky", { goodAttempt: 1 }, { key: "k" }),
      start("flaky", { goodAttempt: 1 }, { key: "k" }),
    ]);
    expect(one).toBe(two);
    const args = { name: "leaf", input: { n: 1 }, key: "k" };
    const twice = await use.app.t.mutation(internal.manager.startTwice, args);
    expect(new Set(twice).size).toBe(1);
    expect(twice[0]).not.toBe(one);
    expect(await runsStored()).toBe(2);
  });

  test("[S99] after cleanup the key starts a new run", async () => {
    const id = await start("flaky", { goodAttempt: 1 }, { key: "k" });
    await use.app.drive();
    await use.app.t.mutation(internal.manager.cleanup, { runId: id });
    const again = await start("flaky", { goodAttempt: 1 }, { key: "k" });
    expect(again).not.toBe(id);
    await use.app.drive();
    expect(await use.app.status("flaky", again)).toMatchObject({ state: "completed" });
  });
});

describe("runAt, runAfter", () => {
  test.each([
    ["runAfter in ms", { runAfter: HOUR }],
    ["runAfter as text", { runAfter: "1h" }],
  ])("[S100] %s: nothing runs before", async (_what, options) => {
    const begun = Date.now();
    const id = await start("leaf", { n: 1 }, options);
    expect(await use.app.status("leaf", id)).toMatchObject({
      state: "pending",
      active: [{ node: "work", state: "pending", dueAt: begun + HOUR }],
      stalled: false,
    });
    await use.app.advance(HOUR - 1);
    expect(use.app.counter.calls.filter(({ name }) => name.includes("leaf:"))).toEqual([]);
    await use.app.drive();
    expect(await use.app.status("leaf", id)).toMatchObject({
      state: "completed",
      startedAt: begun + HOUR,
      output: 10,
    });
    await use.app.expectNothingLeft();
  });

  test("[S100] runAt takes a date or ms; one that is past is now", async () => {
    const at = Date.now() + HOUR;
    const onDate = await use.app.t.mutation(internal.manager.startOnDate, {
      name: "leaf",
      input: { n: 1 },
      at,
    });
    const inMs = await start("leaf", { n: 2 }, { runAt: at });
    const now = await start("leaf", { n: 3 }, { runAt: Date.now() - HOUR });
    await use.app.advance(HOUR - 1);
    expect(await use.app.status("leaf", now)).toMatchObject({ state: "completed" });
    expect(await use.app.status("leaf", onDate)).toMatchObject({ state: "pending" });
    await use.app.drive();
    for (const id of [onDate, inMs])
      expect(await use.app.status("leaf", id)).toMatchObject({ state: "completed", startedAt: at });
  });

  test("[S100] a run that has not begun can be canceled: it never runs", async () => {
    const id = await start("leaf", { n: 1 }, { runAfter: HOUR });
    expect(await use.app.t.mutation(internal.runs.cancel, { runId: id })).toBe(true);
    await use.app.drive();
    expect(await use.app.status("leaf", id)).toMatchObject({ state: "canceled" });
    expect(use.app.counter.calls.filter(({ name }) => name.includes("leaf:"))).toEqual([]);
    await use.app.expectNothingLeft();
  });

  test("[S41] [S100] the time that a run may take counts from its beginning", async () => {
    const id = await start("tooLong", { ms: 50 * 60_000 }, { runAfter: HOUR });
    await use.app.drive();
    expect(await use.app.status("tooLong", id)).toMatchObject({ state: "completed" });
  });

  test.each([
    [{ runAt: 1, runAfter: 1 }, "both runAt and runAfter"],
    [{ runAt: Infinity }, "runAt is Infinity: give a date, or ms since the epoch"],
    [{ runAfter: "soon" }, "not a duration"],
    [{ runAfter: -1 }, "not a duration"],
  ])("[S100] %o is refused, and nothing is started", async (options, message) => {
    await expect(start("leaf", { n: 1 }, options)).rejects.toThrow(message);
    expect(await runsStored()).toBe(0);
  });
});

describe("onComplete", () => {
  test("[S101] is called once, with the context and the result, and sees the final state", async () => {
    await start("leaf", { n: 4 }, { context: { for: "Ada" } });
    await use.app.drive();
    expect(await callbacks()).toEqual([
      { context: { for: "Ada" }, result: { state: "completed", output: 40 }, seen: "completed" },
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S101] of a run that fails it is given the error", async () => {
    await start("leaf", { n: 4, fails: true }, { context: null });
    await use.app.drive();
    expect(await callbacks()).toMatchObject([
      { result: { state: "failed", error: { message: "leaf 4 fails" } }, seen: "failed" },
    ]);
  });

  test("[S101] if it throws the result stays, and the error is kept", async () => {
    const id = await start("leaf", { n: 4 }, { context: { throws: true } });
    await use.app.drive();
    expect(await use.app.status("leaf", id)).toMatchObject({
      state: "completed",
      output: 40,
      onCompleteError: expect.stringContaining("the callback fails"),
    });
    // What it wrote is rolled back, and it is not called again.
    expect(await callbacks()).toEqual([]);
    await use.app.expectNothingLeft();
  });

  test(
    "[S101] if it uses up its transaction, the next work still gets the slot",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 1 });
      const ids: string[] = [];
      for (const n of [1, 2])
        ids.push(await start("leaf", { n, ms: 100 }, { context: { throws: "at its limits" } }));
      await use.app.drive();
      for (const id of ids)
        expect(await use.app.status("leaf", id)).toMatchObject({
          state: "completed",
          onCompleteError: expect.any(String),
        });
      await use.app.expectNothingLeft();
    },
  );

  test.each([
    ["leaf", { n: 4 }],
    ["leaf", { n: 4, fails: true }],
    ["kinds", { n: 4 }],
    ["routed", { n: 1 }],
    ["unmoved", {}],
    ["list", { leaves: [{ n: 1 }, { n: 2 }] }],
    ["sleeper", { ms: 1_000 }],
  ])("[S101] [S104] it may remove the run: %s of %o", async (name, input) => {
    await start(name, input, { context: { removes: "it" } });
    await use.app.drive();
    expect(await callbacks()).toHaveLength(1);
    expect(await runsStored()).toBe(0);
    await use.app.expectNothingLeft();
  });

  test("[S101] [S102] it may restart the run", async () => {
    const id = await start("chain", { fails: true }, { context: { restarts: "chain" } });
    await use.app.drive(async () => {
      const status = await use.app.status("chain", id);
      return status?.generation === 3;
    });
    await use.app.t.mutation(internal.app.log, { text: "mended" });
    await use.app.drive();
    const status = await use.app.status("chain", id);
    expect(status).toMatchObject({ state: "completed" });
    expect(await callbacks()).toHaveLength(status!.generation);
    await use.app.expectNothingLeft();
  });

  test("[S89] of a run that is canceled it is called once, with `canceled`", async () => {
    const id = await start("slow", { ms: 5_000 }, { context: 1 });
    await use.app.advance(1_000);
    const cancel = async () => await use.app.t.mutation(internal.runs.cancel, { runId: id });
    expect([await cancel(), await cancel()]).toEqual([true, false]);
    await use.app.drive();
    expect(await callbacks()).toMatchObject([
      { context: 1, result: { state: "canceled", error: { kind: "canceled" } }, seen: "canceled" },
    ]);
  });

  test("[S95] [S101] of a run that is undone it is called when all is", async () => {
    const id = await start("saga", { fail: "no" }, { context: null });
    await use.app.drive(async () => (await use.app.steps(id)).includes("wait waiting"));
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    expect(await callbacks()).toEqual([]);
    await use.app.drive();
    const log = await use.app.log();
    expect(log.at(-1)).toContain('"state":"canceled"');
    expect(log.at(-2)).toContain("undo reserve");
  });
});

describe("startBatch", () => {
  test("gives the ids in the order of the inputs, and starts each", async () => {
    const inputs = Array.from({ length: 30 }, (_none, n) => ({ n }));
    const ids = await use.app.t.mutation(internal.manager.startBatch, { name: "leaf", inputs });
    await use.app.drive();
    const outputs = await Promise.all(ids.map((id) => use.app.status("leaf", id)));
    expect(outputs.map((status) => (status as { output: number }).output)).toEqual(
      inputs.map(({ n }) => n * 10),
    );
    await use.app.expectNothingLeft();
  });

  test(
    "is one call into the component where it fits, and several where it does not",
    { tags: ["large"] },
    async () => {
      const calls = () =>
        use.app.counter.calls.filter((call) => call.component !== "" && isOf("lib:start")(call))
          .length;
      const inputs = (count: number) => Array.from({ length: count }, (_none, n) => ({ n }));
      await use.app.t.mutation(internal.manager.startBatch, { name: "leaf", inputs: inputs(500) });
      expect(calls()).toBe(1);
      await use.app.t.mutation(internal.manager.startBatch, { name: "leaf", inputs: inputs(501) });
      expect(calls()).toBe(3);
      const large = Array.from({ length: 6 }, () => ({ value: "x".repeat(900_000) }));
      await use.app.t.action(internal.manager.startBatchInAction, { name: "echo", inputs: large });
      expect(calls()).toBe(5);
    },
  );

  test("600 runs whose first node is no action, from an action", { tags: ["large"] }, async () => {
    const inputs = Array.from({ length: 600 }, (_none, n) => ({ n }));
    const ids = await use.app.t.action(internal.manager.startBatchInAction, {
      name: "quick",
      inputs,
    });
    expect(new Set(ids).size).toBe(600);
    await use.app.drive();
    expect(await use.app.status("quick", ids[599]!)).toMatchObject({ output: 599 });
  });

  test("[S14] one input that does not fit: nothing is started, and the error says which", async () => {
    const inputs = [{ n: 1 }, { n: "two" }];
    const batch = use.app.t.mutation(internal.manager.startBatch, { name: "leaf", inputs });
    await expect(batch).rejects.toThrow(/Input 1 of the batch: .*input\.n/s);
    expect(await runsStored()).toBe(0);
  });

  test("[S99] keys: one that exists gives that run", async () => {
    const batch = async (...ns: number[]) =>
      await use.app.t.mutation(internal.manager.startBatch, {
        name: "leaf",
        inputs: ns.map((n) => ({ n })),
        keyed: true,
      });
    const first = await batch(1, 2, 1);
    expect(first[0]).toBe(first[2]);
    const second = await batch(2, 3);
    expect(second[0]).toBe(first[1]);
    expect(await runsStored()).toBe(3);
  });
});

test("from an action: start and status, each a transaction of its own", async () => {
  const args = { name: "leaf", input: { n: 1 } };
  const { runId, status } = await use.app.t.action(internal.manager.startInAction, args);
  expect(status).toMatchObject({ runId, workflow: "leaf", state: "running" });
  await use.app.drive();
  expect(await use.app.status("leaf", runId)).toMatchObject({ output: 10 });
});
