import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();

describe("in a row", () => {
  test("[S61] [S62] ten actions are ten dispatches, in their order, with no time between them", async () => {
    const calls: string[] = [];
    use.app.counter.onCall(({ name }) => {
      if (/tenSteps:s\d+$/.test(name)) calls.push(name.replace(/^.*:/, ""));
    });
    const status = await use.app.run("tenSteps", {});
    expect(status).toMatchObject({ state: "completed", output: 10, endedAt: status.startedAt });
    expect(calls).toEqual(Array.from({ length: 10 }, (_, n) => `s${n + 1}`));
  });

  test("[S63] the first failure stops it: later nodes never start", async () => {
    const status = await use.app.run("tenSteps", { fails: 3 });
    expect(status).toMatchObject({ state: "failed", error: { node: "s3" } });
    expect(await use.app.steps(status.runId)).toEqual([
      "s1 completed",
      "s2 completed",
      "s3 failed",
    ]);
  });

  test("[S64] a child's output is its finalize's, else that of its last node that has one", async () => {
    const { runId } = await use.app.run("lastOutputs", {});
    const outputs = await use.app.inComponent(async (ctx) =>
      (await ctx.db.query("steps").collect())
        .filter(({ run, kind }) => run === runId && kind === "children")
        .map(({ output }) => output),
    );
    expect(outputs).toEqual(["of the last node that has one", "of finalize"]);
  });
});

describe("a mutation step", () => {
  test("[S24] [S25] its writes and its result commit together, or not at all", async () => {
    expect(await use.app.output("writesInVain", { ok: true })).toBe(1);
    expect(await use.app.log()).toEqual(["written"]);
    expect(await use.app.error("writesInVain", { ok: false })).toMatchObject({
      kind: "invalidOutput",
    });
    expect(await use.app.log()).toEqual(["written"]);
  });
});

test("[S39] a timeout covers an attempt, not the waits between", async () => {
  expect(await use.app.output("slowRetries", {})).toBe(4);
});

describe("failures", () => {
  test.each([
    [2, 8, 2],
    [3, 12, 3],
    [0, 3, 0],
  ])("[S50] %i of %i are within 25 %%", async (bad, of, output) => {
    expect(await use.app.output("byShare", { bad, of })).toBe(output);
  });

  test.each([
    [3, 8],
    [1, 3],
  ])("[S50] %i of %i are more than 25 %%", async (bad, of) => {
    expect(await use.app.error("byShare", { bad, of })).toMatchObject({ kind: "childFailed" });
  });

  test('[S50] "all" never fails', async () => {
    expect(await use.app.output("allTolerated", { of: 3 })).toEqual(["thrown", "thrown", "thrown"]);
  });

  test("[S51] [S88] a child that was canceled, or took too long, counts as failed", async () => {
    const id = await use.app.start("badEnds", {});
    await use.app.advance(2_000);
    const canceled = (await use.app.tree(id)).find(({ key }) => key === "canceled");
    await use.app.t.mutation(internal.runs.cancel, { runId: canceled?.runId ?? "" });
    await use.app.drive();
    expect(await use.app.status("badEnds", id)).toMatchObject({ output: ["timedOut", "canceled"] });
  });

  test("[S88] a child that was canceled by itself fails a parent that lets nothing pass", async () => {
    const id = await use.app.start("oneBadEnd", {});
    await use.app.advance(2_000);
    const [, below] = await use.app.tree(id);
    await use.app.t.mutation(internal.runs.cancel, { runId: below?.runId ?? "" });
    await use.app.drive();
    expect(await use.app.status("oneBadEnd", id)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed", cause: { kind: "canceled" } },
    });
  });

  test("[S52] a parent's timeout leaves a child's retries as they are, and cancels it", async () => {
    const status = await use.app.run("retriedBelow", {});
    expect(status).toMatchObject({
      state: "failed",
      endedAt: status.startedAt + 60_000,
      error: { kind: "timedOut", node: "some" },
    });
    const attempts = (await use.app.log()).length;
    expect(attempts).toBeGreaterThanOrEqual(2);
    expect(attempts).toBeLessThanOrEqual(6);
    const [, below] = await use.app.tree(status.runId);
    expect(below).toMatchObject({ state: "canceled" });
    await use.app.expectNothingLeft();
  });
});

describe("once", () => {
  test(
    "[S59] children are evaluated once, in as many pages as they are",
    { tags: ["large"] },
    async () => {
      const { evaluations } = (await use.app.output("evaluatedOnce", { of: 3 })) as {
        evaluations: number;
      };
      const status = await use.app.run("evaluatedOnce", { of: 1_200 });
      expect(status).toMatchObject({ output: { all: 1_200, evaluations: evaluations + 1 } });
      const runs = await use.app.tree(status.runId);
      expect(new Set(runs.map(({ index, parentRunId }) => `${parentRunId} ${index}`)).size).toBe(
        runs.length,
      );
      await use.app.expectNothingLeft();
    },
  );

  test("[S59] a page that is inserted again inserts nothing twice", async () => {
    let failures = 0;
    const app = new TestApp({
      settle: ({ next }) => next.kind === "children" && failures++ === 0,
    });
    const id = await app.start("evaluatedOnce", { of: 5 });
    await app.drive();
    expect(failures).toBeGreaterThan(0);
    expect((await app.tree(id)).length).toBeLessThanOrEqual(6);
    expect(["completed", "failed"]).toContain((await app.status("evaluatedOnce", id))?.state);
    await app.expectNothingLeft();
  });

  test("[S68] a computed duration is computed once", async () => {
    const first = (await use.app.output("sleepsOnce", {})) as number;
    expect(await use.app.output("sleepsOnce", {})).toBe(first + 1);
  });
});

test("[S91] recover is not asked when the run is canceled", async () => {
  const id = await use.app.start("canceledBeforeRecovery", {});
  await use.app.advance(1_000);
  await use.app.t.mutation(internal.runs.cancel, { runId: id });
  await use.app.drive();
  expect(await use.app.status("canceledBeforeRecovery", id)).toMatchObject({ state: "canceled" });
  expect(await use.app.steps(id)).toEqual(["slow canceled"]);
});
