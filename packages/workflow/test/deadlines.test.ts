import { expect, test } from "vitest";
import { components } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const HOUR = 3_600_000;

/** A run that has less time than it needs, and whose deadline nobody watches any more. */
async function unwatched(name: string): Promise<string> {
  const id = await use.app.start(name, {});
  await use.app.pass(1_000);
  expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: false });
  await use.app.inComponent(async (ctx) => {
    const deadline = await ctx.db.query("deadlines").first();
    if (deadline?.job !== undefined) await ctx.scheduler.cancel(deadline.job);
  });
  expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
  return id;
}

const ends = [
  ["oversleeps", "timedOut"],
  ["outlasts", "failed"],
] as const;

test.each(ends)(
  "[S111] the scheduled function of a timeout was canceled by hand, of %s: repair mends it",
  async (name, state) => {
    const id = await unwatched(name);
    await use.app.t.mutation(components.workflow.steering.repair, {});
    await use.app.pass(1_000);
    expect(await use.app.status(name, id)).toMatchObject({ stalled: false });
    await use.app.pass(HOUR);
    expect(await use.app.status(name, id)).toMatchObject({ state, error: { kind: "timedOut" } });
    await use.app.drive();
    await use.app.expectNothingLeft();
  },
);

test.each(ends)(
  "[S111] the same of %s is noticed when its time is up, by the next sweep",
  async (name, state) => {
    const id = await unwatched(name);
    await use.app.pass(2 * HOUR);
    expect(await use.app.status(name, id)).toMatchObject({ state: "running", stalled: true });
    // Something else runs: so the watchdog is on.
    await use.app.start("brief", { leaves: [] });
    await use.app.pass(2 * 60_000);
    expect(await use.app.status(name, id)).toMatchObject({ state, error: { kind: "timedOut" } });
    await use.app.drive();
    await use.app.expectNothingLeft();
  },
);
