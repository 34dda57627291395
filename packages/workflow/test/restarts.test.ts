import { describe, expect, test } from "vitest";
import { internal as component } from "../src/component/_generated/api.js";
import type { Id } from "../src/component/_generated/dataModel.js";
import { isOf } from "./component.js";
import { components, internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";
import { clutter } from "./tampering.js";

// Pools of up to 200: on the smallest class works would share actions, of which carriers.test.ts is.
const use = useTestApp({ deploymentClass: "s256" });
const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });

async function restart(name: string, runId: string, from?: string): Promise<void> {
  await use.app.t.mutation(internal.manager.restart, { name, runId, ...(from ? { from } : {}) });
}

describe("a restart in pages", () => {
  test(
    "[S95] [S102] is canceled halfway: what has been forgotten is not waited for, and is done again",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
      const id = await use.app.start("many", { of: 600 });
      await use.app.drive();
      await restart("many", id, "all");
      expect(await use.app.status("many", id)).toMatchObject({ state: "pending" });
      await cancel(id);
      await use.app.drive();
      expect(await use.app.status("many", id)).toMatchObject({ state: "canceled" });
      await use.app.expectNothingLeft();
      await restart("many", id, "after");
      await use.app.drive();
      expect(await use.app.status("many", id)).toMatchObject({ state: "completed", generation: 3 });
      const runs = await use.app.inComponent(
        async (ctx) => (await ctx.db.query("runs").collect()).length,
      );
      expect(runs).toBe(601);
    },
  );
});

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const repair = async () => await use.app.t.mutation(internal.manager.repair, {});

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
 * How often the `onComplete` of runs that were started with a context was called, and with what.
 */
async function ends(): Promise<string[]> {
  const calls = (await use.app.log()).filter((line) => line.startsWith("{"));
  return calls.map((line) => (JSON.parse(line) as { seen: string }).seen);
}

describe("restarts", () => {
  test(
    "[S102] canceled and restarted otherwise before the pages of the first restart are through: the last one counts, once",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("chain", {});
      await use.app.drive();
      await clutter(use.app, id);
      await restart("chain", id, "b");
      await cancel(id);
      await restart("chain", id);
      await use.app.drive();
      expect(await use.app.status("chain", id)).toMatchObject({
        state: "completed",
        generation: 3,
      });
      expect(await use.app.log()).toEqual(["a", "b", "c", "d", "a", "b", "c", "d"]);
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S85] [S219] paused before all pages are through: it waits for its turn as a paused run, and lets others begin",
    { tags: ["large"] },
    async () => {
      const start = async (name: string) =>
        await use.app.start("oneWaits", { key: "k", name, restMs: MINUTE });
      const id = await start("again");
      await use.app.drive();
      await clutter(use.app, id, "last");
      await start("holds");
      await restart("oneWaits", id);
      const steer = async (how: "pause" | "resume") =>
        await use.app.t.mutation(internal.manager.steer, { how, name: "oneWaits", run: id });
      await steer("pause");
      await use.app.advance(10 * SECOND);
      const next = await start("next");
      await use.app.drive();
      expect(await use.app.status("oneWaits", next)).toMatchObject({ state: "completed" });
      expect(await use.app.status("oneWaits", id)).toMatchObject({
        state: "pending",
        paused: true,
      });
      await steer("resume");
      await use.app.drive();
      expect(await use.app.status("oneWaits", id)).toMatchObject({ state: "completed" });
    },
  );

  test(
    "[S120] a page that is still to come is not scheduled twice by a repair",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("chain", {});
      await use.app.drive();
      await clutter(use.app, id);
      await restart("chain", id, "b");
      const pages = async () => (await scheduled()).filter((name) => name.endsWith("restartMore"));
      expect(await pages()).toHaveLength(1);
      await repair();
      await repair();
      expect(await pages()).toHaveLength(1);
      await use.app.drive();
      expect(await use.app.log()).toEqual(["a", "b", "c", "d", "b", "d"]);
    },
  );

  test(
    "[S86] [S101] [S102] while what is under the run is still being canceled: each begins anew, once",
    { tags: ["large"] },
    async () => {
      const leaves = Array.from({ length: 120 }, (_none, n) => ({ n, ms: 1_000 }));
      const id = await use.app.t.mutation(internal.manager.start, {
        name: "wide",
        input: { lists: 3, leaves },
        context: "c",
      });
      await use.app.advance(500);
      await cancel(id);
      await restart("wide", id);
      use.app.counter.clear();
      await use.app.drive();
      const works = use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work"));
      expect(works).toHaveLength(360);
      expect(await use.app.status("wide", id)).toMatchObject({ state: "completed", generation: 2 });
      const states = (await use.app.tree(id)).map(({ state }) => state);
      expect(states).toHaveLength(1 + 3 + 360);
      expect(new Set(states)).toEqual(new Set(["completed"]));
      expect(await ends()).toEqual(["canceled", "completed"]);
      await use.app.expectNothingLeft();
    },
  );

  test("[S92] [S102] what was kept is undone when the new generation is canceled, and then done again", async () => {
    const id = await use.app.start("saga", { fail: "no" });
    await use.app.drive();
    expect(await use.app.log()).toEqual(["reserve", "charge"]);
    await restart("saga", id, "wait");
    await use.app.advance(MINUTE);
    await cancel(id);
    await use.app.drive();
    const undone = ["undo charge 5 of 7, attempt 1", "undo reserve 7: canceled"];
    expect(await use.app.log()).toEqual(["reserve", "charge", ...undone]);
    await restart("saga", id, "ship");
    await use.app.drive();
    expect(await use.app.log()).toEqual(["reserve", "charge", ...undone, "reserve", "charge"]);
    expect(await use.app.status("saga", id)).toMatchObject({ state: "completed", generation: 3 });
    await use.app.expectNothingLeft();
  });

  test("[S102] [S105] a run that takes longer than it was to be kept is not removed before its end", async () => {
    const id = await use.app.start("brief", { leaves: [], ms: 20 * MINUTE });
    await use.app.advance(25 * MINUTE);
    await restart("brief", id);
    await use.app.advance(15 * MINUTE);
    expect(await use.app.status("brief", id)).toMatchObject({ state: "running" });
    await use.app.advance(10 * MINUTE);
    expect(await use.app.status("brief", id)).toMatchObject({ state: "completed" });
    await use.app.drive();
    expect(await use.app.status("brief", id)).toBeNull();
    await use.app.expectNothingLeft();
  });

  test("[S101] [S102] what the callback of the generation before threw is gone", async () => {
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "sleeper",
      input: { ms: HOUR },
      context: { throws: "yes" },
    });
    await use.app.drive();
    expect(await use.app.status("sleeper", id)).toHaveProperty("onCompleteError");
    await restart("sleeper", id);
    expect(await use.app.status("sleeper", id)).not.toHaveProperty("onCompleteError");
    await use.app.drive();
    expect(await use.app.status("sleeper", id)).toHaveProperty("onCompleteError");
  });

  test("[S95] of a run under which something is still undone: not restarted, not removed, not yet", async () => {
    const id = await use.app.start("lenient", {});
    await use.app.advance(1_000);
    // As if it had ended before that was begun: its code had no compensation then.
    await use.app.inComponent(async (ctx) => {
      const run = await ctx.db.get("runs", id as Id<"runs">);
      const ended = { state: "canceled", endedAt: Date.now() } as const;
      await ctx.db.patch("runs", run!._id, { ...ended, expiresAt: Date.now() });
      for (const step of await ctx.db.query("steps").collect())
        if (step.run === id && step.state === "waiting")
          await ctx.db.patch("steps", step._id, ended);
      await ctx.scheduler.runAfter(0, component.features.retention.removeExpired, {});
    });
    await expect(restart("lenient", id)).rejects.toThrow(/it goes on/);
    await expect(use.app.t.mutation(internal.manager.cleanup, { runId: id })).rejects.toThrow(
      /it goes on/,
    );
    await use.app.advance(30_000);
    expect(await use.app.status("lenient", id)).not.toBeNull();
    await use.app.drive();
    expect(await use.app.status("lenient", id)).toBeNull();
    const undone = use.app.counter.calls.filter(({ name }) => name.endsWith("doneCompensateDone"));
    expect(undone).toHaveLength(1);
    await use.app.expectNothingLeft();
  });
});
