import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { isOf } from "./component.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

/** The numbers of the passes of which a stage has records. */
async function passesOf(stage: string): Promise<number[]> {
  return await use.app.inComponent(async (ctx) => {
    const own = ctx.db.query("steps").withIndex("by_stage", (q) => q.eq("stage", stage));
    return (await own.collect())
      .map(({ pass = [] }) => pass[0] ?? 0)
      .sort((one, other) => one - other);
  });
}

/** The first pass and the newest hundred. */
function keptOf(last: number): number[] {
  return [1, ...Array.from({ length: 100 }, (_none, n) => last - 99 + n)];
}

describe("passes are forgotten", () => {
  test.each(["fatAndThin", "fatUndoable"])(
    "[S79] %s: beside passes of another loop that are more than one transaction can read",
    async (name) => {
      await use.app.start(name, { inner: 20, bytes: 900_000, passes: 110 });
      await use.app.drive();
      expect(await passesOf("thin.one")).toEqual(keptOf(110));
      expect(await passesOf("fat.next")).toEqual([1, 2]);
      await use.app.expectNothingLeft();
      const pages = use.app.counter.calls.filter(isOf("features/iterations:removeMoreIterations"));
      expect(pages.length).toBeLessThan(10);
      expect(pages.filter(({ failed }) => failed)).toEqual([]);
    },
  );

  test.each([150, 199, 250])("[S79] of a loop that fails in its pass %i", async (at) => {
    expect(await use.app.error("endsEarly", { at, how: "fail" })).toMatchObject({ message: "no" });
    expect(await passesOf("again.next")).toEqual(keptOf(at));
    await use.app.expectNothingLeft();
  });

  test("[S79] of a loop in which the run is canceled", async () => {
    const id = await use.app.start("endsEarly", { at: 250, how: "wait" });
    await use.app.pass(60_000);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await use.app.drive();
    expect(await passesOf("again.wait")).toEqual(keptOf(250));
    await use.app.expectNothingLeft();
  });

  test("[S79] [S102] though the run is restarted behind the loop before that was done", async () => {
    const id = await use.app.start("thenEnds", { passes: 140 });
    // The job that forgets them is lost: the watchdog has it come again later.
    const hasLostJob = async () =>
      await use.app.inComponent(async (ctx) => {
        const job = (await ctx.db.query("continuations").first())?.job;
        if (job !== undefined) await ctx.scheduler.cancel(job);
        return job !== undefined;
      });
    await use.app.drive(hasLostJob);
    const hasEnded = async () => (await use.app.status("thenEnds", id))?.state === "completed";
    await use.app.drive(hasEnded);
    expect(await passesOf("again.one")).toHaveLength(140);
    await use.app.t.mutation(internal.manager.restart, {
      name: "thenEnds",
      runId: id,
      from: "end",
    });
    await use.app.drive();
    expect(await passesOf("again.one")).toEqual(keptOf(140));
    await use.app.expectNothingLeft();
  });
});

describe("outputs are gathered", () => {
  test("[S58] in loops with a large state, as much as leaves room for that", async () => {
    await use.app.t.mutation(internal.app.log, { text: "x".repeat(950_000) });
    const output = await use.app.output("gathersInLoops", { count: 7, fails: false });
    expect((output as string).trim()).toMatch(/^1 7\.+$/);
    expect(await use.app.error("gathersInLoops", { count: 12, fails: false })).toMatchObject({
      kind: "tooLarge",
    });
    await use.app.expectNothingLeft();
  });

  test.each([7, 8])("[S60] there a finalize of %i fails as itself, and at once", async (count) => {
    const begun = Date.now();
    const id = await use.app.start("gathersInLoops", { count, fails: true });
    const hasEnded = async () => (await use.app.status("gathersInLoops", id))?.state === "failed";
    await use.app.drive(hasEnded);
    expect(Date.now() - begun).toBeLessThan(5_000);
    expect(await use.app.status("gathersInLoops", id)).toMatchObject({
      error: { node: "outer.inner.all.finalize", message: `no, says the finalize of ${count}` },
    });
  });

  test("[S60] [S92] the same where there is much to undo", async () => {
    const error = await use.app.error("undoesMuch", { count: 9 });
    expect(error).toMatchObject({ message: "no, says the finalize of 9" });
    expect(await use.app.log()).toEqual(["undid 990000"]);
    await use.app.expectNothingLeft();
  });

  test.each(["mutation", "action"])(
    "[S58] more children than a transaction can read documents, for an %s",
    async (kind) => {
      const id = await use.app.start("lateChildren", { in: kind });
      await use.app.pass(1_000);
      const total = 33_000;
      const most = 8_000;
      for (let from = 1; from < total; from += most)
        await use.app.inComponent(async (ctx) => {
          const child = await ctx.db.query("runs").order("desc").first();
          if (child?.parentStep === undefined) throw new Error("There is no child");
          const { _id, _creationTime, ...fields } = child;
          const done = { ...fields, state: "completed" as const, output: null, endedAt: 1 };
          for (let index = from; index < Math.min(total, from + most); index++)
            await ctx.db.insert("runs", { ...done, index });
          await ctx.db.patch("steps", child.parentStep, { total });
        });
      await use.app.drive();
      expect(await use.app.status("lateChildren", id)).toMatchObject({
        state: "failed",
        error: { kind: "tooLarge", message: expect.stringMatching(/33000 children .*reduce/) },
      });
    },
    60_000,
  );
});
