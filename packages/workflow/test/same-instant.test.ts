import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

test.each(["its time", "a resume after its time"])(
  "[S73] a step that runs because of %s sends its own run such an event: it is for the next node",
  async (why) => {
    const id = await use.app.start("impatient", {});
    await use.app.advance(100);
    if (why !== "its time") await pause(id);
    await use.app.advance(2 * HOUR);
    if (why !== "its time") await resume(id);
    await use.app.drive();
    expect(await use.app.status("impatient", id)).toMatchObject({
      output: {
        word: { timedOut: true },
        again: { timedOut: false, event: { name: "word", value: "own" } },
      },
    });
    expect(await use.app.log()).toEqual(["said true"]);
    const said = use.app.counter.calls.filter(({ name }) => name.endsWith("impatient:said"));
    expect(said).toHaveLength(1);
    await use.app.expectNothingLeft();
  },
);

test("[S55] [S92] a branch that goes on as its sibling fails leaves nothing that is not undone", async () => {
  const id = await use.app.start("atOneMoment", {});
  await use.app.drive();
  expect(await use.app.status("atOneMoment", id)).toMatchObject({ state: "failed" });
  const log = await use.app.log();
  expect(log).toEqual(log.includes("held") ? ["held", "undone"] : []);
});

describe("at the very moment", () => {
  const limits = { attempt: 10 * MINUTE, run: HOUR, parent: 10 * MINUTE };
  const moments = Object.entries(limits).flatMap(([what, ms]) =>
    [-1, 0, 1].map((by) => ({ what, by, ms: ms + by })),
  );

  test.each(moments)(
    "[S38] [S40] [S41] [S101] what takes $ms ms ends $by ms from when the time of the $what is over: the run ends once",
    { tags: ["large"] },
    async ({ what, ms, by }) => {
      const id = await use.app.t.mutation(internal.manager.start, {
        name: "raced",
        input: { what, ms },
        context: "c",
      });
      await use.app.drive();
      const { state } = (await use.app.status("raced", id))!;
      if (by < 0) expect(state).toBe("completed");
      if (by > 0) expect(state).toBe(what === "run" ? "timedOut" : "failed");
      const log = await use.app.log();
      const calls = log.filter((line) => line.startsWith("{"));
      expect(calls.map((line) => (JSON.parse(line) as { seen: string }).seen)).toEqual([state]);
      expect(log.filter((line) => line === "undone")).toHaveLength(state === "completed" ? 0 : 1);
      await use.app.expectNothingLeft();
    },
  );
});
