import { describe, expect, test } from "vitest";
import { checkTable, isOf } from "../../packages/workflow/test/component.js";
import type { Line } from "./behaviour.js";
import { brokenOf, INVARIANTS } from "./invariants.js";
import type { Rest, RunRow, StepRow } from "./rest.js";

const line = (what: Line["what"], stage: string, attempt = 1, saw: Line["saw"] = {}): Line => ({
  text: stage,
  what,
  key: `r/${stage}`,
  attempt,
  saw,
});

// Here an id is what it is called by.
const runId = "r" as RunRow["_id"];
const error = { kind: "thrown", workflow: "w", node: "third", attempt: 1, message: "" } as const;

const step = (stage: string, at: number, more: Partial<StepRow> = {}): StepRow => ({
  _id: stage as StepRow["_id"],
  _creationTime: at,
  createdAt: 0,
  run: runId,
  stage,
  kind: "mutation",
  state: "completed",
  attempt: 1,
  startedAt: at,
  endedAt: at,
  ...more,
});

const run: RunRow = {
  _id: runId,
  _creationTime: 0,
  workflow: "w",
  entry: "w:entry",
  index: 0,
  state: "failed",
  startedAt: 0,
  endedAt: 9,
  error,
};

const handler = () => null;
const onEnd = { mutation: handler };
const definition = {
  options: { input: { "~standard": { validate: (value: unknown) => ({ value }) } } },
  nodes: {
    first: { mutation: handler, compensate: { mutation: handler } },
    second: { mutation: handler, compensate: { mutation: handler } },
    third: { action: handler, retry: { maxAttempts: 2, maxBackoffMs: 1 } },
    fourth: { mutation: handler },
  },
};

const THIRD = step("third", 3, {
  kind: "action",
  state: "failed",
  attempt: 2,
  endedAt: 5,
  errors: [error, error],
});

/** A run that has failed at its third node, and was undone. */
const SOUND: Rest = {
  workflows: { w: { definition } },
  runs: [run],
  steps: [
    step("first", 1, { undoable: true, output: "one" }),
    step("second", 2, { undoable: true }),
    THIRD,
    step("second.compensate", 6),
    step("first.compensate", 7),
  ],
  undos: [],
  inbox: [{ run: runId, value: "event 1" }],
  underWay: { waiting: 0 },
  jobs: [],
  hasFaults: false,
  violations: [],
  log: [
    line("changes", "first"),
    line("changes", "second", 1, { first: '"one"' }),
    line("begins", "third"),
    line("begins", "third", 2),
    line("changes", "second.compensate"),
    line("changes", "first.compensate"),
  ],
  completions: [{ runId: "r", state: "failed", seen: "failed" }],
  steered: new Map([["r", { workflow: "w", ends: [], refuses: false, isGone: false }]]),
  stills: [],
  sent: [{ run: "r", generation: 1, value: "event 1", answer: "kept" }],
};

const without = (stage: string) => SOUND.steps.filter((each) => each.stage !== stage);
const still = { run: "r", generation: 1, family: new Set(["r"]), from: 0, to: Infinity };

/** For each invariant, in their order, what breaks it. */
const BREAKS: readonly (readonly Partial<Rest>[])[] = [
  [{ runs: [{ ...run, state: "compensating" }] }, { runs: [{ ...run, paused: true }] }],
  [{ runs: [{ ...run, error: undefined }] }, { runs: [{ ...run, state: "completed" }] }],
  [
    { completions: [] },
    { completions: [...SOUND.completions, ...SOUND.completions] },
    { completions: [{ runId: "r", state: "failed", seen: "running" }] },
    { steered: new Map([["r", { workflow: "w", ends: [], refuses: true, isGone: false }]]) },
  ],
  [
    { steps: [...SOUND.steps, step("onEnd", 8)] },
    {
      workflows: {
        w: { definition: { ...definition, options: { ...definition.options, onEnd } } },
      },
    },
  ],
  [{ runs: [{ ...run, generation: 2 }] }],
  [
    { underWay: { waiting: 1 } },
    { jobs: [{ _id: "j", name: "w:entry", state: { kind: "pending" }, args: [] }] },
    { steps: [...SOUND.steps, { ...step("fourth", 5), endedAt: undefined! }] },
  ],
  [
    { violations: ["nested too deeply"] },
    { jobs: [{ _id: "j", name: "w:entry", state: { kind: "failed" }, args: [] }] },
  ],
  [{ log: [...SOUND.log, line("changes", "first")] }, { log: SOUND.log.slice(1) }],
  [{ log: [...SOUND.log, line("changes", "fourth")] }],
  [
    { log: [...SOUND.log, line("begins", "third", 3)] },
    { log: [...SOUND.log, line("begins", "third", 2)] },
  ],
  [
    { runs: [{ ...run, state: "completed", error: undefined }] },
    { steps: [...SOUND.steps, step("fourth", 8)] },
    { steps: [step("first", 4, { undoable: true }), ...without("first")] },
  ],
  [{ log: [line("changes", "first"), line("changes", "second", 1, { first: '"two"' })] }],
  [
    { steps: without("first.compensate") },
    { steps: [...SOUND.steps, step("first.compensate", 8)] },
    { runs: [{ ...run, state: "completed", error: undefined }] },
    { undos: [{ run: runId }] },
  ],
  [{ steps: [...without("second.compensate"), step("second.compensate", 8)] }],
  [
    { stills: [{ ...still, why: "canceled", from: 3 }] },
    { stills: [{ ...still, why: "paused", from: 1, to: 2 }] },
  ],
  [{ stills: [{ ...still, why: "canceled", from: 4 }] }],
  [
    { inbox: [] },
    { inbox: [...SOUND.inbox, ...SOUND.inbox] },
    { sent: [{ run: "r", generation: 1, value: "event 1", answer: "taken" }] },
  ],
  [{ steps: [{ ...THIRD, state: "completed", attempt: 3 }] }],
  [{ steps: [{ ...THIRD, attempt: 1 }] }],
  [
    {
      steps: [step("kids", 4, { kind: "children", total: 2, tolerate: { percentage: 49 } })],
      runs: [{ ...run, parentStep: "kids" as StepRow["_id"] }],
    },
  ],
  [
    { runs: [{ ...run, state: "timedOut", timeoutMs: 10 }] },
    {
      workflows: { w: { definition: { ...definition, nodes: { third: { timeout: 3 } } } } },
      steps: [
        { ...THIRD, state: "timedOut", beganAt: 3, errors: [{ ...error, kind: "timedOut" }] },
      ],
    },
  ],
  [{ runs: [{ ...run, state: "completed", timeoutMs: 10, endedAt: 100_000 }] }],
  [
    { steps: [step("nap", 4, { kind: "sleep", dueAt: 5 })] },
    { steps: [step("ask", 4, { kind: "event", timedOut: true, dueAt: 5 })] },
  ],
];

test("a table or a function that the component does not have cannot be looked for", () => {
  expect(() => checkTable("places")).toThrow('The component has no table "places"');
  // @ts-expect-error: There is no such function.
  isOf("entering:deliver");
  // @ts-expect-error: Nor such a field.
  expect(run.wakeAt).toBeUndefined();
});

describe("the invariants", () => {
  test("hold of a run that has come to its end as it should", () => {
    expect(brokenOf(SOUND)).toEqual({});
  });

  const { says: ofEvents } = INVARIANTS.find(({ says }) => says.includes("one place"))!;
  const RACE = step("race", 4, { kind: "children", race: {} });
  const aCase = (name: string, parentRun: RunRow["_id"]): RunRow => {
    const { error: _error, ...sound } = run;
    const id = name as RunRow["_id"];
    return { ...sound, _id: id, state: "completed", parentRun, root: runId, parentStep: RACE._id };
  };
  /** The runs of two cases, and of one in the first of them, which took an event. */
  const caught = (sentTo: string): Rest => {
    const outer = aCase("outer", runId);
    const inner = aCase("inner", outer._id);
    const took = step("ask", 5, { run: inner._id, kind: "event", output: { event: "event 1" } });
    return {
      ...SOUND,
      runs: [run, outer, inner, aCase("other", runId)],
      steps: [...SOUND.steps, RACE, took],
      inbox: [],
      sent: [{ run: sentTo, generation: 1, value: "event 1", answer: "taken" }],
    };
  };

  test.each(["r", "outer", "inner"])("hold if a case took what was sent to %s", (sentTo) => {
    expect(brokenOf(caught(sentTo))).not.toHaveProperty([ofEvents]);
  });

  test("are broken if one case of a race took what was sent to another, or nobody did", () => {
    expect(brokenOf(caught("other"))).toHaveProperty([ofEvents]);
    for (const sentTo of ["outer", "inner"])
      expect(brokenOf({ ...caught(sentTo), steps: [...SOUND.steps, RACE] })).toHaveProperty([
        ofEvents,
      ]);
  });

  /** Found by seed 1000093, of steer: the compensation of a loser took longer than the timeout. */
  test("hold if what lost a race was undone for longer than its time, and not if the winner took longer", () => {
    const timed = { race: { cases: {}, timeout: 10 } };
    const race = { ...RACE, won: "winner" as RunRow["_id"], endedAt: 200_000 };
    const wonAt = (endedAt: number): Rest => ({
      ...SOUND,
      workflows: { w: { definition: { ...definition, nodes: timed } } },
      runs: [run, { ...aCase("winner", runId), endedAt }],
      steps: [race],
    });
    const { says } = INVARIANTS.find((each) => each.says.includes("took no longer"))!;
    expect(brokenOf(wonAt(12))).not.toHaveProperty([says]);
    expect(brokenOf(wonAt(100_000))).toHaveProperty([says]);
  });

  /** Found by seed 2000204: both mutations that were to begin the attempt ran out of time. */
  test("hold if an action failed before it was tried so often, as its next attempt could not begin", () => {
    const { says } = INVARIANTS.find((each) => each.says.includes("as often as it might be"))!;
    const failed = (message: string): Rest => ({
      ...SOUND,
      steps: [{ ...THIRD, attempt: 1, errors: [{ ...error, message }] }],
    });
    const stuck = 'The run could not go on at "third": it took too long';
    expect(brokenOf(failed(stuck))).not.toHaveProperty([says]);
    expect(brokenOf(failed("it threw"))).toHaveProperty([says]);
  });

  /** Found by seed 360000716 of S16. */
  test("hold if a parent's handler timed out within a ms of its time, and not if it did sooner", () => {
    const { says } = INVARIANTS.find((each) => each.says.includes("had its time"))!;
    const late = { ...error, kind: "timedOut", node: "first.output" } as const;
    const first = { action: handler, timeout: 10, children: handler };
    const ended = (endedAt: number): Rest => ({
      ...SOUND,
      workflows: { w: { definition: { ...definition, nodes: { first } } } },
      steps: [
        step("first.output", 2.9, { kind: "action", state: "timedOut", errors: [late], endedAt }),
      ],
    });
    expect(brokenOf(ended(12))).not.toHaveProperty([says]);
    expect(brokenOf(ended(11))).toHaveProperty([says]);
  });

  /** Found by seed 360003619 of S16. */
  test("hold if a node recovered late from its time, as it was paused, and not if it just took longer", () => {
    const { says } = INVARIANTS.find((each) => each.says.includes("took no longer"))!;
    const first = { children: handler, timeout: 10 };
    const ended = (state: StepRow["state"]): Rest => ({
      ...SOUND,
      workflows: { w: { definition: { ...definition, nodes: { first } } } },
      steps: [
        step("first", 1, { kind: "children", endedAt: 200_000 }),
        step("first.finalize", 2, { kind: "action", state, endedAt: 200_000 }),
      ],
    });
    expect(brokenOf(ended("timedOut"))).not.toHaveProperty([says]);
    expect(brokenOf(ended("completed"))).toHaveProperty([says]);
  });

  const named = INVARIANTS.map(
    // The numbers are those of promises that other tests hold.
    ({ says }, index) => [says.replace(/\[S\d+\] /g, ""), says, BREAKS[index] ?? []] as const,
  );
  test.each(named)("are broken where it is not so that %s", (_name, says, breaks) => {
    expect(breaks.length).toBeGreaterThan(0);
    for (const broken of breaks) expect(brokenOf({ ...SOUND, ...broken })).toHaveProperty([says]);
  });
});
