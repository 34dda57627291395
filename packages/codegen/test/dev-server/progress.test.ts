import { describe, expect, test } from "vitest";
import { duration } from "../../src/cli/counts.js";
import { report } from "../../src/cli/run.js";
import type { RunTree, TreeRun, TreeStep } from "../../src/dev-server/index.js";
import { child, error, linesOf, run, step, tree } from "./tree.js";

const sections = step("sections", "waiting", { kind: "children" });
const retried = step("analysis", "waiting", { attempt: 2, dueAt: 1750, errors: [error(1)] });

test("[S147] the lines tell the time in the queue from the time that an action took", () => {
  const steps = [step("charge", "completed", { queuedAt: 1000, beganAt: 1030 })];
  expect(linesOf([tree(run("top", "running", { steps }))], 1600)[0]).toEqual([
    "  0.04 s  document › charge: completed after 10 ms and 30 ms in the queue",
  ]);
});

test("[S262] the time in the queue is that of all attempts", () => {
  const retries = [
    { attempt: 1, beganAt: 1_018, failedAt: 1_020, nextAt: 1_025 },
    { attempt: 2, beganAt: 1_028, failedAt: 1_030, nextAt: 1_031 },
  ];
  const times = { attempt: 3, retries, queuedAt: 1_031, beganAt: 1_032 };
  const steps = [step("charge", "completed", times)];
  expect(linesOf([tree(run("top", "running", { steps }))], 1600)[0]).toEqual([
    "  0.04 s  document › charge: completed after 18 ms and 22 ms in the queue, at attempt 3",
  ]);
});

test("[S149] the lines say which of several events came, or that none did in time", () => {
  const asked = { kind: "event" as const, events: ["yes", "no"] };
  const steps = [
    step("ask", "completed", { ...asked, came: "no" }),
    step("again", "completed", { ...asked, came: null }),
  ];
  expect(linesOf([tree(run("top", "running", { steps }))], 1600)[0]).toEqual([
    '  0.04 s  document › ask: completed by "no" after 40 ms',
    "  0.04 s  document › again: timed out after 40 ms",
  ]);
});

test("control characters of a key do not reach the terminal", () => {
  const keyed = tree(run("top", "running"), child(0, "failed", { key: "a\u001b[2Jb" }));
  expect(linesOf([keyed], 1600).join()).toContain("sections[a\ufffd[2Jb] section: failed");
});

describe("the lines", () => {
  const lines = (before: RunTree, after: RunTree) => linesOf([before, after], 1600)[1];

  test("tell each event once, with its time and its place in the tree", () => {
    const before = tree(run("top", "running", { steps: [sections] }));
    const after = tree(
      run("top", "running", { steps: [sections] }),
      child(0, "completed"),
      child(1, "running", { steps: [retried] }),
    );
    expect(lines(before, after)).toEqual([
      "  0.00 s  document › sections[1] section › analysis: waiting",
      "  0.04 s  document › sections[0] section › analysis: completed after 40 ms",
      "  0.60 s  document › sections[1] section › analysis: attempt 1 failed (thrown): no luck",
    ]);
  });

  test("[S247] go on in time: what is noticed late stands at the time of the line above it", () => {
    const steps = [sections, step("late", "completed", { endedAt: 1_400 })];
    const noticed = tree(
      run("top", "running", { steps }),
      child(0, "completed", { steps: [step("analysis", "completed", { endedAt: 1_200 })] }),
    );
    const [first, then] = linesOf([tree(run("top", "running", { steps })), noticed], 1600);
    expect(first?.at(-1)).toMatch(/^ {2}0.40 s {2}document › late: completed/);
    expect(then).toEqual([
      "  0.40 s  document › sections[0] section › analysis: completed after 200 ms",
    ]);
  });

  test("of 300 children that go alike tell what one of them came to, and how many have ended", () => {
    const top = run("top", "running", { steps: [sections] });
    const asleep = { kind: "sleep" as const, dueAt: 28_501_000 };
    const all = (state: (index: number) => TreeRun) =>
      tree(top, ...Array.from({ length: 300 }, (_, index) => state(index)));
    const first = all((index) =>
      child(index, "running", { steps: [step("rest", "waiting", asleep)] }),
    );
    const failing = child(7, "failed", {
      endedAt: 28_501_000,
      steps: [step("rest", "failed", { endedAt: 28_501_000 })],
    });
    const ended = (index: number) =>
      child(index, "completed", {
        endedAt: 28_501_000,
        steps: [step("rest", "completed", { endedAt: 28_501_000 })],
      });
    const half = all((index) =>
      index === 7 ? failing : index < 150 ? ended(index) : first.runs[index + 1]!,
    );
    const whole = all((index) => (index === 7 ? failing : ended(index)));
    const told = linesOf([first, half, whole], 28_561_000);
    expect(told[0]).toEqual([
      "  0.00 s  document › sections: waiting for its children",
      "  0.00 s  document › sections[0] section › rest: sleeping for 7 h 55 m",
    ]);
    expect(told[1]).toEqual([
      "7 h 55 m  document › sections[0] section › rest: completed after 7 h 55 m",
      "7 h 55 m  document › sections[7] section › rest: failed after 7 h 55 m",
      "7 h 55 m  document › sections[7] section: failed",
      "7 h 55 m  document › sections: 149 completed, 1 failed of 300 children",
    ]);
    expect(told[2]).toEqual([
      "7 h 55 m  document › sections: 299 completed, 1 failed of 300 children",
    ]);
  });

  test("[S148] count children that were canceled apart from those that failed", () => {
    const state = (index: number) =>
      index < 6 ? "completed" : index === 6 ? "failed" : "canceled";
    const children = Array.from({ length: 20 }, (_, index) => child(index, state(index)));
    const top = run("top", "running", { steps: [sections] });
    expect(linesOf([tree(top, ...children)], 1600)[0]?.at(-1)).toMatch(
      / › sections: 6 completed, 1 failed, 13 canceled of 20 children$/,
    );
  });

  test("tell of the end of the run, and of children that failed", () => {
    const before = tree(run("top", "running"), child(0, "running"));
    const after = tree(run("top", "failed"), child(0, "failed", { steps: [] }));
    expect(lines(before, after)).toEqual([
      "  0.10 s  document › sections[0] section: failed",
      "  0.10 s  document: failed",
    ]);
  });

  test("tell of what waits, and of each iteration of a loop", () => {
    const rest = step("rest", "waiting", { kind: "sleep", dueAt: 601_000 });
    const asked = step("ok", "waiting", { kind: "event", events: ["ok"], dueAt: 61_000 });
    const iterationStep = (number: number, state: TreeStep["state"]) =>
      step("agent.think", state, { iterations: [number] });
    const at = (...steps: TreeStep[]) => tree(run("top", "running", { steps }));
    expect(lines(at(step("rest", "pending", { kind: "entry" })), at(rest))).toEqual([
      "  0.00 s  document › rest: sleeping for 10 m",
    ]);
    // What is entered in a moment does nothing yet.
    expect(lines(at(), at(step("price", "pending", { kind: "entry" })))).toEqual([]);
    const queued = at(step("think", "pending"));
    expect(lines(at(), queued)).toEqual(["  0.00 s  document › think: queued"]);
    expect(lines(queued, at(step("think", "running")))).toEqual([
      "  0.00 s  document › think: running",
    ]);
    const waitsFor = { limit: "tenant", key: "acme", running: 1, atMost: 1, place: 1 };
    const keptBack = at(step("think", "pending", { waitsFor }));
    expect(lines(queued, keptBack)).toEqual([
      "  0.00 s  document › think: queued, waiting for tenant acme",
    ]);
    const paused = { ...waitsFor, paused: { by: "ada", until: 5_000 } };
    expect(lines(keptBack, at(step("think", "pending", { waitsFor: paused })))).toEqual([
      "  0.00 s  document › think: queued, waiting for tenant acme, paused by ada until 1970-01-01T00:00:05.000Z",
    ]);
    const began = at(step("think", "running", { queuedAt: 1000, beganAt: 1500 }));
    expect(lines(keptBack, began)).toEqual(["  0.50 s  document › think: running"]);
    const held = { holds: "api", held: 1, attempt: 2, dueAt: 5_000 };
    expect(lines(at(), at(step("think", "waiting", held)))).toEqual([
      "  0.00 s  document › think: held until 1970-01-01T00:00:05.000Z, as api is",
    ]);
    const collects = { kind: "collect" as const, startedAt: 1_000, dueAt: 301_000 };
    expect(lines(at(), at(step("think", "waiting", collects)))).toEqual([
      "  0.00 s  document › think: collecting starts, begins after 5 m at the latest",
    ]);
    const turn = at(step("think", "waiting", { kind: "turn" }));
    expect(lines(at(), turn)).toEqual([
      "  0.00 s  document › think: waiting for another run of its key",
    ]);
    expect(lines(turn, began)).toEqual(["  0.50 s  document › think: running"]);
    expect(lines(at(), at(asked))).toEqual([
      '  0.00 s  document › ok: waiting for the event "ok", at most 1 m',
    ]);
    expect(
      lines(
        at(iterationStep(1, "completed")),
        at(iterationStep(1, "completed"), iterationStep(2, "running")),
      ),
    ).toEqual(["  0.04 s  document › agent.think (iteration 2): running"]);
  });
});

test("a loop that ends with its last node is told after what is inside it, each in its turn", () => {
  const at = { startedAt: 1000, endedAt: 1000 };
  const steps = [
    step("agent", "completed", { kind: "loop", ...at }),
    step("agent.turns", "completed", { kind: "loop", iterations: [1], ...at }),
    step("agent.turns.think", "completed", { iterations: [1, 1], ...at }),
    step("agent.turns", "completed", { kind: "loop", iterations: [2], ...at }),
    step("agent.turns.think", "completed", { iterations: [2, 1], ...at }),
    step("agents", "completed", at),
  ];
  const [told] = linesOf([tree(run("top", "running", { steps }))], 1600);
  expect(told?.map((line) => line.slice("  0.00 s  document › ".length))).toEqual([
    "agent.turns.think (iteration 1.1): completed after 0 ms",
    "agent.turns (iteration 1): completed after 0 ms",
    "agent.turns.think (iteration 2.1): completed after 0 ms",
    "agent.turns (iteration 2): completed after 0 ms",
    "agent: completed after 0 ms",
    "agents: completed after 0 ms",
  ]);
});

test.each([
  [999.4, "999 ms"],
  [999.6, "1 s"],
  [59_940, "59.9 s"],
  [59_960, "1 m"],
  [599_700, "10 m"],
  [3_599_600, "1 h"],
  [7_199_999, "2 h"],
  [47 * 3_600_000, "47 h"],
  [48 * 3_600_000, "2 d"],
  [300.5 * 86_400_000, "300 d 12 h"],
])("%d ms are %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

describe("the report", () => {
  const totals = {
    rootExecutions: 45,
    executions: 1094,
    failures: 0,
    documentsRead: 1,
    bytesRead: 512,
    documentsWritten: 173,
    bytesWritten: 64_000,
    databaseQueries: 9,
    functionsScheduled: 23,
    scheduledFunctionArgsBytes: 0,
  };

  test("says what a run took", () => {
    const state = "completed" as const;
    const outcome = { runId: "top", state, totals, durationMs: 83_000, unsent: [] };
    expect(report(outcome, "document", () => undefined, false)).toBe(
      [
        "document completed in 1 m 23 s",
        "  45 function executions, 1,094 with nested ones; 23 scheduled",
        "  read 1 document, 512 B; wrote 173 documents, 63 KB",
        "",
      ].join("\n"),
    );
  });

  test("of a run that took too long names the workflow alone", () => {
    const late = { ...error(1, "too long"), kind: "timedOut" as const, node: "" };
    const state = "timedOut" as const;
    const outcome = { runId: "top", state, totals, durationMs: 10, error: late, unsent: [] };
    const text = report(outcome, "section", () => undefined, false);
    expect(text).toContain("\ntimedOut in section: too long\n");
  });

  test("says why a run failed, down to the cause, each with its place in the definition", () => {
    const cause = { ...error(3, "the disk is full"), data: { free: 0n, rest: [0] } };
    const failed = { kind: "childFailed" as const, message: "a child failed", workflow: "document", node: "sections", attempt: 1, key: "4", cause }; // prettier-ignore
    const outcome = {
      runId: "top",
      state: "failed" as const,
      totals,
      durationMs: 10,
      error: failed,
      unsent: [],
    };
    const placeOf = (workflow: string, node: string) => `convex/${workflow}.ts:7:3 ${node}`;
    const lines = report(outcome, "document", placeOf, false).trimEnd().split("\n");
    expect(lines.slice(3)).toEqual([
      'convex/document.ts:7:3 sections childFailed in "sections" of document [4]: a child failed',
      'convex/section.ts:7:3 analysis thrown in "analysis" of section, attempt 3: the disk is full',
      '  data: {"free":{"$integer":"AAAAAAAAAAA="},"rest":[0]}',
    ]);
  });
});
