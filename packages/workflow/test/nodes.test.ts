import { describe, expect, test, vi } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("sleep", () => {
  test("[S66] the run goes on at the time, never before, and holds no slot meanwhile", async () => {
    const begun = Date.now();
    const id = await use.app.start("sleeps", { ms: 5 * MINUTE });
    await use.app.advance(MINUTE);
    expect(await use.app.slotsHeld()).toBe(0);
    expect(await use.app.status("sleeps", id)).toMatchObject({
      active: [{ node: "fixed", state: "waiting", dueAt: begun + 10 * MINUTE }],
    });
    await use.app.advance(9 * MINUTE - 1);
    expect(await use.app.steps(id)).toEqual(["before completed", "fixed waiting"]);
    await use.app.advance(5 * MINUTE + 1);
    expect(await use.app.status("sleeps", id)).toMatchObject({
      state: "completed",
      endedAt: begun + 15 * MINUTE,
    });
    await use.app.expectNothingLeft();
  });

  test.each([{ ms: 0 }, { ms: -5 }, { ms: 0, until: 0 }])(
    "[S67] a time that is over is over at once: %o",
    async (input) => {
      const status = await use.app.run("sleeps", input);
      expect(status).toMatchObject({ state: "completed", endedAt: status.startedAt + 10 * MINUTE });
    },
  );

  test("[S66] [S67] a year is slept to its end; more is refused", async () => {
    const ms = 365 * 24 * HOUR;
    const status = await use.app.run("sleeps", { ms });
    expect(status).toMatchObject({ endedAt: status.startedAt + ms + 10 * MINUTE });
    expect(await use.app.error("sleeps", { ms: 366 * 24 * HOUR })).toMatchObject({
      kind: "thrown",
      node: "computed",
      message: expect.stringContaining("more than a year"),
    });
  });
});

async function send(run: string, event: string, payload: unknown, name = "approval") {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

describe("event", () => {
  test("[S69] one that is waited for lets the run go on in the sender's transaction", async () => {
    const id = await use.app.start("approval", {});
    await use.app.drive();
    expect(await use.app.steps(id)).toEqual(["asked completed", "decision waiting"]);
    expect(await send(id, "decision", { by: "Ada", ok: false })).toBe("taken");
    expect(await use.app.status("approval", id)).toMatchObject({
      state: "completed",
      output: "Ada false",
    });
    await use.app.expectNothingLeft();
  });

  test("[S69] [S70] early ones are kept, in order, and taken when the node is reached", async () => {
    const id = await use.app.start("awaited", {});
    expect(await send(id, "paid", { cents: 1 }, "awaited")).toBe("kept");
    expect(await send(id, "paid", { cents: 2 }, "awaited")).toBe("kept");
    await use.app.drive();
    expect(await use.app.status("awaited", id)).toMatchObject({
      output: {
        first: { name: "paid", value: { cents: 1 } },
        second: { timedOut: false, event: { name: "paid", value: { cents: 2 } } },
      },
    });
  });

  test("[S72] [S73] anyOf takes the first of its names; after its timeout a node has timed out", async () => {
    const id = await use.app.start("awaited", {});
    await use.app.drive();
    expect(await send(id, "canceled", "why", "awaited")).toBe("taken");
    await use.app.drive();
    expect(await use.app.status("awaited", id)).toMatchObject({
      output: { first: { name: "canceled", value: "why" }, second: { timedOut: true } },
    });
    await use.app.expectNothingLeft();
  });
});

test("[S23] what a function of the definition does to what it is given changes no result", async () => {
  const output = await use.app.output("meddles", { list: [1, 3, 2] });
  expect(output).toEqual({
    input: { list: [1, 3, 2] },
    top: [1, 3, 2],
    again: { seen: [3, 2] },
    greater: 6,
  });
});

test.each([
  ["on", "way", /must not be async/],
  ["until", "again", /must not be async/],
  ["children", "all", /must not be async/],
  ["of", "items", /must not be async/],
  ["args", "called", /args is a Promise, .*: await it$/],
])(
  "[S109] an %s that is async though its type forbids it fails the run, and says so",
  async (where, node, message) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    try {
      const error = await use.app.error("promises", { in: where });
      expect(error).toMatchObject({ node, message: expect.stringMatching(message) });
      // Node and vitest take a promise that nobody handles for a crash.
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
  },
);

describe("branch", () => {
  test("[S76] [S77] exactly the case of the key runs, and its output is the branch's", async () => {
    expect(await use.app.output("routed", { n: 7 })).toEqual({ route: "big 15 of 7" });
    const { runId } = await use.app.run("routed", { n: 1 });
    expect(await use.app.steps(runId)).toEqual([
      "doubled completed",
      "route completed",
      "route.small.z completed",
      "finalize completed",
    ]);
  });

  test("[S76] a key without a case fails, with the list of cases", async () => {
    expect(await use.app.error("routed", { n: -1 })).toMatchObject({
      kind: "thrown",
      node: "route",
      message: `The branch "route" has no case "none"; it has big, small`,
    });
  });
});

describe("loop", () => {
  test.each([true, false])(
    "[S78] each iteration has the output of the one before (%s)",
    async (inAction) => {
      const output = (await use.app.output("counted", { to: 12, inAction })) as { keys: string[] };
      expect(output).toMatchObject({ n: 12 });
      expect(new Set(output.keys).size).toBe(3);
      await use.app.expectNothingLeft();
    },
  );

  test("[S78] it runs at least once, and fails after maxIterations", async () => {
    expect(await use.app.output("counted", { to: 0 })).toMatchObject({ n: 1 });
    expect(await use.app.error("counted", { to: 21 })).toMatchObject({
      kind: "thrown",
      node: "count",
      message: expect.stringContaining("maxIterations of 20"),
    });
  });

  test("[S81] loops and sleeps in loops", async () => {
    const status = await use.app.run("nestedLoops", { outer: 3 });
    expect(status).toMatchObject({
      output: ["1:2", "2:2", "3:2"],
      endedAt: status.startedAt + 6_000,
    });
  });
});

describe("child", () => {
  test("[S82] its output is the child's", async () => {
    expect(await use.app.output("single", { n: 4, fails: false })).toEqual({ one: 40 });
  });

  test("[S82] it fails with the child's error as cause", async () => {
    const error = await use.app.error("single", { n: 4, fails: true });
    expect(error).toMatchObject({ kind: "childFailed", node: "one", cause: { workflow: "leaf" } });
    expect(error.key).toBeUndefined();
  });

  test(
    "[S65] a workflow may be its own descendant, to a depth of 100",
    { tags: ["large"] },
    async () => {
      expect(await use.app.output("descends", { depth: 100 })).toBe(101);
    },
  );
});

describe("tolerance", () => {
  test("[S49] so many failures are let pass, and each child tells what became of it", async () => {
    expect(await use.app.output("tolerant", { bad: 2, of: 4 })).toEqual([
      "leaf 0 fails",
      "leaf 1 fails",
      "20",
      "30",
    ]);
  });

  test("[S49] one more fails the parent and cancels the others", async () => {
    const id = await use.app.start("tolerant", { bad: 3, of: 5, ms: 60_000 });
    await use.app.drive();
    expect(await use.app.status("tolerant", id)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed" },
    });
    await use.app.expectNothingLeft();
  });
});

test("[S57] reduce sees each output once, in order", async () => {
  expect(await use.app.output("reduced", { of: 4 })).toBe(" 0:0 1:10 2:20 3:30");
  expect(await use.app.output("reduced", { of: 0 })).toBe("");
});

describe("recover", () => {
  test("[S90] gives the value of a step that has failed for good", async () => {
    expect(await use.app.output("risky", { how: "well" })).toEqual(["well", "well"]);
    const { runId, ...status } = await use.app.run("risky", { how: "badly" });
    expect(status).toMatchObject({ output: ["recovered from tried in vain", "recovered"] });
    const [top] = await use.app.tree(runId);
    expect(top?.steps.map(({ stage, errors }) => [stage, errors.length])).toEqual([
      ["tried", 2],
      ["fused", 1],
      ["finalize", 0],
    ]);
  });

  test("[S90] one that throws fails the run with both errors", async () => {
    expect(await use.app.error("risky", { how: "worse" })).toMatchObject({
      kind: "thrown",
      message: expect.stringContaining("no recovery"),
      cause: { message: "tried in vain" },
    });
  });
});

describe("compensate", () => {
  test("[S92] [S95] what was done is undone, the last first, with its output, scope and cause", async () => {
    const id = await use.app.start("saga", { fail: "ship" });
    await use.app.drive();
    expect(await use.app.status("saga", id)).toMatchObject({
      state: "failed",
      error: { message: "no ship" },
    });
    expect(await use.app.log()).toEqual([
      "reserve",
      "charge",
      "undo charge 5 of 7, attempt 1",
      "undo reserve 7: thrown",
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S92] also when the run is canceled; nothing is undone that was not done", async () => {
    const id = await use.app.start("saga", { fail: "no" });
    await use.app.drive(async () => (await use.app.steps(id)).includes("wait waiting"));
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    expect((await use.app.status("saga", id))?.state).toBe("compensating");
    await use.app.drive();
    expect((await use.app.status("saga", id))?.state).toBe("canceled");
    expect((await use.app.log()).slice(2)).toEqual([
      "undo charge 5 of 7, attempt 1",
      "undo reserve 7: canceled",
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S94] one that fails for good does not stop the others, and is listed in the run's error", async () => {
    const error = await use.app.error("saga", { fail: "undo" });
    expect(error).toMatchObject({
      message: "no ship",
      compensationErrors: [{ message: "cannot undo", node: "charge.compensate", attempt: 2 }],
    });
    expect((await use.app.log()).slice(2)).toEqual([
      "undo charge 5 of 7, attempt 1",
      "undo charge 5 of 7, attempt 2",
      "undo reserve 7: thrown",
    ]);
  });

  test("[S93] steps of completed children are undone, the latest first", async () => {
    const id = await use.app.start("sagaAbove", { children: 2 });
    await use.app.drive();
    expect((await use.app.status("sagaAbove", id))?.state).toBe("failed");
    // They run side by side: both have reserved before either has charged.
    expect((await use.app.log()).filter((line) => line.startsWith("undo"))).toEqual([
      "undo charge 5 of 7, attempt 1",
      "undo charge 5 of 7, attempt 1",
      "undo reserve 7: thrown",
      "undo reserve 7: thrown",
    ]);
    await use.app.expectNothingLeft();
  });
});

describe("deadlines", () => {
  test("[S40] [S42] a parent that takes too long fails, and its children are canceled", async () => {
    const id = await use.app.start("limited", { ms: 20 * MINUTE });
    await use.app.drive();
    expect(await use.app.status("limited", id)).toMatchObject({
      state: "failed",
      error: { kind: "timedOut", node: "inTime" },
    });
    const [, below] = await use.app.tree(id);
    expect(below?.state).toBe("canceled");
    await use.app.expectNothingLeft();
  });

  test("[S42] one that is in time leaves no timer", async () => {
    const status = await use.app.run("limited", { ms: MINUTE });
    expect(status).toMatchObject({ state: "completed", endedAt: status.startedAt + MINUTE });
    await use.app.expectNothingLeft();
  });

  test("[S41] a run that takes too long ends timedOut, and is undone", async () => {
    const status = await use.app.run("tooLong", { ms: 2 * HOUR });
    expect(status).toMatchObject({ state: "timedOut", endedAt: status.startedAt + HOUR });
    expect(await use.app.log()).toEqual(["undone"]);
    await use.app.expectNothingLeft();
  });
});
