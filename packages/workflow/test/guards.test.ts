/** @module-tag large */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { Id } from "../src/component/_generated/dataModel.js";
import type { ListedRun, Page } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

/* Promises that only one line of the run time keeps. */

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function send(name: string, run: string, event: string, payload: unknown): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

async function cancel(runId: string): Promise<void> {
  await use.app.t.mutation(internal.runs.cancel, { runId });
}

describe("events", () => {
  test.each([
    ["canceled", "paid"],
    ["paid", "canceled"],
  ])("[S72] of early events of an anyOf the oldest is taken: %s before %s", async (...sent) => {
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "awaited",
      input: {},
      runAfter: "1h",
    });
    for (const name of sent) {
      const payload = name === "paid" ? { cents: 1 } : "why";
      expect(await send("awaited", id, name, payload)).toBe("kept");
      await use.app.advance(10);
    }
    await use.app.drive();
    expect(await use.app.status("awaited", id)).toMatchObject({
      state: "completed",
      output: { first: { name: sent[0] }, second: { timedOut: sent[0] === "paid" } },
    });
  });

  test("[S74] a run that is being undone takes none, and says why", async () => {
    const id = await use.app.start("regretted", {});
    await use.app.drive();
    await cancel(id);
    expect(await use.app.status("regretted", id)).toMatchObject({ state: "compensating" });
    // It waited for the one, and would have come to the other.
    for (const event of ["first", "second"])
      await expect(send("regretted", id, event, "too late")).rejects.toThrow(
        `Cannot send "${event}" to run "${id}" of "regretted": the run is being undone, so it takes no more events`,
      );
    await use.app.drive();
    expect(await use.app.status("regretted", id)).toMatchObject({ state: "canceled" });
  });

  test("[S111] one whose timeout's scheduled function was canceled by hand: stalled until a repair, and timed out when it was to be", async () => {
    const id = await use.app.start("awaited", {});
    await send("awaited", id, "canceled", "why");
    await use.app.drive(async () => (await use.app.steps(id)).includes("second waiting"));
    const due = Date.now() + HOUR;
    const second = { node: "second", state: "waiting", dueAt: due };
    expect(await use.app.status("awaited", id)).toMatchObject({ stalled: false, active: [second] });
    await use.app.inComponent(async (ctx) => {
      const steps = await ctx.db.query("steps").collect();
      const waiting = steps.find(({ stage }) => stage === "second");
      await ctx.scheduler.cancel(waiting!.job!);
    });
    expect(await use.app.status("awaited", id)).toMatchObject({
      stalled: true,
      active: [{ ...second, stalled: true }],
    });
    await use.app.t.mutation(internal.manager.repair, {});
    expect(await use.app.status("awaited", id)).toMatchObject({ stalled: false, active: [second] });
    await use.app.drive();
    expect(await use.app.status("awaited", id)).toMatchObject({
      output: { second: { timedOut: true } },
      endedAt: due,
    });
  });
});

/**
 * As if the time of an earlier iteration were being watched still: a deploy may have taken the
 * timeout away for a while.
 */
async function leftOf(runId: string, stage: string, iterations: number[]): Promise<void> {
  const at = Date.now() + HOUR;
  await use.app.inComponent(async (ctx) => {
    await ctx.db.insert("deadlines", { run: runId as Id<"runs">, stage, iterations, ms: HOUR, at });
  });
}

test.each(["documents read", "documents written", "queries", "jobs"] as const)(
  "[S27] steps that together use more %s than a transaction has end, in several transactions",
  { tags: ["large"] },
  async (what) => {
    await use.app.output("uses", { what });
    const entries = use.app.counter.calls.filter(({ name }) => name.endsWith("uses:entry"));
    expect(entries.length).toBeGreaterThan(2);
    expect(entries.length).toBeLessThan(10);
  },
);

describe("list and status", () => {
  test("[S98] of the runs that are at a node, the newest is first, whenever it came there", async () => {
    // All are created at the same time.
    const started = await use.app.t.mutation(internal.manager.startBatch, {
      name: "awaited",
      inputs: [{}, {}, {}],
    });
    const [one, two, three] = started as [string, string, string];
    await use.app.advance(10);
    for (const id of [two, three, one]) {
      await send("awaited", id, "canceled", "why");
      await use.app.advance(10);
    }
    const args = {
      filter: { workflow: "awaited", node: "second" },
      page: { numItems: 10, cursor: null },
    };
    const found = await use.app.counter.uncounted(() =>
      use.app.t.query(internal.manager.list, args),
    );
    const { page } = found as unknown as Page<ListedRun>;
    expect(page.map(({ runId }) => runId)).toEqual([three, two, one]);
  });

  test("[S40] [S96] in each iteration of a loop a parent has the time that began in that iteration", async () => {
    const begun = Date.now();
    const id = await use.app.start("timedIterations", { ms: 6 * MINUTE });
    for (const iteration of [1, 2, 3]) {
      await use.app.advance(1_000);
      const timesOutAt = begun + (iteration - 1) * 6 * MINUTE + 10 * MINUTE;
      const status = await use.app.status("timedIterations", id);
      expect(status?.active.find(({ node }) => node === "again.all")).toMatchObject({
        iterations: [iteration],
        timesOutAt,
      });
      expect(status?.active.find(({ node }) => node === "again")).not.toHaveProperty("timesOutAt");
      if (iteration === 2) await leftOf(id, "again.all", [1]);
      await use.app.advance(6 * MINUTE - 1_000);
    }
    await use.app.drive();
    expect(await use.app.status("timedIterations", id)).toMatchObject({
      state: "completed",
      endedAt: begun + 18 * MINUTE,
    });
    await use.app.expectNothingLeft();
  });
});

describe("nodes", () => {
  test.each(["constructor", "toString", "__proto__", "hasOwnProperty"])(
    "[S76] what every object has is no case of a branch: %s",
    async (key) => {
      expect(await use.app.error("anyKey", { key })).toMatchObject({
        kind: "thrown",
        node: "way",
        message: `The branch "way" has no case "${key}"; it has left, right`,
      });
    },
  );

  test("[S76] a boolean is no key of a branch: the error says what to give", async () => {
    expect(await use.app.output("flagKey", { flag: "true" })).toBe("went");
    expect(await use.app.error("flagKey", { flag: true })).toMatchObject({
      kind: "thrown",
      message:
        'The branch "way" has no case true; it has true. A key is a string or a number: give String(true)',
    });
  });

  test.each<[string, unknown]>([
    ["{ toString: 1, valueOf: 1 }", { toString: 1, valueOf: 1 }],
    ["a list", ["true"]],
  ])("[S76] nor is an object, which may have no text: %s", async (shown, flag) => {
    expect(await use.app.error("flagKey", { flag })).toMatchObject({
      kind: "thrown",
      message: `The branch "way" has no case ${shown}; it has true`,
    });
  });

  test("[S66] a time that is no whole number of ms: it is never over before", async () => {
    const status = await use.app.run("sleeps", { ms: MINUTE + 0.2 });
    expect(status).toMatchObject({ endedAt: status.startedAt + 11 * MINUTE + 1 });
  });

  test.each([
    ["one", 1],
    ["two", 2],
    ["five", 5],
  ] as const)(
    "[S82] a child of k action steps costs at most 2k + 1 root executions: %s",
    async (steps, k) => {
      const cost = async (input: object) => {
        use.app.counter.clear();
        await use.app.output("employs", input);
        // The watchdog's sweeps belong to no node.
        return use.app.counter.totals(({ name }) => !name.startsWith("watchdog:")).rootExecutions;
      };
      const without = await cost({ steps: "none" });
      expect((await cost({ steps })) - without).toBeLessThanOrEqual(2 * k + 1);
    },
  );
});

describe("children", () => {
  test(
    "[S86] of more children than one page, those that run are canceled first",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("tenAtOnce", { of: 300 });
      await use.app.advance(1_000);
      const inState = async (wanted: string) => {
        const children = await use.app.inComponent(async (ctx) =>
          ctx.db
            .query("runs")
            .withIndex("by_parent_run", (q) => q.eq("parentRun", id as Id<"runs">))
            .collect(),
        );
        return children.filter(({ state }) => state === wanted).length;
      };
      expect(await inState("running")).toBe(10);
      await cancel(id);
      await use.app.drive(async () => (await inState("running")) === 0);
      // None of the others begins.
      expect(await inState("pending")).toBeGreaterThan(200);
      await use.app.drive();
      expect(await inState("running")).toBe(0);
      expect((await use.app.tree(id)).every(({ state }) => state === "canceled")).toBe(true);
      await use.app.expectNothingLeft();
    },
  );
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** What is in use, in MB, without what could be collected. */
function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_000_000;
}

test(
  "[S79] [S80] a thousand iterations more of a long loop, each with 10 kB, take no more memory",
  { tags: ["large"] },
  async () => {
    const id = await use.app.start("readsPages", { pages: 1_400 });
    const after = async (iterations: number) => {
      await use.app.drive(async () => {
        const active = (await use.app.status("readsPages", id))?.active;
        return (active?.find(({ kind }) => kind === "loop")?.iteration ?? 0) >= iterations;
      });
      // What the counter has been told belongs to no loop.
      use.app.counter.clear();
      return heapUsed();
    };
    const before = await after(300);
    const growth = (await after(1_300)) - before;
    expect(await use.app.status("readsPages", id)).toMatchObject({ state: "running" });
    // What convex-test keeps of scheduled functions; the pages would be ten.
    expect(growth).toBeLessThan(3);
  },
);
