import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { execute } from "../src/component/executor.js";

/* How long what an executor calls itself may take, from when. */

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Plays an executor with one attempt. @returns what it reports. @param act does the attempt. */
async function played(act: () => Promise<unknown>): Promise<unknown> {
  const reported: unknown[] = [];
  const token = { step: "step", generation: 1, attempt: 1 };
  const call = { fn: "fn", args: {}, workflow: "flow", node: "act", called: "act", timeout: "10s" };
  const ctx = {
    meta: { getRequestMetadata: async () => ({}) },
    runQuery: async () => ["slot"],
    runAction: act,
    runMutation: async (_record: unknown, { ended }: { ended: { report: unknown }[] }) => {
      reported.push(...ended.map(({ report }) => report));
      return { done: ended.length, refused: [], next: [], asks: false, lane: 0 };
    },
  };
  const works = [{ slot: "slot", fn: "own", args: { token }, call }];
  const { _handler } = execute as unknown as {
    _handler(ctx: unknown, args: unknown): Promise<null>;
  };
  const over = _handler(ctx, { range: 0, asks: false, works });
  await vi.advanceTimersByTimeAsync(60_000);
  await over;
  return reported;
}

test("[S38] [S156] the time of a function that finds no permit begins with the call that does", async () => {
  const since = Date.now();
  const act = async () => {
    if (Date.now() < since + 20_000) throw new Error("TooManyConcurrentRequests: try again");
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    return "done";
  };
  const [report] = (await played(act)) as [{ beganAt: number }];
  expect(report).toMatchObject({ kind: "success", output: "done" });
  expect(report.beganAt).toBeGreaterThanOrEqual(since + 20_000);
});

test("[S38] the time of one that has begun is its own", async () => {
  const act = async () => await new Promise((resolve) => setTimeout(resolve, 11_000));
  expect(await played(act)).toMatchObject([{ kind: "failed", error: { kind: "timedOut" } }]);
});
