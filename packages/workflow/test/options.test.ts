/** @module-tag large */
import { describe, expect, test } from "vitest";
import { durationMs } from "../src/rules.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

describe("options that are computed, and cannot be", () => {
  test.each([
    ["[S6]", "oddTimeout", "timeout", "NaN"],
    ["[S6]", "oddBackoff", "retry", "initialBackoffMs is Infinity"],
    ["[S6]", "oddAttempts", "retry", "maxAttempts must be at most 1000"],
    ["[S6]", "oddParent", "timeout", "-5"],
    ["[S7]", "oddConcurrency", "concurrency", "NaN"],
    ["[S7]", "oddFailures", "tolerate", "{ failures: NaN }"],
    ["[S6]", "oddWait", "timeout", "Infinity"],
    ["[S67]", "longWait", "timeout", "1000000000000000: more than a year is not possible"],
    ["[S67]", "longAction", "timeout", "1000000000000000: more than a year is not possible"],
    ["[S6]", "oddSleep", "duration", "NaN"],
    ["[S7]", "oddIterations", "maxIterations", "NaN"],
  ])(
    "%s %s: the run fails at its node, and the error names the workflow, the option and the value",
    async (_promise, workflow, option, value) => {
      const error = await use.app.error(workflow, {});
      // Of the parent it is its handler, which comes first.
      const node = workflow === "oddParent" ? "charge.output" : "charge";
      expect(error).toMatchObject({ kind: "thrown", workflow, node });
      expect(error.message).toContain(`The ${option} of "charge" in workflow "${workflow}" is `);
      expect(error.message).toContain(value);
      await use.app.expectNothingLeft();
    },
  );

  test("[S6] retry settings that cannot be are told before the action has run at all", async () => {
    await use.app.error("oddBackoff", {});
    expect(use.app.counter.calls.filter(({ type }) => type === "action")).toEqual([]);
  });

  test.each([
    ["oddRun", 'The timeout of workflow "oddRun" is NaN'],
    ["longRun", 'The timeout of workflow "longRun" is 1000000000000000: more than a year'],
    ["oddRetention", 'The retention of workflow "oddRetention" is Infinity'],
    ["oddFirst", 'The timeout of "charge" in workflow "oddFirst" is -1'],
  ])(
    "[S6] %s: what its very beginning needs is told by start, and there is no run",
    async (name, message) => {
      await expect(use.app.start(name, {})).rejects.toThrow(message);
    },
  );

  test("[S6] a child that cannot begin fails the run above it at its node", async () => {
    const error = await use.app.error("aboveOddRun", {});
    expect(error).toMatchObject({ workflow: "aboveOddRun", node: "below" });
    expect(error.message).toContain('The timeout of workflow "oddRun" is NaN');
    await use.app.expectNothingLeft();
  });

  test("[S6] [S94] a compensation with such an option counts as failed; the others run", async () => {
    const id = await use.app.start("oddCompensation", {});
    await use.app.drive();
    expect(await use.app.steps(id)).toEqual([
      "kept completed",
      "charge completed",
      "last failed",
      "charge.compensate failed",
      "kept.compensate completed",
    ]);
    const status = await use.app.status("oddCompensation", id);
    expect(JSON.stringify(status)).toContain(
      'The timeout of \\"charge.compensate\\" in workflow \\"oddCompensation\\" is NaN',
    );
    await use.app.expectNothingLeft();
  });
});

test.each([
  ["a set, which has no fields,", "childrenInSet", "and are a Set"],
  ["a list of holes", "childrenInHoles", "; at 0 there is undefined"],
  ["a date, which has no fields either,", "childrenOnDate", "and are a Date"],
])("[S43] children in %s are refused: they are not none", async (_what, workflow, given) => {
  const error = await use.app.error(workflow, {});
  expect(error).toMatchObject({ kind: "invalidOutput", node: "all" });
  expect(error.message).toContain("must be a list or a record");
  expect(error.message).toContain(given);
  await use.app.expectNothingLeft();
});

test("[S78] an until that gives neither true nor false fails its loop: it would not end there", async () => {
  expect(await use.app.error("endsAtNumber", {})).toMatchObject({
    node: "again",
    message: 'The until of loop "again" gave 1: it must give true or false',
  });
});

test("[S64] [S96] the output of a workflow of sleeps alone is null, in its status too", async () => {
  const id = await use.app.start("onlySleeps", {});
  await use.app.drive();
  expect(await use.app.status("onlySleeps", id)).toMatchObject({
    state: "completed",
    output: null,
  });
});

describe("durations", () => {
  test.each(["5 ss", "3 mss", "1 hs", "1e3s", "-5m", "soon", "", "5", "9".repeat(400) + "d"])(
    "[S6] %j is none",
    (text) => {
      const given = () => durationMs(text as "5s");
      expect(given).toThrow(JSON.stringify(text).slice(0, 100));
      expect(given).toThrow("is not a duration");
    },
  );

  test.each([
    [NaN, "NaN"],
    [Infinity, "Infinity"],
    [-1, "-1"],
    [null, "null"],
    [{ hours: 2 }, "{ hours: 2 }"],
    [["1s"], "a list"],
    [() => 5, "a function"],
    [5n, "5n"],
  ])("[S6] %o is none, and is told as it was given", (value, told) => {
    expect(() => durationMs(value as number)).toThrow(`${told} is not a duration`);
  });

  test("one says whose it is, where that is known", () => {
    expect(() => durationMs(NaN, 'The timeout of "x"')).toThrow(
      'The timeout of "x" is NaN, which is not a duration: write',
    );
  });

  test.each([
    ["90s", 90_000],
    ["1.5 hours", 5_400_000],
    ["1 hour", 3_600_000],
    ["250ms", 250],
    ["2 weeks", 1_209_600_000],
    [0, 0],
  ] as const)("%j is %i ms", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });
});
