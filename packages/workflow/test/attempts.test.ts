import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Info, RetryAfter } from "../src/index.js";
import { describeThrown } from "../src/errors/failure.js";
import { attemptOf } from "../src/attempts.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

describe("retry", () => {
  test("[S32] no wait is longer than maxBackoffMs", async () => {
    const starts: number[] = [];
    use.app.counter.onCall(({ name, startedAt }) => {
      if (name.endsWith("capped:attempt")) starts.push(startedAt);
    });
    await use.app.run("capped", {});
    const waits = starts.slice(1).map((at, i) => at - (starts[i] ?? 0));
    expect(waits).toHaveLength(4);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2_001);
    expect(waits[0]).toBeLessThanOrEqual(1_501);
  });

  test.each(["action", "mutation", "query"])(
    "[S33] a NonRetryableError of a nested %s stops at once, and keeps its data",
    async (of) => {
      expect(await use.app.error("nestedRefusal", { of })).toMatchObject({
        kind: "nonRetryable",
        message: "never again",
        data: { code: 9 },
        attempt: 1,
      });
    },
  );

  test("[S33] so does that of a referenced one", async () => {
    expect(await use.app.error("referencedRefusal", {})).toMatchObject({
      kind: "nonRetryable",
      attempt: 1,
    });
  });

  test("[S35] the step's own settings go before the workflow's, and without any there is one attempt", async () => {
    expect(await use.app.output("overridden", {})).toEqual(["attempt 2", "attempt 1", "attempt 4"]);
    expect(await use.app.error("notRetried", {})).toMatchObject({ message: "once", attempt: 1 });
  });
});

describe("what a retry may say", () => {
  test("[S153] maxAttempts is enough, and `when` chooses the errors that are tried again", async () => {
    expect(await use.app.output("retriedWhen", { codes: [500, 500, 500] })).toBe(4);
    expect(await use.app.error("retriedWhen", { codes: [500, 400] })).toMatchObject({
      data: { code: 400 },
      attempt: 2,
    });
    expect(await use.app.error("retriedWhen", { codes: [500, 500, 500, 500] })).toMatchObject({
      attempt: 4,
    });
  });

  test("[S153] with maxAttempts alone, the waits are those of `true`", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const starts: number[] = [];
    use.app.counter.onCall(({ name, startedAt }) => {
      if (name.endsWith("retriedWhen:attempt")) starts.push(startedAt);
    });
    await use.app.output("retriedWhen", { codes: [500, 500, 500] });
    const waits = starts.slice(1).map((at, i) => at - (starts[i] ?? 0));
    for (const [i, usual] of [250, 500, 1_000].entries())
      expect(Math.abs((waits[i] ?? 0) - usual)).toBeLessThan(50);
  });

  test("[S153] the step fails with what `when` throws, and says what it was asked about", async () => {
    const { message } = (await use.app.error("retriedWhen", { codes: [501] }))!;
    expect(message).toBe(
      `The retry.when of "attempt" failed: cannot say of 501. It was asked about: {"code":501}`,
    );
    const other = (await use.app.error("retriedWhen", { codes: [600] }))!;
    expect(other.message).toMatch(
      /^The retry\.when of "attempt" failed: it gave .*, and must give/,
    );
  });

  test.each([
    { after: "90s", nested: false },
    { after: 90_000, nested: true },
  ])("[S154] the next attempt comes when a RetryAfter says: %o", async (input) => {
    const starts: number[] = [];
    use.app.counter.onCall(({ name, startedAt }) => {
      if (name.endsWith("askedLater:attempt")) starts.push(startedAt);
    });
    expect(await use.app.output("askedLater", input)).toBe(2);
    const [first = 0, second = 0] = starts;
    expect(second - first).toBeGreaterThanOrEqual(90_000);
    expect(second - first).toBeLessThan(90_100);
  });

  test("[S154] without attempts left it is an error like any other, with its data", async () => {
    expect(await use.app.error("notAskedAgain", {})).toMatchObject({
      kind: "thrown",
      message: expect.stringMatching(/^Asked to be tried again at \d{4}-/),
      attempt: 1,
    });
    expect(() => new RetryAfter("1 fortnight" as "1 day")).toThrow(/is not a duration/);
    expect(() => new RetryAfter(new Date(Number.NaN))).toThrow(/is an invalid date/);
  });
});

async function cancel(runId: string): Promise<void> {
  await use.app.t.mutation(internal.runs.cancel, { runId });
}

describe("what a handler can ask", () => {
  test("[S29] [S38] the run's id; the signal is aborted when its time is over", async () => {
    const id = await use.app.start("watchful", { canceled: false });
    await use.app.drive();
    expect(await use.app.status("watchful", id)).toMatchObject({ error: { kind: "timedOut" } });
    expect(await use.app.log()).toEqual([`${id} aborted true canceled true`]);
  });

  test("[S84] whether the run was canceled, which aborts no signal", async () => {
    const id = await use.app.start("watchful", { canceled: true });
    await use.app.advance(1_000);
    await cancel(id);
    await use.app.drive();
    expect(await use.app.log()).toEqual([`${id} aborted false canceled true`]);
    await use.app.expectNothingLeft();
  });
});

describe("an attempt that computes without a pause", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const attempt = async (handler: (info: Pick<Info, "signal">) => unknown) =>
    await attemptOf("busy", 1_000, (signal) => handler({ signal })).then(
      (output) => ({ kind: "success", output }),
      (error: unknown) => ({ kind: "failed", problem: describeThrown(error) }),
    );
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
