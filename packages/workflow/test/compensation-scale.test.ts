import { describe, expect, test } from "vitest";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

// Pools of up to 200: on the smallest class works would share actions, of which carriers.test.ts is.
const use = useTestApp({ deploymentClass: "s256" });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Starts a run whose `onComplete` writes into the log. */
async function start(name: string, input: unknown): Promise<string> {
  await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
  return await use.app.t.mutation(internal.manager.start, { name, input, context: name });
}

async function cancel(runId: string): Promise<boolean> {
  return await use.app.t.mutation(internal.runs.cancel, { runId });
}

async function stateOf(name: string, id: string) {
  return (await use.app.status(name, id))?.state;
}

/** What of the log begins so, without that. */
function lines(log: readonly string[], begin: string): string[] {
  return log.filter((line) => line.startsWith(begin)).map((line) => line.slice(begin.length));
}

/**
 * What must hold of a run that has opened, had items made below it, and failed: each item is
 * undone once, after that the run itself, and after that its `onComplete` is called, once, with the
 * state that is final; no run is left that goes on.
 * @returns the items in the order in which they were undone.
 */
async function expectUndone(name: string, id: string, state: string): Promise<string[]> {
  expect(await stateOf(name, id)).toBe(state);
  const log = await use.app.log();
  const made = lines(log, "make ");
  const undone = lines(log, "undo ");
  expect(undone.toSorted()).toEqual(made.toSorted());
  expect(new Set(made).size).toBe(made.length);
  const [close, ended, ...more] = log.slice(1 + made.length + undone.length);
  expect([close, more]).toEqual(["close", []]);
  expect(JSON.parse(ended ?? "")).toMatchObject({ result: { state }, seen: state });
  const left = await use.app.inComponent(async (ctx) => {
    const runs = await ctx.db.query("runs").collect();
    return {
      going: runs.filter(({ endedAt }) => endedAt === undefined).length,
      undos: (await ctx.db.query("undos").collect()).length,
      continuations: (await ctx.db.query("continuations").collect()).length,
    };
  });
  expect(left).toEqual({ going: 0, undos: 0, continuations: 0 });
  await use.app.expectNothingLeft();
  return undone;
}

describe("more runs than one transaction cancels", () => {
  /*
   * Those that wait for their turn are canceled too, so the last baskets are left to the next
   * transactions.
   */
  const size = { baskets: 6, items: 80 };

  test(
    "[S93] [S95] canceled: compensating until all below is undone",
    { tags: ["large"] },
    async () => {
      const id = await start("shop", { ...size, ms: 2 * HOUR });
      await use.app.advance(MINUTE / 2);
      expect(await cancel(id)).toBe(true);
      expect(await stateOf("shop", id)).toBe("compensating");
      expect(await cancel(id)).toBe(false);
      await use.app.drive();
      expect(await expectUndone("shop", id, "canceled")).toHaveLength(12);
    },
  );

  test(
    "[S41] [S93] [S95] timed out: compensating until all below is undone",
    { tags: ["large"] },
    async () => {
      const id = await start("shop", { ...size, ms: 2 * HOUR });
      await use.app.drive();
      expect(await expectUndone("shop", id, "timedOut")).toHaveLength(12);
    },
  );

  test(
    "[S48] [S93] [S95] failed by one item: compensating until all below is undone",
    { tags: ["large"] },
    async () => {
      const id = await start("shop", { ...size, ms: 2 * HOUR, failing: 400 });
      await use.app.drive();
      expect(await expectUndone("shop", id, "failed")).toHaveLength(12);
    },
  );
});

describe("1,000 children", () => {
  test(
    "[S92] [S93] [S95] those that go on are undone first, then those that are complete, the latest first",
    { tags: ["large"] },
    async () => {
      const id = await start("fair", { items: 1_000, slow: 50 });
      await use.app.advance(MINUTE);
      await cancel(id);
      use.app.counter.clear();
      await use.app.drive();
      // Each is undone in a transaction of its own, which reads the same whatever else is left.
      const costs = use.app.counter.calls
        .filter(({ name, how }) => /(item|piece):entry$/.test(name) && how === "root")
        .map(({ total }) => total.documentsRead);
      expect(costs).toHaveLength(1_000);
      expect(Math.max(...costs)).toBeLessThan(40);
      const undone = await expectUndone("fair", id, "canceled");
      expect(undone).toHaveLength(1_000);
      // A piece is complete in the transaction in which it was made.
      const completed = lines(await use.app.log(), "make ").filter((n) => Number(n) < 950);
      expect(undone.slice(50)).toEqual(completed.toReversed());
    },
  );
});

describe("loops of more than 100 iterations", () => {
  /** How many records there are of each iteration, but for those of compensations. */
  async function recordsByIteration(): Promise<Map<number, number>> {
    const iterations = await use.app.inComponent(async (ctx) => {
      const steps = await ctx.db.query("steps").collect();
      return steps.flatMap(({ stage, iterations = [] }) =>
        stage.endsWith("compensate") ? [] : iterations,
      );
    });
    const records = new Map<number, number>();
    for (const iteration of iterations) records.set(iteration, (records.get(iteration) ?? 0) + 1);
    return records;
  }

  test.each([
    ["a mutation", "q", "m"],
    ["an action", "r", "x"],
  ])(
    "[S79] [S92] what undoes a step of an iteration long ago, as %s, sees what that iteration had made, and the loop as it was",
    { tags: ["large"] },
    async (kind, one, two) => {
      const id = await use.app.start("rounds", { iterations: 150, in: kind.split(" ")[1] });
      await use.app.drive();
      expect(await stateOf("rounds", id)).toBe("failed");
      expect(await use.app.log()).toEqual(
        Array.from({ length: 50 }, (_, n) => 150 - 3 * n).map(
          (k) => `${k}: before s${k - 1} a${k} ${one}${k} ${two}${k}`,
        ),
      );
      const records = await recordsByIteration();
      // a, how, s, and what stands in the case.
      for (let k = 1; k <= 150; k++)
        expect(records.get(k)).toBe(k % 3 === 0 ? 5 : k === 1 || k >= 51 ? 4 : undefined);
      await use.app.expectNothingLeft();
    },
  );

  test("[S79] [S92] the same of a loop inside another", { tags: ["large"] }, async () => {
    const id = await use.app.start("spiral", { outer: 2, inner: 160 });
    await use.app.drive();
    expect(await stateOf("spiral", id)).toBe("failed");
    expect(await use.app.log()).toEqual(
      [2, 1].flatMap((o) => [
        `o${o} o${o}i160 o${o}e ${o} o${o - 1}`,
        ...[151, 101, 51, 1].map((i) => `o${o} o${o}i${i} o${o}i${i}d ${i} o${o}i${i - 1}`),
      ]),
    );
  });

  test(
    "[S80] a loop that can be undone reads in its last iterations what it reads in others",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("rounds", { iterations: 400, in: "mutation" });
      await use.app.drive(async () => (await stateOf("rounds", id)) === "compensating");
      const costs = use.app.counter.calls
        .filter(({ name, how }) => name.endsWith("rounds:entry") && how === "root")
        .map(({ total }) => total.documentsRead);
      const most = (from: number, to: number) =>
        Math.max(...costs.slice(Math.floor(costs.length * from), Math.floor(costs.length * to)));
      expect(most(0.8, 0.95)).toBeLessThanOrEqual(most(0.3, 0.45));
    },
  );
});
