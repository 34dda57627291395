import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Info } from "../src/index.js";
import { attemptOf } from "../src/runtime/attempt.js";
import { useTestApp } from "./harness.js";

describe("an attempt that computes without a pause", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const attempt = async (handler: (info: Info) => unknown) =>
    await attemptOf("busy", { timeout: 1_000 }, {} as Omit<Info, "signal">, handler);
  const slept = async (ms: number) => await new Promise<void>((resolve) => setTimeout(resolve, ms));
  const timedOut = { kind: "failed", problem: { kind: "timedOut" } };

  test("[S38] at its beginning: it has timed out as soon as it pauses", async () => {
    const begun = Date.now();
    let signal: AbortSignal | undefined;
    const ended = attempt(async (info) => {
      signal = info.signal;
      // Here the timers that come due meanwhile fire at once, and not at the next pause.
      vi.advanceTimersByTime(1_500);
      await slept(500);
      return "done";
    }).then((outcome) => [outcome, Date.now() - begun]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await ended).toMatchObject([timedOut, 1_500]);
    expect(signal?.aborted).toBe(true);
  });

  test.each([
    ["gives something", () => "done"],
    [
      "throws",
      () => {
        throw new Error("late");
      },
    ],
  ])("[S38] at its end, when it then %s", async (_what, end) => {
    let signal: AbortSignal | undefined;
    const ended = attempt(async (info) => {
      signal = info.signal;
      await slept(10);
      // The clock goes on, and no timer fires.
      vi.setSystemTime(Date.now() + 1_500);
      return end();
    });
    await vi.advanceTimersByTimeAsync(10);
    expect(await ended).toMatchObject(timedOut);
    expect(signal?.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("[S38] without a pause at all", async () => {
    const ended = attempt(() => void vi.setSystemTime(Date.now() + 1_001));
    expect(await ended).toMatchObject(timedOut);
  });

  test("[S38] and is in time", async () => {
    const ended = attempt(() => {
      vi.setSystemTime(Date.now() + 1_000);
      return "done";
    });
    expect(await ended).toEqual({ kind: "success", output: "done" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("in an app", () => {
  const use = useTestApp();

  const issues = async (input: unknown) => {
    const error: unknown = await use.app.start("checkedDeeply", input).then(String, String);
    return String(error).split("\n").slice(1);
  };

  test("[S14] a Convex validator: every issue with its path", async () => {
    const found = await issues({ a: 1, b: { c: "x" }, extra: 3 });
    expect(found).toEqual([
      "  input.a: Expected `string`, got `number`",
      "  input.b.c: Expected `number`, got `string`",
      "  input.extra: Expected `nothing`, got `number`",
    ]);
  });

  test("[S14] the same in lists, records and unions, and of what is missing", async () => {
    const found = await issues({
      b: { c: 1, d: null },
      list: [{ n: 1 }, { n: "2" }, 3, { n: 4, more: [] }],
      record: { good: true, bad: 0, worse: 1n, gone: undefined },
      union: { kind: "y", many: "few" },
    });
    expect(found).toEqual([
      "  input.a: Expected `string`, got `undefined`",
      "  input.b.d: Expected `number`, got `null`",
      "  input.list.1.n: Expected `number`, got `string`",
      "  input.list.2: Expected `object`, got `number`",
      "  input.list.3.more: Expected `nothing`, got `object`",
      "  input.record.bad: Expected `boolean`, got `number`",
      "  input.record.worse: Expected `boolean`, got `bigint`",
      "  input.union: Expected `x`, got `object`; for many: Expected `number`, got `string`",
    ]);
  });

  test("[S14] a value in the place of a literal is not shown", async () => {
    const whole = { a: "", b: { c: 1 } };
    expect(await issues({ ...whole, union: "secret\n`" })).toEqual([
      "  input.union: Expected `x`, got something else; Expected `object`, got `string`",
    ]);
    expect(await issues({ ...whole, union: { kind: "secret", many: 1 } })).toEqual([
      "  input.union: Expected `x`, got `object`; for kind: Expected `y`, got something else",
    ]);
  });

  test("[S14] what is no plain object is one issue, and no list of fields that it lacks", async () => {
    expect(await issues(null)).toEqual(["  input: Expected `object`, got `null`"]);
    expect(await issues({ a: "", b: [] })).toHaveLength(1);
  });

  test("[S10] children of a workflow that only a function of the file names", async () => {
    expect(await use.app.output("mixedChildren", {})).toEqual([10, [20, 30]]);
  });

  test("[S15] a schema whose asynchronous check fails is refused, and nothing is left to handle", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    try {
      await expect(use.app.start("refusedLater", { id: "x" })).rejects.toThrow(/asynchronous/);
      await use.app.drive();
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
  });

  test("[S17] the input of a .child that does not fit fails that child", async () => {
    expect(await use.app.error("badOnlyChild", {})).toMatchObject({
      kind: "childFailed",
      node: "below",
      cause: {
        kind: "invalidInput",
        workflow: "leaf",
        message: expect.stringMatching(/input\.n/),
      },
    });
    await use.app.expectNothingLeft();
  });

  test("[S22] a bigint of more than 64 bits in a result fails with its path", async () => {
    expect(await use.app.error("givesBigint", { large: true })).toMatchObject({
      kind: "invalidOutput",
      message: expect.stringContaining("result.a.b[1] is a bigint that does not fit into 64 bits"),
    });
    expect(await use.app.output("givesBigint", { large: false })).toEqual({
      a: { b: [1n, 2n ** 63n - 1n] },
    });
  });

  test.each([
    ["bigint", "10n"],
    ["bigintInside", '{"code":10n,"message":"bad"}'],
    ["cycle", '["bad",{"list":[cyclic]}]'],
    ["map", 'Map [["a",{"n":1n}],[2,"b"]]'],
    ["set", '{"names":Set ["x","y"]}'],
    [
      "mixed",
      '{"error":TypeError: no,"at":"1970-01-01T00:00:00.000Z","none":undefined,"call":Symbol(s)}',
    ],
    ["unreadable", "[unreadable object]"],
  ])(
    "[S37] a value that JSON does not have is kept readably when it is thrown: %s",
    async (what, text) => {
      expect(await use.app.error("oddThrows", { what })).toMatchObject({
        kind: "thrown",
        message: `Thrown: ${text}`,
      });
    },
  );

  test("[S57] what step puts into the value it begins with is not there for the next run", async () => {
    expect(await use.app.output("foldedInPlace", { of: 3 })).toEqual([0, 10, 20]);
    expect(await use.app.output("foldedInPlace", { of: 2 })).toEqual([0, 10]);
  });
});
