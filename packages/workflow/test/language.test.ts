/** @module-tag large */
import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("a finalize by reference", () => {
  test("[S21] [S47] [S127] a mutation, an action and a query of the app get the value of args", async () => {
    expect(await use.app.output("referencedFinalize", { n: 1 })).toBe(30 + 1_100 + 1);
    const log = await use.app.log();
    expect(log[0]).toBe("noted 10 20");
    // The action is retried by its own settings, with one key.
    expect(log[1]).toBe(log[2]);
    expect(log.at(-1)).toBe("noted 30 1100 1");
    await use.app.expectNothingLeft();
  });
});

describe("an event whose timeout depends on the scope", () => {
  test.each<[{ wait: string | number; until?: number }, number]>([
    [{ wait: "2h" }, 2 * HOUR],
    [{ wait: 5 * MINUTE }, 5 * MINUTE],
    [{ wait: 0, until: 3 * HOUR }, 3 * HOUR],
    [{ wait: 0, until: -HOUR }, 0],
    [{ wait: 0 }, 0],
  ])("[S68] [S73] [S128] %o", async ({ wait, until }, ms) => {
    const begun = Date.now();
    const id = await use.app.start("patiently", {
      wait,
      ...(until === undefined ? {} : { until: begun + until }),
    });
    await use.app.drive();
    const status = await use.app.status("patiently", id);
    if (status?.state !== "completed") throw new Error(`It is ${status?.state}`);
    expect(status.output).toBe("late");
    expect(status.endedAt - begun).toBeGreaterThanOrEqual(ms);
    expect(status.endedAt - begun).toBeLessThan(ms + MINUTE);
    await use.app.expectNothingLeft();
  });

  test("[S73] [S128] one that comes in time", async () => {
    const id = await use.app.start("patiently", { wait: "2h" });
    await use.app.advance(HOUR);
    const args = { name: "patiently", run: id, event: "answer", payload: "here" };
    await use.app.t.mutation(internal.manager.sendEvent, args);
    await use.app.drive();
    expect(await use.app.status("patiently", id)).toMatchObject({ output: "here" });
    await use.app.expectNothingLeft();
  });

  test.each([{ wait: "soon" }, { wait: -1 }, { wait: 0, until: 1e300 }])(
    "[S6] [S128] %o fails the run, and names the option",
    async (input) => {
      expect(await use.app.error("patiently", input)).toMatchObject({
        message: expect.stringContaining('timeout of "answer" in workflow "patiently"'),
        node: "answer",
      });
    },
  );
});

describe("recover of a child and a parent", () => {
  test("[S90] [S129] a .child gives its output, or what recover gives", async () => {
    expect(await use.app.output("recovered", { fails: false })).toBe(10);
    expect(await use.app.output("recovered", { fails: true })).toEqual({
      kind: "childFailed",
      cause: "leaf 1 fails",
      fails: true,
    });
    await use.app.expectNothingLeft();
  });

  test.each([
    [undefined, 3],
    ["handler", "thrown at all.output"],
    ["children", "thrown at all"],
    ["input", "childFailed at all"],
    ["child", "childFailed at all"],
    ["finalize", "thrown at all.finalize"],
    ["time", "timedOut at all"],
  ])("[S90] [S129] a parent that fails at its %s", async (at, all) => {
    const input = at === undefined ? {} : { at };
    expect(await use.app.output("recoveredParent", input)).toEqual({ all });
    await use.app.expectNothingLeft();
  });

  test.each([
    [undefined, "well"],
    ["handler", "thrown at all.output;"],
    ["child", "childFailed at all;"],
    ["finalize", "thrown at all.finalize;"],
    ["time", "timedOut at all;"],
  ])(
    "[S90] [S129] a parent of actions in a loop that fails at its %s",
    { tags: ["large"] },
    async (at, each) => {
      const input = at === undefined ? {} : { at };
      const place = each.replaceAll(" all", " iterations.all");
      const expected = at === undefined ? "well" : place.repeat(2);
      expect(await use.app.output("recoveredActions", input)).toBe(expected);
      await use.app.expectNothingLeft();
    },
  );

  test("[S90] [S129] the siblings are canceled, and the timeline keeps the error", async () => {
    const id = await use.app.start("recoveredParent", { at: "child" });
    await use.app.drive();
    const [, ...children] = await use.app.tree(id);
    expect(children.map(({ state }) => state).sort()).toEqual(["canceled", "completed", "failed"]);
    const [top] = await use.app.tree(id);
    expect(top!.steps.find(({ stage }) => stage === "all")).toMatchObject({
      state: "completed",
      errors: [{ kind: "childFailed" }],
    });
  });

  test("[S31] [S129] a parent whose time is up is not tried again, whatever its retry says", async () => {
    const id = await use.app.start("recoveredParent", { at: "time" });
    await use.app.drive();
    const [top, ...children] = await use.app.tree(id);
    expect(children).toHaveLength(3);
    expect(top!.steps.find(({ stage }) => stage === "all")).toMatchObject({ attempt: 1 });
  });

  test("[S90] [S129] a recover that throws fails the run with both errors", async () => {
    expect(await use.app.error("recoveredParent", { at: "recover" })).toMatchObject({
      message: 'The recover of "all" failed: the recover fails',
      cause: { kind: "childFailed", cause: { message: "leaf 1 fails" } },
    });
    await use.app.expectNothingLeft();
  });

  test("[S91] [S129] it is not asked when the run is canceled", async () => {
    const id = await use.app.start("recoveredParent", {});
    await use.app.advance(100);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await use.app.drive();
    expect(await use.app.status("recoveredParent", id)).toMatchObject({ state: "canceled" });
    await use.app.expectNothingLeft();
  });

  test("[S91] [S129] a child that was canceled by itself is a failure: it is asked", async () => {
    const id = await use.app.start("recoveredParent", {});
    await use.app.advance(100);
    const child = (await use.app.tree(id)).at(-1);
    await use.app.t.mutation(internal.runs.cancel, { runId: child!.runId });
    await use.app.drive();
    const status = await use.app.status("recoveredParent", id);
    expect(status).toMatchObject({ output: { all: "childFailed at all" } });
  });

  test("[S92] [S129] what its children have done is undone when the run fails later", async () => {
    expect(await use.app.error("recoveredThenUndone", {})).toMatchObject({ message: "too bad" });
    expect(await use.app.log()).toEqual(["booked", "booked", "undone", "undone"]);
    await use.app.expectNothingLeft();
  });
});

describe("the timeout of a loop", () => {
  test(
    "[S130] is over all iterations: the run fails at the loop, and what was done is undone",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("limitedLoop", { iterations: 100 });
      const begun = Date.now();
      await use.app.advance(30 * MINUTE);
      const status = await use.app.status("limitedLoop", id);
      expect(status?.active.find(({ node }) => node === "poll")).toMatchObject({
        timesOutAt: begun + HOUR,
      });
      await use.app.drive();
      expect(await use.app.status("limitedLoop", id)).toMatchObject({
        state: "failed",
        endedAt: begun + HOUR,
        error: {
          kind: "timedOut",
          node: "poll",
          message: '"poll" took longer than its timeout of 1h',
        },
      });
      expect(await use.app.steps(id)).toContain("poll timedOut");
      expect(await use.app.log()).toEqual(["undone"]);
      await use.app.expectNothingLeft();
    },
  );

  test("[S130] what runs inside is canceled", { tags: ["large"] }, async () => {
    const id = await use.app.start("limitedLoop", { iterations: 100, inChild: true });
    await use.app.drive();
    expect(await use.app.status("limitedLoop", id)).toMatchObject({ state: "failed" });
    const [, ...children] = await use.app.tree(id);
    expect(children.at(-1)).toMatchObject({ state: "canceled" });
    await use.app.expectNothingLeft();
  });

  test(
    "[S42] [S130] a loop that ends in time leaves no timer, and what follows has time",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("limitedLoop", { iterations: 59 });
      await use.app.drive();
      expect(await use.app.status("limitedLoop", id)).toMatchObject({ state: "completed" });
      await use.app.expectNothingLeft();
    },
  );
});
