/** @module-tag large */
import { describe, expect, test } from "vitest";
import type { TableNames } from "../src/component/_generated/dataModel.js";
import { isOf } from "./component.js";
import { components, internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

// Pools of up to 200: on the smallest class works would share actions, of which carriers.test.ts is.
const use = useTestApp({ deploymentClass: "s256" });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const cleanup = async (runId: string) =>
  await use.app.t.mutation(internal.manager.cleanup, { runId });

const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });

/** What the component keeps of runs: the number of rows of each table that has some. */
async function rows(): Promise<Record<string, number>> {
  const tables: TableNames[] = [
    "runs",
    "steps",
    "contexts",
    "inbox",
    "undos",
    "deadlines",
    "childPages",
    "continuations",
    "expiries",
    "waiting",
    "largeArgs",
    "setAside",
  ];
  return await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => {
      const counts: Record<string, number> = {};
      for (const table of tables) {
        const { length } = await ctx.db.query(table).collect();
        if (length > 0) counts[table] = length;
      }
      return counts;
    }),
  );
}

function removals(): number {
  return use.app.counter.calls.filter(isOf("features/retention:removeExpired")).length;
}

describe("cleanup", () => {
  test("[S104] removes every row of the run and of those under it", async () => {
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "grandparent",
      input: { leaves: [{ n: 1 }, { n: 2 }] },
      context: "c",
      key: "k",
    });
    await use.app.drive();
    expect(await rows()).toMatchObject({ runs: 6, contexts: 1 });
    await cleanup(id);
    expect(await rows()).toEqual({});
    expect(await use.app.status("grandparent", id)).toBeNull();
    await use.app.expectNothingLeft();
  });

  test("[S104] of a run with undos, kept events and loops", async () => {
    const saga = await use.app.start("sagaAbove", { children: 2 });
    await use.app.drive();
    const told = await use.app.start("told", { iterations: 2 });
    for (const text of ["one", "two", "three"])
      await use.app.t.mutation(internal.manager.sendEvent, {
        name: "told",
        run: told,
        event: "answer",
        payload: { text },
      });
    await use.app.advance(1_000);
    await cancel(told);
    const undoable = await use.app.start("saga", { fail: "no" });
    await use.app.drive();
    expect(await rows()).toMatchObject({ inbox: 1, undos: 2 });
    for (const id of [saga, told, undoable]) await cleanup(id);
    expect(await rows()).toEqual({});
    await use.app.expectNothingLeft();
  });

  test("[S104] refused while the run goes on, and while it is being undone", async () => {
    const id = await use.app.start("saga", { fail: "no" });
    await use.app.advance(1);
    await expect(cleanup(id)).rejects.toThrow(/Cannot clean up run ".*": it goes on/);
    await use.app.drive(async () => (await use.app.steps(id)).includes("wait waiting"));
    await cancel(id);
    await expect(cleanup(id)).rejects.toThrow(/it goes on/);
    await use.app.drive();
    await cleanup(id);
    expect(await rows()).toEqual({});
  });

  test("[S104] of a child it is refused", async () => {
    const id = await use.app.start("record", { n: 1 });
    await use.app.drive();
    const [, child] = await use.app.tree(id);
    await expect(cleanup(child!.runId)).rejects.toThrow(/child of another run; clean up the one/);
  });

  test("[S84] [S104] an action that still runs changes nothing any more, and gives its slot back", async () => {
    const id = await use.app.start("list", { leaves: [{ n: 1, ms: 5_000 }] });
    await use.app.advance(1_000);
    await cancel(id);
    await cleanup(id);
    expect(await rows()).toEqual({});
    expect(await use.app.slotsHeld()).toBe(1);
    await use.app.drive();
    expect(await rows()).toEqual({});
    await use.app.expectNothingLeft();
  });

  test(
    "[S104] in pages where there is much; at once it is gone for all who ask, and its key is free",
    { tags: ["large"] },
    async () => {
      const leaves = Array.from({ length: 900 }, (_none, n) => ({ n, ms: HOUR }));
      const id = await use.app.start("list", { leaves }, "k");
      await use.app.advance(1_000);
      // The cancel goes on in pages too: what it has not reached is removed as it is.
      await cancel(id);
      await cleanup(id);
      expect(await use.app.status("list", id)).toBeNull();
      const again = await use.app.start("list", { leaves: [] }, "k");
      expect(again).not.toBe(id);
      expect((await rows())["runs"]).toBeGreaterThan(100);
      await use.app.drive();
      expect(await rows()).toEqual({ runs: 1, steps: 3 });
      await use.app.expectNothingLeft();
    },
  );

  test("[S104] what the pool has set aside of it goes too", async () => {
    const id = await use.app.start("slow", { ms: 1_000 });
    await use.app.drive();
    await use.app.inComponent(async (ctx) => {
      const steps = await ctx.db.query("steps").collect();
      const work = steps.find(({ stage }) => stage === "wait")!._id;
      await ctx.db.insert("setAside", { work, error: "none", at: 0 });
    });
    await cleanup(id);
    expect(await rows()).toEqual({});
  });
});

describe("retention", () => {
  test("[S105] an ended run goes after it, with what is under it, and nothing stays scheduled", async () => {
    const begun = Date.now();
    const id = await use.app.start("brief", { leaves: [{ n: 1 }, { n: 2 }] });
    await use.app.advance(MINUTE);
    const status = await use.app.status("brief", id);
    expect(status).toMatchObject({ state: "completed", expiresAt: begun + 10 * MINUTE });
    await use.app.advance(9 * MINUTE - 1);
    expect(await use.app.status("brief", id)).not.toBeNull();
    await use.app.drive();
    expect(await use.app.status("brief", id)).toBeNull();
    expect(await rows()).toEqual({});
    expect(removals()).toBe(1);
    expect(Date.now()).toBeLessThanOrEqual(begun + 12 * MINUTE);
    await use.app.expectNothingLeft();
  });

  test("[S105] the manager's is the default; a workflow's own comes first; without one nothing is scheduled", async () => {
    const start = async (name: string, input: unknown, isForgetful: boolean) =>
      await use.app.t.mutation(internal.manager.start, { name, input, isForgetful });
    const byDefault = await start("leaf", { n: 1 }, true);
    const own = await start("brief", { leaves: [] }, true);
    const kept = await start("leaf", { n: 2 }, false);
    await use.app.advance(50 * MINUTE);
    expect(await use.app.status("brief", own)).toBeNull();
    expect(await use.app.status("leaf", byDefault)).not.toBeNull();
    await use.app.drive();
    expect(await use.app.status("leaf", byDefault)).toBeNull();
    expect(await use.app.status("leaf", kept)).not.toHaveProperty("expiresAt");
    expect(removals()).toBe(2);
    await use.app.expectNothingLeft();
  });

  test(
    "[S105] runs that end one after the other are removed in batches, by one scheduled function each",
    { tags: ["large"] },
    async () => {
      for (let n = 0; n < 50; n++) {
        await use.app.start("brief", { leaves: [] });
        await use.app.advance(2_000);
      }
      use.app.counter.clear();
      await use.app.drive();
      expect(await rows()).toEqual({});
      // They ended within 100 s: the first removal comes a minute after the first of them has
      // expired.
      expect(removals()).toBe(2);
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S105] in pages: a removal that is too much for one transaction goes on in the next",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("brief", { leaves: [{ n: 1 }] });
      await use.app.advance(MINUTE);
      await use.app.inComponent(async (ctx) => {
        const runs = await ctx.db.query("runs").collect();
        const { _id, _creationTime, ...child } = runs.find(({ parentRun }) => parentRun === id)!;
        for (let index = 1; index < 1_500; index++)
          await ctx.db.insert("runs", { ...child, index });
      });
      use.app.counter.clear();
      await use.app.drive();
      expect(await rows()).toEqual({});
      expect(removals()).toBe(1);
      const pages = use.app.counter.calls.filter(isOf("features/retention:removeMore"));
      expect(pages.length).toBeGreaterThan(1);
      await use.app.expectNothingLeft();
    },
  );

  test("[S105] a run that is restarted is not removed by its former end; one that is cleaned up needs no removal", async () => {
    const id = await use.app.start("brief", { leaves: [], ms: 0 });
    const gone = await use.app.start("brief", { leaves: [] });
    await use.app.advance(5 * MINUTE);
    await cleanup(gone);
    await use.app.t.mutation(internal.manager.restart, { name: "brief", runId: id });
    expect(await use.app.status("brief", id)).not.toHaveProperty("expiresAt");
    const restarted = Date.now();
    await use.app.advance(9 * MINUTE);
    expect(await use.app.status("brief", id)).toMatchObject({
      state: "completed",
      expiresAt: restarted + 10 * MINUTE,
    });
    await use.app.drive();
    expect(await rows()).toEqual({});
  });

  test("[S105] a shorter retention comes first, and a removal that was lost is made up for by the next end", async () => {
    await use.app.t.mutation(internal.manager.start, {
      name: "leaf",
      input: { n: 1 },
      isForgetful: true,
    });
    await use.app.advance(MINUTE);
    await use.app.start("brief", { leaves: [] });
    await use.app.advance(15 * MINUTE);
    expect(await rows()).toMatchObject({ runs: 1, expiries: 1 });
    // Canceled by hand; nothing tells until another run ends.
    await use.app.inComponent(async (ctx) => {
      const next = await ctx.db.query("expiries").first();
      await ctx.scheduler.cancel(next!.job!);
    });
    await use.app.advance(2 * HOUR);
    expect(await rows()).toMatchObject({ runs: 1 });
    await use.app.start("brief", { leaves: [] });
    // It does not wait until this run has expired as well.
    await use.app.advance(MINUTE);
    expect(await rows()).toMatchObject({ runs: 1, expiries: 1 });
    await use.app.drive();
    expect(await rows()).toEqual({});
  });
});

test(
  "[S79] a loop that removes old iterations removes their children with them",
  { tags: ["large"] },
  async () => {
    const id = await use.app.start("crowded", { iterations: 110, of: 2 });
    await use.app.drive();
    expect(await use.app.status("crowded", id)).toMatchObject({ state: "completed", output: 110 });
    // Those of the first iteration and of the newest 100.
    expect(await rows()).toMatchObject({ runs: 1 + 2 * 101 });
    await use.app.expectNothingLeft();
  },
);

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

test(
  "[S42] [S104] cleaned up while what is under it is still being canceled: nothing of it is left, nor scheduled",
  { tags: ["large"] },
  async () => {
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 200 });
    const id = await use.app.start("dormitory", { rooms: 2, beds: 140, ms: 2 * HOUR });
    await use.app.advance(1_000);
    await cancel(id);
    await use.app.t.mutation(internal.manager.cleanup, { runId: id });
    const left = async (table: "runs" | "steps" | "deadlines" | "continuations") =>
      await use.app.inComponent(async (ctx) => (await ctx.db.query(table).collect()).length);
    await use.app.drive(async () => (await left("continuations")) === 0);
    expect([await left("runs"), await left("steps"), await left("deadlines")]).toEqual([0, 0, 0]);
    expect(await scheduled()).toEqual([]);
  },
);
