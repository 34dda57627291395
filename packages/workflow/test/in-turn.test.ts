/** @module-tag large */
import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

/* Children take turns: who starts next, who is the last, and what a pause does to that. */

const use = useTestApp();
const SECOND = 1_000;

const resting = (...ms: number[]) => ms.map((each) => ({ ms: each, fails: false }));
const failing = (...ms: number[]) => ms.map((each) => ({ ms: each, fails: true }));

/** How many children of a run are in a state. */
async function countIn(state: string, id: string): Promise<number> {
  return (await use.app.tree(id)).filter((run) => run.parentRunId === id && run.state === state)
    .length;
}

describe("two at once", () => {
  test("[S53] children whose successors have had their turn leave these alone", async () => {
    // The second child and its successors have started all others by the time the first one ends.
    const id = await use.app.start("twoRest", { rests: resting(SECOND, 10, 10, 10, 10) });
    await use.app.advance(2 * SECOND);
    expect(await use.app.status("twoRest", id)).toMatchObject({ output: Array(5).fill(true) });
  });

  test.each([1, 8])(
    "[S43] the last child is waited for, though a snapshot lacks the %i newest commits",
    async (lag) => {
      const app = new TestApp({ lag: () => lag });
      const rests = resting(10, 10, 5 * SECOND);
      const status = await app.run("twoRest", { rests });
      expect(status).toMatchObject({ state: "completed", output: [true, true, true] });
      if (status.state !== "completed") return;
      expect(status.endedAt - status.startedAt).toBeGreaterThanOrEqual(5 * SECOND);
      await app.expectNothingLeft();
    },
  );

  test("[S49] the parent goes on after the last child, though that fails and is tolerated", async () => {
    const rests = [...resting(10), ...failing(SECOND)];
    expect(await use.app.output("twoRest", { rests })).toEqual([true, false]);
    await use.app.expectNothingLeft();
  });

  test("[S53] [S103] no more begin after a resume, in the place of what has ended meanwhile", async () => {
    const leaves = Array.from({ length: 6 }, (_, n) => ({ n, ms: SECOND }));
    const id = await use.app.start("twoAtOnce", { leaves });
    await use.app.advance(SECOND / 2);
    await use.app.t.mutation(internal.manager.pause, { runId: id });
    await use.app.advance(10 * SECOND);
    const counts = async () => [
      await countIn("completed", id),
      await countIn("running", id),
      await countIn("pending", id),
    ];
    expect(await counts()).toEqual([2, 0, 4]);
    await use.app.t.mutation(internal.manager.resume, { runId: id });
    expect(await counts()).toEqual([2, 2, 2]);
    await use.app.drive();
    expect(await use.app.status("twoAtOnce", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });
});
