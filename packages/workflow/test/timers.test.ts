/** @module-tag large */
import { describe, expect, test } from "vitest";
import { isOf } from "./component.js";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });

/** The pool's last sweep, and the last rounds of its drain. */
const isOfPool = isOf("watchdog:sweep", "watchdog:drainQueue");

/** The scheduled functions that are still to come, but for the pool's own. */
async function scheduled(app: TestApp = use.app): Promise<string[]> {
  return await app.inComponent(async (ctx) => {
    const jobs = await ctx.db.system.query("_scheduled_functions").collect();
    return jobs
      .filter((job) => job.state.kind === "pending" && !isOfPool(job))
      .map(({ name }) => name);
  });
}

describe("timers", () => {
  test.each([
    { name: "limited", input: { ms: MINUTE }, how: "completes" },
    { name: "limited", input: { ms: HOUR }, how: "is canceled" },
    { name: "limited", input: { ms: HOUR }, how: "fails" },
    { name: "tooLong", input: { ms: MINUTE }, how: "completes" },
    { name: "tooLong", input: { ms: 2 * HOUR }, how: "is canceled" },
    { name: "timedParent", input: { handlerMs: 0, childMs: 0, finalizeMs: 0 }, how: "completes" },
    { name: "flaky", input: { goodAttempt: 2 }, how: "is canceled" },
  ])("[S42] none is left when a run of $name $how", async ({ name, input, how }) => {
    const id = await use.app.start(name, input);
    const hasEnded = async () => "endedAt" in Object((await use.app.status(name, id)) ?? {});
    if (how === "is canceled") {
      await use.app.advance(100);
      expect((await scheduled()).length).toBeGreaterThan(0);
      await cancel(id);
      // What it has done is undone.
      await use.app.advance(10);
    } else await use.app.drive(hasEnded);
    expect(await hasEnded()).toBe(true);
    expect(await scheduled()).toEqual([]);
  });
});
