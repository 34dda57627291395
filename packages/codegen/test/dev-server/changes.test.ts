import { expect, test } from "vitest";
import type { RunTree } from "../../src/dev-server/index.js";
import { child, error, linesOf, run, step, tree } from "./tree.js";

/** What is told of each tree, without times and the name of the run. */
function told(...looks: RunTree[]): string[][] {
  return linesOf(looks, 1600).map((lines) =>
    lines.map((line) => line.replace(/^.{10}document:? /, "")),
  );
}

test("the first look tells of all that is there", () => {
  const now = tree(run("top", "running", { steps: [step("outline", "running")] }));
  expect(told(now)).toEqual([["› outline: running"]]);
});

test("nothing is told twice", () => {
  const now = tree(run("top", "completed", { steps: [step("outline", "completed")] }));
  expect(told(now, now)[1]).toEqual([]);
});

test("what started and ended between two looks is told by its end", () => {
  const before = tree(run("top", "running"));
  const now = tree(run("top", "completed", { steps: [step("outline", "completed")] }));
  expect(told(before, now)).toEqual([[], ["› outline: completed after 40 ms", "completed"]]);
});

test("what goes on after a wait, and is still not done, is not told again", () => {
  const asleep = step("rest", "waiting", { kind: "sleep" });
  const looks = [asleep, { ...asleep, state: "running" as const }, asleep];
  const lines = told(...looks.map((each) => tree(run("top", "running", { steps: [each] }))));
  expect(lines).toEqual([["› rest: sleeping"], [], []]);
});

test("each failed attempt that is followed by another is told once, also when looks were missed", () => {
  const waiting = step("analysis", "waiting", { attempt: 2, errors: [error(1)] });
  const before = tree(run("top", "running", { steps: [waiting] }));
  const failed = step("analysis", "failed", { attempt: 3, errors: [error(1), error(2), error(3)] });
  const now = tree(run("top", "running", { steps: [failed] }));
  const attempt = (number: number) => `› analysis: attempt ${number} failed (thrown): no luck`;
  const end = "› analysis: failed after 40 ms, at attempt 3";
  expect(told(before, now)[1]).toEqual([attempt(2), end]);
  expect(told(now)).toEqual([[attempt(1), attempt(2), end]]);
});

test("runs end in the order of time, a parent after its children", () => {
  const before = tree(run("top", "running"), child(0, "running"), child(1, "running"));
  const now = tree(
    run("top", "failed", { endedAt: 1100 }),
    child(0, "failed", { endedAt: 1100, steps: [] }),
    child(1, "failed", { endedAt: 1050, steps: [] }),
  );
  expect(told(before, now)[1]).toEqual([
    "› sections[1] section: failed",
    "› sections[0] section: failed",
    "failed",
  ]);
});

test("of many children that go alike, what is below them is told of one of them", () => {
  const children = Array.from({ length: 30 }, (_, index) => child(index, "running"));
  const below = children.map(({ runId }, index) =>
    child(index, "running", { runId: `below${index}`, parentRunId: runId, parentStage: "one" }),
  );
  expect(told(tree(run("top", "running"), ...children, ...below))).toEqual([
    [
      "› sections[0] section › analysis: running",
      "› sections[0] section › one[0] section › analysis: running",
    ],
  ]);
});
