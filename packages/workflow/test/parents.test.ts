import { describe, expect, test } from "vitest";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const leaves = (...ms: number[]) => ({ leaves: ms.map((time, n) => ({ n, ms: time })) });

describe("children", () => {
  test("[S43] outputs come in the order given, whatever the order they end in", async () => {
    expect(await use.app.output("list", leaves(300, 100, 200, 0))).toEqual([0, 10, 20, 30]);
    await use.app.expectNothingLeft();
  });

  test("[S43] [S46] a record gives outputs under its keys; without handler and finalize, as { children }", async () => {
    expect(await use.app.output("record", { n: 1 })).toEqual({
      children: { left: 10, right: 20 },
    });
  });

  test("[S44] no children: finalize runs with an empty list", async () => {
    expect(await use.app.output("list", { leaves: [] })).toEqual([]);
    expect(await use.app.output("gathered", { n: 0 })).toEqual({ output: 0, children: [] });
  });

  test("[S45] the handler runs first, and on its retry no child has been started yet", async () => {
    const id = await use.app.start("handled", { n: 3 });
    await use.app.drive(async () => {
      const status = await use.app.status("handled", id);
      return status?.active[0]?.state === "waiting";
    });
    expect(await use.app.tree(id)).toHaveLength(1);
    await use.app.drive();
    expect(await use.app.status("handled", id)).toMatchObject({
      state: "completed",
      output: { n: 3, output: { count: 3 }, children: [0, 10, 20] },
    });
  });

  test("[S46] without a finalize the output is { output, children }", async () => {
    expect(await use.app.output("gathered", { n: 2 })).toEqual({ output: 2, children: [0, 10] });
  });

  test("[S47] a finalize may be an action, and its output is the node's", async () => {
    const id = await use.app.start("handled", { n: 1 });
    await use.app.drive();
    expect(await use.app.steps(id)).toEqual([
      "all.output completed",
      "all completed",
      "all.finalize completed",
      "finalize completed",
    ]);
  });

  test("[S53] at most `concurrency` run at once, and a waiting one starts as soon as one ends", async () => {
    const id = await use.app.start("twoAtOnce", leaves(100, 300, 100, 100, 100));
    const started = Date.now();
    let most = 0;
    await use.app.drive(async () => {
      const runs = await use.app.tree(id);
      most = Math.max(most, runs.slice(1).filter(({ state }) => state === "running").length);
      return runs[0]?.state === "completed";
    });
    expect(most).toBe(2);
    // 100+100+100 beside 300, then the last: no wave waits for its slowest.
    expect(Date.now() - started).toBe(400);
  });

  test("[S55] every run in a tree knows its parent", async () => {
    const id = await use.app.start("grandparent", leaves(0, 0));
    await use.app.drive();
    const runs = await use.app.tree(id);
    expect(runs).toHaveLength(6);
    const byId = new Map(runs.map((run) => [run.runId, run]));
    for (const run of runs.slice(1))
      expect(byId.get(run.parentRunId ?? "")?.steps.map(({ stage }) => stage)).toContain(
        run.parentStage,
      );
  });

  test("children of children, in their order", async () => {
    expect(await use.app.output("grandparent", leaves(50, 0))).toEqual([0, 10, 1000]);
  });

  test("status counts the children that are done", async () => {
    const id = await use.app.start("list", leaves(100, 200, 300));
    await use.app.pass(250);
    expect((await use.app.status("list", id))?.active).toMatchObject([
      { node: "all", state: "waiting", children: { done: 2, total: 3 } },
    ]);
  });

  test("more children than the pool has slots wait in its line, and all end", async () => {
    const many = { leaves: Array.from({ length: 150 }, (_none, n) => ({ n })) };
    const output = await use.app.output("list", many);
    expect(output).toEqual(many.leaves.map(({ n }) => n * 10));
    await use.app.expectNothingLeft();
  });
});

describe("a child that ends badly", () => {
  const failing = {
    leaves: [
      { n: 0, ms: 1_000 },
      { n: 1, ms: 100, fails: true },
      { n: 2, ms: 5_000 },
    ],
  };

  test("[S48] fails the parent at once, with the child's error and key as the cause; finalize does not run", async () => {
    const id = await use.app.start("list", failing);
    await use.app.pass(150);
    expect(await use.app.status("list", id)).toMatchObject({
      state: "failed",
      error: {
        kind: "childFailed",
        workflow: "list",
        node: "all",
        key: "1",
        cause: { kind: "thrown", message: "leaf 1 fails", workflow: "leaf", node: "work" },
      },
    });
    const runs = await use.app.tree(id);
    expect(runs.slice(1).map(({ state }) => state)).toEqual(["canceled", "failed", "canceled"]);
  });

  test("[S48] the error does not change when the others end, and nothing is left", async () => {
    const id = await use.app.start("list", failing);
    await use.app.pass(150);
    const before = await use.app.status("list", id);
    await use.app.drive();
    expect(await use.app.status("list", id)).toEqual(before);
    expect(await use.app.steps(id)).toEqual(["all failed"]);
    await use.app.expectNothingLeft();
  });

  test("[S54] a failure deep below shows the whole chain of causes", async () => {
    const error = await use.app.error("grandparent", { ...failing, ms: 10_000 });
    expect(error).toMatchObject({
      node: "lists",
      key: "first",
      cause: { workflow: "list", node: "all", key: "1", cause: { message: "leaf 1 fails" } },
    });
    await use.app.expectNothingLeft();
  });

  test("[S17] its invalid input fails that child, not the parent's function", async () => {
    expect(await use.app.error("badChild", {})).toMatchObject({
      kind: "childFailed",
      key: "1",
      cause: { kind: "invalidInput", workflow: "leaf", message: /input\.n/ },
    });
    await use.app.expectNothingLeft();
  });
});

describe("a parent that fails itself", () => {
  test("an error in children fails the node", async () => {
    expect(await use.app.error("childrenThrow", {})).toMatchObject({
      kind: "thrown",
      node: "all",
      message: "no children today",
    });
  });

  test("[S60] a finalize that fails fails the parent; the children stay completed", async () => {
    const id = await use.app.start("finalizeFails", {});
    await use.app.drive();
    expect(await use.app.status("finalizeFails", id)).toMatchObject({
      state: "failed",
      error: { node: "all.finalize", message: "cannot merge" },
    });
    expect(await use.app.steps(id)).toEqual(["all failed", "all.finalize failed"]);
    expect((await use.app.tree(id))[1]?.state).toBe("completed");
  });
});
