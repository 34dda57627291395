import { expect, test } from "vitest";
import { type Change, changesBetween } from "../../src/dev-server/tree.js";
import { child, error, run, step, tree } from "./tree.js";

function told(changes: Change[]): string[] {
  return changes.map((change) =>
    [change.what, change.run.runId, "step" in change ? change.step.stage : ""].join(" ").trim(),
  );
}

test("the first look tells of all that is there", () => {
  const now = tree(run("top", "running", { steps: [step("outline", "running")] }));
  expect(told(changesBetween(undefined, now))).toEqual([
    "runStarted top",
    "stepStarted top outline",
  ]);
});

test("nothing is told twice", () => {
  const now = tree(run("top", "completed", { steps: [step("outline", "completed")] }));
  expect(changesBetween(now, now)).toEqual([]);
});

test("what started and ended between two looks is told of both", () => {
  const before = tree(run("top", "running"));
  const now = tree(run("top", "completed", { steps: [step("outline", "completed")] }));
  expect(told(changesBetween(before, now))).toEqual([
    "stepStarted top outline",
    "stepEnded top outline",
    "runEnded top",
  ]);
});

test("each failed attempt that is followed by another is told once, also when looks were missed", () => {
  const waiting = step("analysis", "waiting", { attempt: 2, errors: [error(1)] });
  const before = tree(run("top", "running", { steps: [waiting] }));
  const failed = step("analysis", "failed", { attempt: 3, errors: [error(1), error(2), error(3)] });
  const now = tree(run("top", "running", { steps: [failed] }));
  expect(told(changesBetween(before, now))).toEqual([
    "stepRetries top analysis",
    "stepEnded top analysis",
  ]);
  const retries = changesBetween(undefined, now).filter(({ what }) => what === "stepRetries");
  expect(retries.map((change) => "error" in change && change.error.attempt)).toEqual([1, 2]);
});

test("runs end in the order of time, a parent after its children", () => {
  const before = tree(run("top", "running"), child(0, "running"), child(1, "running"));
  const now = tree(
    run("top", "completed", { endedAt: 1100 }),
    child(0, "completed", { endedAt: 1100 }),
    child(1, "completed", { endedAt: 1050 }),
  );
  const ended = changesBetween(before, now).filter(({ what }) => what === "runEnded");
  expect(ended.map((change) => change.run.runId)).toEqual(["child1", "child0", "top"]);
});
