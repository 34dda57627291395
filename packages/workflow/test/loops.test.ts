import { describe, expect, test } from "vitest";
import { internal as component } from "../src/component/_generated/api.js";
import type { Doc } from "../src/component/_generated/dataModel.js";
import { isOf } from "./component.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

async function stepsOf(runId: string): Promise<Doc<"steps">[]> {
  return await use.app.inComponent(async (ctx) =>
    (await ctx.db.query("steps").collect()).filter(({ run }) => run === runId),
  );
}

describe("loops", () => {
  test(
    "[S79] of two loops one after the other each keeps its newest iterations, whatever the other keeps",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("twoLoops", { iterations: 150 });
      await use.app.drive();
      expect(await use.app.status("twoLoops", id)).toMatchObject({ state: "completed" });
      const steps = await stepsOf(id);
      const iterations = (stage: string) => steps.filter((step) => step.stage === stage).length;
      expect(iterations("first.done")).toBe(150);
      expect(iterations("second.counted")).toBeLessThanOrEqual(102);
    },
  );
});

async function send(name: string, run: string, event: string, payload: unknown): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

test(
  "[S81] loops whose bodies do nothing come to their end, in several transactions",
  { tags: ["large"] },
  async () => {
    const id = await use.app.start("idleLoops", { iterations: 150 });
    for (let n = 0; n < 75; n++) await send("idleLoops", id, "word", n);
    await use.app.drive();
    for (let n = 75; n < 150; n++) await send("idleLoops", id, "word", n);
    await use.app.drive();
    expect(await use.app.status("idleLoops", id)).toMatchObject({
      state: "completed",
      output: 149,
    });
    await use.app.expectNothingLeft();
  },
);

test("[S79] [S102] iterations that were still to be removed when a run was restarted are not those of the new generation", async () => {
  const id = await use.app.start("twoLoops", { iterations: 5 });
  await use.app.drive();
  const loop = (await stepsOf(id)).find(({ stage }) => stage === "second")?._id;
  await use.app.t.mutation(internal.manager.restart, { name: "twoLoops", runId: id });
  await use.app.drive();
  await use.app.inComponent(async (ctx) => {
    const at = { permanent: true, iterations: [2], createdAt: 0 };
    const page = {
      run: id,
      loop,
      names: ["second"],
      iterations: [],
      from: 2,
      to: 5,
      undoable: [],
      at,
    };
    const continuation = await ctx.db.insert("continuations", { fn: "", page });
    await ctx.scheduler.runAfter(0, component.features.iterations.removeMoreIterations, {
      continuation,
    });
  });
  await use.app.drive();
  const counted = (await stepsOf(id)).filter(({ stage }) => stage === "second.counted");
  expect(counted).toHaveLength(5);
});

/** The numbers of the iterations of which a stage has records. */
async function iterationsOf(stage: string): Promise<number[]> {
  return await use.app.inComponent(async (ctx) => {
    const own = ctx.db.query("steps").withIndex("by_stage", (q) => q.eq("stage", stage));
    return (await own.collect())
      .map(({ iterations = [] }) => iterations[0] ?? 0)
      .sort((one, other) => one - other);
  });
}

/** The first iteration and the newest hundred. */
function keptOf(last: number): number[] {
  return [1, ...Array.from({ length: 100 }, (_none, n) => last - 99 + n)];
}

describe("old iterations are removed", () => {
  test.each(["fatAndThin", "fatUndoable"])(
    "[S79] %s: beside iterations of another loop that are more than one transaction can read",
    { tags: ["large"] },
    async (name) => {
      await use.app.start(name, { inner: 20, bytes: 900_000, iterations: 110 });
      await use.app.drive();
      expect(await iterationsOf("thin.one")).toEqual(keptOf(110));
      expect(await iterationsOf("fat.next")).toEqual([1, 2]);
      await use.app.expectNothingLeft();
      const pages = use.app.counter.calls.filter(isOf("features/iterations:removeMoreIterations"));
      expect(pages.length).toBeLessThan(10);
      expect(pages.filter(({ failed }) => failed)).toEqual([]);
    },
  );

  test.each([150, 199, 250])(
    "[S79] of a loop that fails in its iteration %i",
    { tags: ["large"] },
    async (at) => {
      expect(await use.app.error("endsEarly", { at, how: "fail" })).toMatchObject({
        message: "no",
      });
      expect(await iterationsOf("again.next")).toEqual(keptOf(at));
      await use.app.expectNothingLeft();
    },
  );

  test("[S79] of a loop in which the run is canceled", { tags: ["large"] }, async () => {
    const id = await use.app.start("endsEarly", { at: 250, how: "wait" });
    await use.app.advance(60_000);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await use.app.drive();
    expect(await iterationsOf("again.wait")).toEqual(keptOf(250));
    await use.app.expectNothingLeft();
  });

  test(
    "[S79] [S102] though the run is restarted behind the loop before that was done",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("thenEnds", { iterations: 140 });
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
      expect(await iterationsOf("again.one")).toHaveLength(140);
      await use.app.t.mutation(internal.manager.restart, {
        name: "thenEnds",
        runId: id,
        from: "last",
      });
      await use.app.drive();
      expect(await iterationsOf("again.one")).toEqual(keptOf(140));
      await use.app.expectNothingLeft();
    },
  );
});
