import { describe, expect, test } from "vitest";
import type { StepError } from "../src/index.js";
import { components, internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";
import { checkKeys } from "../src/runtime/nodes/children.js";

// Pools of up to 200: on the smallest class works would share actions, of which carriers.test.ts is.
const use = useTestApp({ deploymentClass: "s256" });
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
    await use.app.advance(250);
    expect((await use.app.status("list", id))?.active).toMatchObject([
      { node: "all", state: "waiting", children: { done: 2, total: 3 } },
    ]);
  });

  test.each([1, 40])(
    "[S43] [S53] many that end together, where a stale snapshot lacks %i of the newest commits: none is left waiting, the parent goes on once",
    { tags: ["large"] },
    async (lag) => {
      const app = new TestApp({ lag: () => lag });
      const many = { leaves: Array.from({ length: 100 }, (_none, n) => ({ n, ms: 50 })) };
      expect(await app.output("twoAtOnce", many)).toBe(100);
      expect(await app.output("list", many)).toEqual(many.leaves.map(({ n }) => n * 10));
      const joined = app.counter.calls.filter(({ name }) => name.endsWith("list:after"));
      expect(joined).toHaveLength(1);
      await app.expectNothingLeft();
    },
  );

  test(
    "more children than the pool has slots wait in its line, and all end",
    { tags: ["large"] },
    async () => {
      const many = { leaves: Array.from({ length: 150 }, (_none, n) => ({ n })) };
      const output = await use.app.output("list", many);
      expect(output).toEqual(many.leaves.map(({ n }) => n * 10));
      await use.app.expectNothingLeft();
    },
  );
});

describe("what a parent's children make", () => {
  test.each(["bulkyMutation", "bulkyAction"])(
    "[S56] [S58] %s: 12 MiB of outputs reach finalize; beyond, the parent fails with tooLarge, and does not hang",
    { tags: ["large"] },
    async (name) => {
      const bytes = 30_000;
      const most = Math.floor((12 << 20) / bytes);
      expect(await use.app.output(name, { count: most, bytes })).toBe(most);
      const error = await use.app.error(name, { count: most + 2, bytes });
      expect(error.kind).toBe("tooLarge");
      expect(error.message).toMatch(
        /421 children of "all" are more than .* 12582912 bytes.*its id/,
      );
      await use.app.expectNothingLeft();
    },
  );

  test.each(["bulkyMutation", "bulkyAction"])(
    "[S56] [S58] %s: outputs of a megabyte each",
    { tags: ["large"] },
    async (name) => {
      expect(await use.app.output(name, { count: 12, bytes: 999_990 })).toBe(12);
      for (const count of [13, 16, 24])
        expect(await use.app.error(name, { count, bytes: 999_990 })).toMatchObject({
          kind: "tooLarge",
        });
    },
  );

  test(
    "[S56] a finalize that gets 12 MiB of outputs can read besides, and the run goes on",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(internal.app.log, { text: "x".repeat(950_000) });
      const output = await use.app.output("bulkyReading", { count: 419, bytes: 30_000 });
      expect(output).toEqual([419, 950_000]);
    },
  );

  test(
    "[S58] [S60] one that reads more than is left then fails, as itself",
    { tags: ["large"] },
    async () => {
      for (let n = 0; n < 3; n++)
        await use.app.t.mutation(internal.app.log, { text: "x".repeat(950_000) });
      const error = await use.app.error("bulkyReading", { count: 419, bytes: 30_000 });
      expect(error).toMatchObject({ kind: "thrown", node: "all.finalize" });
      expect(error.message).toMatch(/Read too much data/);
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S58] thousands of children, whose runs take much beside their outputs",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 100 });
      const error = await use.app.error("bulkyMutation", { count: 4_000, bytes: 3_000 });
      expect(error.kind).toBe("tooLarge");
      expect(error.message).toMatch(/less where their runs/);
    },
  );

  test(
    "a run of more steps than a list may hold: the tree is truncated, and tells so",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("leaf", { n: 1 });
      await use.app.drive();
      await use.app.inComponent(async (ctx) => {
        const step = await ctx.db.query("steps").order("desc").first();
        if (step === null) throw new Error("There is no step");
        const { _id, _creationTime, ...fields } = step;
        for (let n = 0; n < 8_200; n++)
          await ctx.db.insert("steps", { ...fields, iterations: [n] });
      });
      const tree = await use.app.t.query(components.workflow.views.tree, { runId: id });
      expect(tree).toMatchObject({ truncated: true });
      expect(tree?.runs[0]?.steps).toHaveLength(8_192);
    },
  );

  test(
    "outputs that are too much to look at together: the tree is truncated, and tells so",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("bulkyUnread", { count: 20, bytes: 900_000 });
      await use.app.drive();
      expect(await use.app.status("bulkyUnread", id)).toMatchObject({ state: "completed" });
      const tree = await use.app.t.query(components.workflow.views.tree, { runId: id });
      expect(tree).toMatchObject({ truncated: true });
      expect(tree?.runs.length).toBeGreaterThan(10);
    },
  );

  test(
    "a parent after a step that wrote much inserts its children in a transaction of its own",
    { tags: ["large"] },
    async () => {
      expect(await use.app.output("heavyThenChildren", { bytes: 900_000 })).toBe(8);
    },
  );
});

describe("children that cannot be started", () => {
  test.each(["$x", "_x", "", "naïve"])(
    "the key %j, which no field can have, fails the parent before any child has run",
    async (key) => {
      const error = await use.app.error("keyed", { keys: ["a", key] });
      expect(error).toMatchObject({ kind: "invalidOutput", node: "all" });
      expect(error.message).toContain(`the key ${JSON.stringify(key)}`);
      expect(use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work"))).toEqual([]);
    },
  );

  test("a key that is no field is told with what has it: children, or the items of an each", () => {
    expect(() => checkKeys("all", [["_a", null]])).toThrow(
      /^The children of "all" have the key "_a": .* Give the children as a list$/,
    );
    expect(() => checkKeys("all", [["_a", null]], "items")).toThrow(
      /^The items of "all" have the key "_a": .* Give the items as a list$/,
    );
  });

  test("more keys than an object has fields fail the parent at once", async () => {
    const keys = Array.from({ length: 1_025 }, (_none, n) => `k${n}`);
    expect(await use.app.error("keyed", { keys })).toMatchObject({ kind: "tooLarge" });
  });

  test("a concurrency that is less than 1 fails the parent; it does not hang", async () => {
    const error = await use.app.error("noSeats", {});
    expect(error).toMatchObject({ node: "all", message: /concurrency of "all" is 0/ });
  });
});

describe("a child that fails", () => {
  test("[S54] a chain of causes longer than a document may be nested ends with the innermost", async () => {
    let error: StepError | undefined = await use.app.error("deep", { depth: 20 });
    const chain: StepError[] = [];
    for (; error !== undefined; error = error.cause) chain.push(error);
    expect(chain).toHaveLength(7);
    expect(chain.at(-1)).toMatchObject({ workflow: "leaf", message: "leaf 0 fails" });
    expect(chain[0]?.message.match(/Child 0 of/g)).toHaveLength(21);
    await use.app.expectNothingLeft();
  });

  const failing = {
    leaves: [
      { n: 0, ms: 1_000 },
      { n: 1, ms: 100, fails: true },
      { n: 2, ms: 5_000 },
    ],
  };

  test("[S48] fails the parent at once, with the child's error and key as the cause; finalize does not run", async () => {
    const id = await use.app.start("list", failing);
    await use.app.advance(150);
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
    await use.app.advance(150);
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
  test("an error in children fails the node, and stands in its record", async () => {
    const id = await use.app.start("childrenThrow", {});
    await use.app.drive();
    const error = { kind: "thrown", node: "all", message: "no children today" };
    expect(await use.app.status("childrenThrow", id)).toMatchObject({ state: "failed", error });
    const [top] = await use.app.tree(id);
    expect(top?.steps).toMatchObject([{ stage: "all", state: "failed", errors: [error] }]);
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

describe("parents", () => {
  test("[S43] [S44] a record of children, and one without any", async () => {
    expect(await use.app.output("recordOf", { names: ["b", "a"] })).toEqual({ b: 0, a: 10 });
    expect(await use.app.output("recordOf", { names: [] })).toEqual({});
    // A field that is undefined is no child.
    const { children } = (await use.app.output("record", { n: 2 })) as { children: object };
    expect(children).toEqual({ left: 20, right: 30, third: 40 });
  });

  test("[S47] an action that finalizes is tried again by its own settings, and nothing before it is", async () => {
    expect(await use.app.output("finalizedAgain", {})).toEqual({ attempt: 3, children: [0, 10] });
    expect(await use.app.log()).toEqual(["handler"]);
  });

  test("[S55] every run in a tree knows its root", async () => {
    const id = await use.app.start("grandparent", { leaves: [{ n: 1 }] });
    await use.app.drive();
    const roots = await use.app.inComponent(async (ctx) =>
      (await ctx.db.query("runs").collect())
        .filter(({ _id }) => _id !== id)
        .map(({ root }) => root),
    );
    expect(roots.length).toBeGreaterThan(1);
    expect(new Set(roots)).toEqual(new Set([id]));
  });
});
