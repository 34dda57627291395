import { describe, expect, test } from "vitest";
import type { Page, TimelineEntry } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;

describe("[S167] an end", () => {
  test("in a case ends the run as completed: nothing after it runs, nothing is undone", async () => {
    const id = await use.app.start("lead", { score: 5 });
    await use.app.drive();
    const output = { state: "low", taken: 5 };
    const status = await use.app.status("lead", id);
    expect(status).toMatchObject({ state: "completed", output, active: [] });
    expect(await use.app.log()).toEqual([`completed ${JSON.stringify(output)}`]);
    expect(await use.app.steps(id)).toEqual([
      "taken completed",
      "early completed",
      "early.low.end completed",
      "onEnd completed",
    ]);
    await use.app.expectNothingLeft();
  });

  test("in a branch of a loop ends both, with what it sees there", async () => {
    const id = await use.app.start("lead", { tries: 1 });
    await use.app.drive();
    const status = await use.app.status("lead", id);
    expect(status).toMatchObject({
      state: "completed",
      output: { state: "tried", n: 1, early: 21 },
      endedAt: (status?.startedAt ?? 0) + 2 * MINUTE,
      active: [],
    });
    expect((await use.app.tree(id))[0]?.steps.every(({ state }) => state === "completed")).toBe(
      true,
    );
    await use.app.expectNothingLeft();
  });

  test("is not what a run comes to that goes another way", async () => {
    const output = { after: [21, 3], state: "found" };
    expect(await use.app.output("lead", {})).toEqual(output);
    expect(await use.app.log()).toEqual(["after", `completed ${JSON.stringify(output)}`]);
    await use.app.expectNothingLeft();
  });

  test("in a branch and in an item ends only that", async () => {
    const run = await use.app.run("parted", { tags: ["a", "", "b"] });
    expect(run).toMatchObject({
      output: { both: { short: 3, long: "two" }, tagged: ["a", "none at 1", "b"] },
      endedAt: run.startedAt + MINUTE,
    });
    expect(await use.app.output("parted", { tags: ["a"] })).toEqual({
      both: { short: "one", long: "two" },
      tagged: ["a"],
    });
    await use.app.expectNothingLeft();
  });

  test("may come in a transaction of its own, if that before it is full", async () => {
    expect(await use.app.output("filled", {})).toBe("filled by 19");
    await use.app.expectNothingLeft();
  });

  test("that throws, is async or gives too much fails the run, which is rolled back", async () => {
    const thrown = await use.app.error("lead", { score: 5, fails: true });
    expect(thrown).toMatchObject({ node: "early.low.end", message: "no end" });
    const late = await use.app.error("misended", { how: "late" });
    expect(late).toMatchObject({ kind: "thrown", node: "which.late.end" });
    expect(late?.message).toContain("must not be async");
    expect(await use.app.error("misended", { how: "large" })).toMatchObject({
      kind: "tooLarge",
      node: "which.large.end",
    });
    expect((await use.app.log()).filter((text) => text === "undo taken")).toHaveLength(3);
    await use.app.expectNothingLeft();
  });

  test("shows nothing that is made of what is sensitive", async () => {
    const run = await use.app.run("endsWithSecret", { secret: "psst" });
    expect(run).toMatchObject({ state: "completed" });
    expect(JSON.stringify(run)).not.toContain("psst");
    await use.app.expectNothingLeft();
  });

  test("leaves a timeline in which what it skips is skipped", async () => {
    const runId = await use.app.start("lead", { score: 5 });
    await use.app.drive();
    const page = { numItems: 50, cursor: null };
    const args = { name: "lead", runId, page };
    const told = await use.app.t.query(internal.manager.steps, args);
    const { page: rows } = told as unknown as Page<TimelineEntry>;
    expect(rows.map(({ node, kind = "", state }) => `${node} ${kind} ${state}`)).toEqual([
      "taken mutation completed",
      "early branch completed",
      "early.high.checked  skipped",
      "early.low.end end completed",
      "search  skipped",
      "search.rest  skipped",
      "search.enough  skipped",
      "search.enough.stop.end  skipped",
      "search.made  skipped",
      "after  skipped",
      "finalize  skipped",
      "onEnd mutation completed",
    ]);
  });

  test("is come to again by a restart from any node after it", async () => {
    const runId = await use.app.start("lead", { tries: 1 });
    await use.app.drive();
    await use.app.t.mutation(internal.manager.restart, { name: "lead", runId, from: "after" });
    await use.app.drive();
    expect(await use.app.status("lead", runId)).toMatchObject({
      state: "completed",
      generation: 2,
      output: { state: "tried", n: 1 },
    });
    const own = await use.app.start("filled", {});
    await use.app.drive();
    await use.app.t.mutation(internal.manager.restart, {
      name: "filled",
      runId: own,
      from: "fill",
    });
    await use.app.drive();
    expect(await use.app.status("filled", own)).toMatchObject({ output: "filled by 19" });
    await use.app.expectNothingLeft();
  });
});

test("[S167] [S97] an end reads the loop whose state it makes", async () => {
  expect(await use.app.output("spun", {})).toEqual({ both: { one: 3 } });
});
