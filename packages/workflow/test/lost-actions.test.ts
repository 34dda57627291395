import { makeFunctionReference } from "convex/server";
import { describe, expect, test } from "vitest";
import { isOf } from "./component.js";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });

async function restart(name: string, runId: string, from?: string): Promise<void> {
  await use.app.t.mutation(internal.manager.restart, { name, runId, ...(from ? { from } : {}) });
}

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

/**
 * The machines of the actions that run die: their scheduled functions are over, and nothing was
 * reported.
 */
async function die(): Promise<void> {
  await use.app.inComponent(async (ctx) => {
    const slots = await ctx.db.query("slots").collect();
    for (const { _id, work } of slots) {
      if (work === undefined) continue;
      const job = await ctx.scheduler.runAfter(HOUR, "x:gone" as never, {});
      await ctx.scheduler.cancel(job);
      await ctx.db.patch("slots", _id, { job });
    }
  });
}

/** The first attempt of an action, `act`, reports from the slot that it had. */
async function reportLate(workflow: string, run: string, report: object): Promise<void> {
  const { step, slot } = await use.app.inComponent(async (ctx) => {
    const all = await ctx.db.query("steps").collect();
    const slots = await ctx.db.query("slots").collect();
    return { step: all.find(({ stage }) => stage === "act")!._id, slot: slots[0]!._id };
  });
  const done = makeFunctionReference<"mutation">(`_workflows/${workflow}:actDone`);
  const token = { run, step, attempt: 1 };
  await use.app.t.mutation(done, { token, slot, report, fuse: true });
}

describe("an action that was lost", () => {
  test("[S84] of a run that was canceled meanwhile: nothing follows, though its step would recover", async () => {
    const id = await use.app.start("recovers", { ms: HOUR });
    await use.app.advance(1_000);
    await die();
    await cancel(id);
    await use.app.advance(10 * MINUTE);
    expect(await use.app.log()).toEqual([]);
    expect(await use.app.status("recovers", id)).toMatchObject({ state: "canceled" });
  });

  test.each(["restart", "cleanup"])(
    "[S108] of what a %s has removed: nobody is told, and its slot is free",
    async (how) => {
      const id = await use.app.start("recovers", { ms: HOUR });
      await use.app.advance(1_000);
      await cancel(id);
      await die();
      if (how === "restart") await restart("recovers", id);
      else await use.app.t.mutation(internal.manager.cleanup, { runId: id });
      await use.app.advance(10 * MINUTE);
      expect(await use.app.log()).toEqual([]);
      expect(await use.app.slotsHeld()).toBe(how === "restart" ? 1 : 0);
      if (how === "restart")
        expect(await use.app.status("recovers", id)).toMatchObject({
          generation: 2,
          active: [{ node: "act", state: "running", attempt: 1, errors: [] }],
        });
    },
  );

  test.each(["success", "failed"] as const)(
    "[S108] and reports after all before its run is told (%s): the report counts, and nobody is told otherwise",
    async (kind) => {
      const id = await use.app.start("recovers", { ms: HOUR });
      await use.app.advance(1_000);
      await die();
      await use.app.drive(async () => (await scheduled()).some((name) => name.endsWith(":entry")));
      const error = { kind: "thrown", message: "late", workflow: "", node: "act", attempt: 1 };
      const report = kind === "success" ? { kind, output: "acted" } : { kind, error };
      await reportLate("recovers", id, report);
      expect((await scheduled()).filter((name) => name.endsWith("recovers:entry"))).toEqual([]);
      await use.app.advance(1_000);
      expect(await use.app.log()).toEqual([kind === "success" ? "noted acted" : "noted thrown"]);
    },
  );

  test("[S108] and reports after all before its run is told: the next action begins, without its slot", async () => {
    const id = await use.app.start("actsTwice", { ms: HOUR });
    await use.app.advance(1_000);
    await die();
    await use.app.drive(async () => (await scheduled()).some((name) => name.endsWith(":entry")));
    expect(await use.app.slotsHeld()).toBe(0);
    await reportLate("actsTwice", id, { kind: "success", output: null });
    await use.app.advance(1_000);
    expect(await use.app.status("actsTwice", id)).toMatchObject({ output: "acted again" });
    expect(await use.app.slotsHeld()).toBe(0);
  });

  test("[S108] and reports after all: what it says first counts, and nothing is done twice", async () => {
    const id = await use.app.start("recovers", { ms: 20 * MINUTE });
    await use.app.advance(1_000);
    await die();
    await use.app.advance(HOUR);
    expect(await use.app.log()).toEqual(["noted lost"]);
    await use.app.drive();
    expect(await use.app.status("recovers", id)).toMatchObject({ output: "lost" });
    await use.app.expectNothingLeft();
  });

  test("[S103] and whose run is paused before it is told: nothing follows until it is resumed", async () => {
    const id = await use.app.start("recovers", { ms: HOUR });
    await use.app.advance(1_000);
    await die();
    await use.app.drive(async () => (await scheduled()).some((name) => name.endsWith(":entry")));
    await pause(id);
    await use.app.advance(MINUTE);
    expect(await use.app.log()).toEqual([]);
    await resume(id);
    await use.app.advance(1_000);
    expect(await use.app.log()).toEqual(["noted lost"]);
  });

  test("[S103] [S107] and whose run is paused already", async () => {
    const id = await use.app.start("recovers", { ms: HOUR });
    await use.app.advance(1_000);
    await pause(id);
    await die();
    await use.app.advance(10 * MINUTE);
    expect(await use.app.log()).toEqual([]);
    await resume(id);
    await use.app.advance(1_000);
    expect(await use.app.log()).toEqual(["noted lost"]);
  });
});
