import { readFile } from "node:fs/promises";
import { Counter } from "@stepwise/testing";
import { convexTest } from "convex-test";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import { WorkflowManager } from "../src/index.js";
import { modules as componentModules, testKit, type KitOptions } from "../src/test.js";
import { components } from "./convex/_generated/api.js";
import { workflow, workflows } from "./convex/_workflows/index.js";
import schema from "./convex/schema.js";
import {
  workflow as limitedWorkflow,
  workflows as limitedWorkflows,
} from "./limited/_workflows/index.js";
import limitedSchema from "./limited/schema.js";

const modules = import.meta.glob([
  "./convex/**/*.{ts,js}",
  // As for Convex's bundler, a name with two dots is no module of its own.
  "!./convex/**/*.*.ts",
]);

const limited = import.meta.glob(["./limited/**/*.{ts,js}", "!./limited/**/*.*.ts"]);

const realSetTimeout = setTimeout;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** As a user's test has it: nothing but convex-test, vitest and the kit. */
function newApp(options: KitOptions = {}) {
  const t = convexTest({ schema, modules, transactionLimits: true });
  return { t, kit: testKit(t, vi, options), begun: Date.now() };
}

describe("runToEnd", () => {
  test(
    "gives the status of a run that has ended, in virtual time",
    { tags: ["large"] },
    async () => {
      const { kit, begun } = newApp();
      const runId = await kit.start(workflows.sleeps, { ms: 5 * MINUTE });
      const status = await kit.runToEnd(workflows.sleeps, runId);
      expect(status).toMatchObject({ state: "completed", endedAt: begun + 15 * MINUTE });
      expect(Date.now()).toBe(begun + 15 * MINUTE);
    },
  );

  test(
    "its output is typed by the workflow; a run may have failed",
    { tags: ["large"] },
    async () => {
      const { kit } = newApp();
      const runId = await kit.start(workflows.kinds, { n: 2 });
      const status = await kit.runToEnd(workflows.kinds, runId);
      if (status.state !== "completed") throw new Error(status.error.message);
      expectTypeOf(status.output.doubled).toEqualTypeOf<number>();
      expect(status.output.doubled).toBe(4);
      const failing = await kit.start(workflows.saga, { fail: "ship" });
      expect(await kit.runToEnd(workflows.saga, failing)).toMatchObject({
        state: "failed",
        error: { message: "no ship" },
      });
    },
  );

  test("a run that waits for what will not come by itself: it says where", async () => {
    const { kit, t } = newApp();
    const runId = await kit.start(workflows.approval, {});
    await expect(kit.runToEnd(workflows.approval, runId)).rejects.toThrow(
      'The run of "approval" has not ended, and nothing will happen any more:\nasked completed\ndecision waiting',
    );
    const decision = { by: "Ada", ok: true };
    await t.mutation(
      async (ctx) => await workflow.sendEvent(ctx, workflows.approval, runId, "decision", decision),
    );
    expect(await kit.runToEnd(workflows.approval, runId)).toMatchObject({ output: "Ada true" });
  });

  test("[S234] a run that is kept back: it says by what", async () => {
    const { kit, t } = newApp();
    const [input, key] = [{ name: "a" }, { key: "k" }];
    const first = await kit.start(workflows.oneReplaces, { ...input, ...key });
    const second = await kit.start(workflows.oneReplaces, { ...input, ...key });
    await kit.settle();
    await t.mutation(async (ctx) => await workflow.pause(ctx, first));
    await expect(kit.runToEnd(workflows.oneReplaces, first)).rejects.toThrow(
      "rest waiting, paused",
    );
    await expect(kit.runToEnd(workflows.oneReplaces, second)).rejects.toThrow(
      `rest waiting, waiting for its turn with the key "k", place 1, after the run ${first}`,
    );
    await t.mutation(async (ctx) => await workflow.limits.pause(ctx, "maxParallelism"));
    const third = await kit.start(workflows.oneCancels, input);
    await expect(kit.runToEnd(workflows.oneCancels, third)).rejects.toThrow(
      "begin pending, waiting for a slot: maxParallelism is paused",
    );
  });

  test("[S234] a run that a limit keeps back: it says which", { tags: ["large"] }, async () => {
    const t = convexTest({ schema: limitedSchema, modules: limited, transactionLimits: true });
    const kit = testKit(t, vi);
    const input = { name: "a", org: "acme" };
    const runId = await kit.start(limitedWorkflows.allOfTenant, input);
    await kit.runToEnd(limitedWorkflows.allOfTenant, runId);
    const key = { key: "acme" };
    await t.mutation(async (ctx) => await limitedWorkflow.limits.pause(ctx, "tenant", key));
    const kept = await kit.start(limitedWorkflows.allOfTenant, input);
    await expect(kit.runToEnd(limitedWorkflows.allOfTenant, kept)).rejects.toThrow(
      "first pending, waiting for the limit tenant acme (paused), place 1",
    );
    const ends = { ...key, until: Date.now() + 60_000, by: "ada" };
    await t.mutation(async (ctx) => await limitedWorkflow.limits.pause(ctx, "tenant", ends));
    const until = new Date(ends.until).toISOString();
    expect(await kit.timeline(kept)).toEqual([
      `first pending, waiting for the limit tenant acme (paused by ada until ${until}), place 1`,
    ]);
  });

  test("[S234] a run that a rate keeps back: it says how much of it is used up", async () => {
    const t = convexTest({ schema: limitedSchema, modules: limited, transactionLimits: true });
    const kit = testKit(t, vi);
    const start = async () => await kit.start(limitedWorkflows.rated, { name: "a" });
    const [, , last] = [await start(), await start(), await start()];
    await kit.advance("1s");
    expect(await kit.timeline(last)).toEqual([
      "called pending, waiting for the limit api (rate used up, 2 of 2), place 1",
    ]);
  });

  test("[S246] skipToNextTimer goes to the time at which a rate lets the next one start", async () => {
    const t = convexTest({ schema: limitedSchema, modules: limited, transactionLimits: true });
    const kit = testKit(t, vi);
    const begun = Date.now();
    const start = async () => await kit.start(limitedWorkflows.rated, { name: "a" });
    const [, , runId] = [await start(), await start(), await start(), await start()];
    const next = { kind: "rate", workflow: "rated", node: "called" };
    const waits = async () => (await kit.timeline(runId)).join().includes("waiting for the limit");
    expect(await kit.skipToNextTimer()).toEqual([{ ...next, runId, at: begun + 30_000 }]);
    expect([Date.now(), await waits()]).toEqual([begun + 30_000, false]);
    expect(await kit.skipToNextTimer()).toMatchObject([{ ...next, at: begun + 60_000 }]);
    expect(await kit.skipToNextTimer()).toEqual([]);
    expect(Date.now()).toBe(begun + 60_000);
  });

  test("[S246] skipToNextTimer goes to the end of a pause, if it has one", async () => {
    const t = convexTest({ schema: limitedSchema, modules: limited, transactionLimits: true });
    const kit = testKit(t, vi);
    const runId = await kit.start(limitedWorkflows.rated, { name: "a" });
    await kit.runToEnd(limitedWorkflows.rated, runId);
    const until = Date.now() + 60_000;
    await t.mutation(async (ctx) => await limitedWorkflow.limits.pause(ctx, "api", { until }));
    const kept = await kit.start(limitedWorkflows.rated, { name: "b" });
    const end = { kind: "pause", workflow: "rated", node: "called", runId: kept, at: until };
    expect(await kit.skipToNextTimer()).toEqual([end]);
    await kit.settle();
    expect(await kit.timeline(kept)).toEqual(["called completed"]);
    await t.mutation(async (ctx) => await limitedWorkflow.limits.pause(ctx, "api"));
    await kit.start(limitedWorkflows.rated, { name: "c" });
    expect(await kit.skipToNextTimer()).toEqual([]);
  });

  test("[S246] skipToNextTimer leaves the clock where it is for a rate of a paused pool", async () => {
    const t = convexTest({ schema: limitedSchema, modules: limited, transactionLimits: true });
    const kit = testKit(t, vi);
    const start = async () => await kit.start(limitedWorkflows.rated, { name: "a" });
    await Promise.all([start(), start(), start()]);
    await kit.settle();
    const now = Date.now();
    await t.mutation(async (ctx) => await limitedWorkflow.limits.pause(ctx, "maxParallelism"));
    expect([await kit.skipToNextTimer(), Date.now() - now]).toEqual([[], 0]);
    await t.mutation(async (ctx) => await limitedWorkflow.limits.resume(ctx, "maxParallelism"));
    expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "rate", at: now + 30_000 }]);
  });

  test("[S234] a step that holds its limit, and one that waits as long as it may", async () => {
    const t = convexTest({ schema: limitedSchema, modules: limited, transactionLimits: true });
    const kit = testKit(t, vi);
    const asked = await kit.start(limitedWorkflows.asksOften, { name: "a", times: 1 });
    await kit.settle();
    const holds = { kind: "retry", node: "asked" };
    const [line] = await kit.timeline(asked);
    const [{ at } = { at: 0 }] = await kit.skipToNextTimer().then((found) => {
      expect(found).toMatchObject([holds]);
      return found;
    });
    const until = new Date(at).toISOString();
    expect(line).toBe(
      `asked waiting, 1 attempt beside 1 held, held until ${until}, as the limit exports is`,
    );
    const key = { key: "acme" };
    await t.mutation(async (ctx) => await limitedWorkflow.limits.pause(ctx, "tenant", key));
    const late = await kit.start(limitedWorkflows.hurried, { name: "late", org: "acme" });
    const wait = { runId: late, workflow: "hurried", kind: "waitAtMost", node: "work" };
    expect(await kit.skipToNextTimer()).toMatchObject([wait]);
    expect((await kit.timeline(late))[0]).toBe(
      'work completed, waited too long for the limit "tenant" of "acme"',
    );
  });

  test("of a run that is none, or of another workflow", async () => {
    const { kit } = newApp();
    const runId = await kit.start(workflows.leaf, { n: 1 });
    await expect(kit.runToEnd(workflows.list, runId)).rejects.toThrow(
      `There is no run "${runId}" of "list"`,
    );
    await expect(kit.timeline("nothing")).rejects.toThrow('There is no run "nothing"');
  });
});

describe("time", () => {
  test("settle does all that needs no time, and no more", async () => {
    const { kit, begun } = newApp();
    const runId = await kit.start(workflows.sleeps, { ms: 1 });
    await kit.settle();
    expect(await kit.timeline(runId)).toEqual(["before completed", "fixed waiting"]);
    expect(Date.now()).toBe(begun);
  });

  test("[S246] settle has all begin that limits, rates and slots have room for", async () => {
    const t = convexTest({ schema: limitedSchema, modules: limited, transactionLimits: true });
    const api = { total: 3, rate: { limit: 5, per: "1m" } } as const;
    const kit = testKit(t, vi, { limits: { api } });
    const [begun, began] = [Date.now(), vi.fn<() => void>()];
    kit.stub(limitedWorkflows.rated, "called", async () => {
      began();
      await new Promise((resolve) => void setTimeout(resolve, 10_000));
      return null;
    });
    for (let n = 0; n < 12; n++) await kit.start(limitedWorkflows.rated, { name: `r${n}` });
    await kit.settle();
    expect([began.mock.calls.length, Date.now()]).toEqual([3, begun]);
    await kit.advance("10s");
    expect([began.mock.calls.length, Date.now()]).toEqual([5, begun + 10_000]);
  });

  test("advance lets exactly so much time go by", async () => {
    const { kit, begun } = newApp();
    const runId = await kit.start(workflows.sleeps, { ms: 0 });
    await kit.advance(10 * MINUTE - 1);
    expect(await kit.timeline(runId)).toContain("fixed waiting");
    await kit.advance(1);
    expect(await kit.timeline(runId)).toContain("after completed");
    await kit.advance("1h");
    expect(Date.now()).toBe(begun + 70 * MINUTE);
  });

  test("skipToNextTimer and runToEnd go on with a run that collects starts", async () => {
    const { kit, begun } = newApp();
    const runId = await kit.start(workflows.collectsAll, { key: "k", n: 1 });
    expect(await kit.start(workflows.collectsAll, { key: "k", n: 2 })).toBe(runId);
    await kit.settle();
    const latest = new Date(begun + 300_000).toISOString();
    expect(await kit.timeline(runId)).toEqual([
      `count waiting, collecting 2 starts with the key "k", begins at the latest at ${latest}`,
    ]);
    expect(await kit.skipToNextTimer()).toEqual([
      { runId, workflow: "collectsAll", kind: "start", node: "count", at: begun + 30_000 },
    ]);
    const { state } = await kit.runToEnd(workflows.collectsAll, runId);
    expect(state).toBe("completed");
  });

  test("skipToNextTimer goes from wait to wait, and tells what was over", async () => {
    const { kit, begun } = newApp();
    const runId = await kit.start(workflows.sleeps, { ms: 5 * MINUTE }, { runAfter: "1h" });
    const common = { runId, workflow: "sleeps" };
    expect(await kit.skipToNextTimer()).toEqual([
      { ...common, kind: "start", node: "before", at: begun + HOUR },
    ]);
    expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "sleep", node: "fixed" }]);
    expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "sleep", node: "computed" }]);
    expect(Date.now()).toBe(begun + HOUR + 15 * MINUTE);
    expect(await kit.skipToNextTimer()).toEqual([]);
    expect(Date.now()).toBe(begun + HOUR + 15 * MINUTE);
  });

  test("a step that is tried again", async () => {
    const { kit } = newApp();
    const runId = await kit.start(workflows.flaky, { goodAttempt: 3 });
    const retry = { kind: "retry", node: "attempt" };
    expect(await kit.skipToNextTimer()).toMatchObject([retry]);
    expect(await kit.timeline(runId)).toEqual(["attempt waiting, 3 attempts"]);
    expect(await kit.skipToNextTimer()).toMatchObject([retry]);
    expect(await kit.timeline(runId)).toEqual(["attempt completed, 3 attempts"]);
  });

  test("the wait for an event, and the timeouts of a parent and of a run", async () => {
    const { kit, t, begun } = newApp();
    const awaited = await kit.start(workflows.awaited, {});
    await kit.settle();
    await t.mutation(async (ctx) => {
      await workflow.sendEvent(ctx, workflows.awaited, awaited, "paid", { cents: 1 });
    });
    await kit.start(workflows.limited, { ms: 2 * HOUR });
    const tooLong = await kit.start(workflows.tooLong, { ms: 2 * HOUR });
    expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "timeout", node: "inTime" }]);
    expect(Date.now()).toBe(begun + 10 * MINUTE);
    const both = await kit.skipToNextTimer();
    expect(both).toHaveLength(2);
    expect(both).toContainEqual(expect.objectContaining({ kind: "event", node: "second" }));
    expect(await kit.timeline(awaited)).toContain("second timed out");
    expect(both).toContainEqual({
      kind: "timeout",
      runId: tooLong,
      workflow: "tooLong",
      at: begun + HOUR,
    });
  });

  test("an action that takes its time does", async () => {
    const { kit, begun } = newApp();
    const runId = await kit.start(workflows.slow, { ms: 4_000 });
    expect(await kit.skipToNextTimer()).toEqual([]);
    expect(Date.now()).toBe(begun + 4_000);
    expect(await kit.timeline(runId)).toEqual(["wait completed"]);
  });

  test("what waits for real input takes none", async () => {
    // A busy machine takes longer than the default.
    const { kit, begun } = newApp({ patienceMs: 300_000 });
    kit.stub(workflows.slow, "wait", async () => {
      await readFile(import.meta.filename);
      return { aborted: false };
    });
    const runId = await kit.start(workflows.slow, { ms: 0 });
    expect(await kit.runToEnd(workflows.slow, runId)).toMatchObject({ state: "completed" });
    expect(Date.now()).toBe(begun);
  });

  test("what waits long for real input is waited for, where the kit is told to be patient", async () => {
    const { kit, begun } = newApp({ patienceMs: 300_000 });
    kit.stub(workflows.slow, "wait", async () => {
      await new Promise((resolve) => void realSetTimeout(resolve, 200));
      return { aborted: false };
    });
    const runId = await kit.start(workflows.slow, { ms: 0 });
    expect(await kit.runToEnd(workflows.slow, runId)).toMatchObject({ state: "completed" });
    expect(Date.now()).toBe(begun);
  });

  test.each([30, 365])(
    "goes on for %d days, where timers of JavaScript end after 24.8",
    async (days) => {
      const { kit, begun } = newApp();
      const runId = await kit.start(workflows.sleeps, { ms: days * 24 * HOUR });
      expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "sleep", node: "fixed" }]);
      expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "sleep", node: "computed" }]);
      expect(Date.now()).toBe(begun + 10 * MINUTE + days * 24 * HOUR);
      await kit.start(workflows.sleeps, { ms: 0 }, { runAfter: `${days} days` });
      expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "start" }]);
      expect(Date.now()).toBe(begun + 10 * MINUTE + 2 * days * 24 * HOUR);
      expect(await kit.timeline(runId)).toContain("after completed");
      await kit.advance(`${days} days`);
      expect(Date.now()).toBe(begun + 10 * MINUTE + 3 * days * 24 * HOUR);
    },
  );

  test("a run that is kept for a month does not hold up the next one", async () => {
    const { kit, t, begun } = newApp();
    const keeping = new WorkflowManager(components.workflow, { retention: "30 days" });
    const start = () => t.mutation((ctx) => keeping.start(ctx, workflows.sleeps, { ms: 0 }));
    const kept = await start();
    await kit.runToEnd(workflows.sleeps, kept);
    await kit.runToEnd(workflows.sleeps, await start());
    expect(Date.now()).toBe(begun + 20 * MINUTE);
    await kit.advance("31 days");
    expect(await t.query((ctx) => workflow.status(ctx, workflows.sleeps, kept))).toBeNull();
  });

  test("runs of the kit have its maxParallelism and its retention", async () => {
    const { t, kit } = newApp({ maxParallelism: 1, retention: "1h" });
    const first = await kit.start(workflows.leaf, { n: 1, ms: MINUTE });
    const second = await kit.start(workflows.leaf, { n: 2, ms: MINUTE });
    await kit.settle();
    expect(await kit.timeline(first)).toEqual(["work running"]);
    expect(await kit.timeline(second)).toEqual(["work pending"]);
    await kit.runToEnd(workflows.leaf, second);
    expect(await t.query((ctx) => workflow.status(ctx, workflows.leaf, first))).not.toBeNull();
    await kit.advance("2h");
    expect(await t.query((ctx) => workflow.status(ctx, workflows.leaf, first))).toBeNull();
  });

  test("that is real is refused", async () => {
    const { kit } = newApp();
    vi.useRealTimers();
    await expect(kit.settle()).rejects.toThrow("call vi.useFakeTimers()");
  });

  test.each(["Date", "setTimeout"] as const)(
    "of which only %s is virtual is refused",
    async (one) => {
      vi.useRealTimers();
      vi.useFakeTimers({ toFake: [one] });
      const other = one === "Date" ? "setTimeout" : "Date";
      await expect(newApp().kit.settle()).rejects.toThrow(
        `${other} is real: call vi.useFakeTimers()`,
      );
    },
  );
});

describe("stub", () => {
  test.each(["doubled", "noted", "inserted", "counted", "read", "plain", "finalize"] as const)(
    "stands in for %s, inline and by reference, and sees all that stands before it",
    async (node) => {
      const { kit } = newApp();
      const stub = vi.fn(() => `stub of ${node}`);
      // Each of the nodes gives something else.
      kit.stub(workflows.kinds, node, stub as unknown as () => never);
      const runId = await kit.start(workflows.kinds, { n: 2 });
      const status = await kit.runToEnd(workflows.kinds, runId);
      expect(stub).toHaveBeenCalledOnce();
      const before = ["doubled", "noted", "inserted", "counted", "read", "plain"];
      const seen = before.slice(0, node === "finalize" ? undefined : before.indexOf(node));
      const [[scope, info]] = stub.mock.calls as unknown as [[object, object]];
      expect(Object.keys(scope).sort()).toEqual(["input", ...seen].sort());
      expect(info).toMatchObject({ runId, attempt: 1, idempotencyKey: `${runId}/${node}` });
      if (status.state !== "completed") throw new Error(status.error.message);
      expect(JSON.stringify(status.output)).toContain(
        node === "noted" || node === "inserted" ? "" : `stub of ${node}`,
      );
    },
  );

  test("the function that it replaces is not called", async () => {
    const { kit, t } = newApp();
    kit.stub(workflows.kinds, "noted", () => null);
    kit.stub(workflows.kinds, "inserted", () => {});
    const runId = await kit.start(workflows.kinds, { n: 2 });
    await kit.runToEnd(workflows.kinds, runId);
    expect(await t.run(async (ctx) => await ctx.db.query("log").collect())).toEqual([]);
  });

  test("the handler, the finalize and the children of a parent", async () => {
    const { kit } = newApp();
    kit.stub(workflows.handled, "all.output", () => ({ count: 2 }));
    kit.stub(workflows.leaf, "work", ({ input }) => input.n + 1);
    const stub = vi.fn(({ output, children }) => ({ n: 0, output, children }));
    kit.stub(workflows.handled, "all.finalize", stub);
    const runId = await kit.start(workflows.handled, { n: 9 });
    expect(await kit.runToEnd(workflows.handled, runId)).toMatchObject({
      output: { n: 0, output: { count: 2 }, children: [1, 2] },
    });
  });

  test("in a loop and in a branch", async () => {
    const { kit } = newApp();
    const iterations: number[] = [];
    kit.stub(workflows.counted, "count.how.action.a", ({ loop }) => {
      iterations.push(loop.iteration);
      return loop.state.n + 2;
    });
    const runId = await kit.start(workflows.counted, { to: 6, inAction: true });
    expect(await kit.runToEnd(workflows.counted, runId)).toMatchObject({ output: { n: 6 } });
    expect(iterations).toEqual([1, 2, 3]);
  });

  test("a compensation, which sees its step's output and the cause", async () => {
    const { kit } = newApp();
    const undo = vi.fn();
    kit.stub(workflows.saga, "charge.compensate", undo);
    kit.stub(workflows.saga, "reserve.compensate", undo);
    const runId = await kit.start(workflows.saga, { fail: "ship" });
    await kit.runToEnd(workflows.saga, runId);
    const error = expect.objectContaining({ message: "no ship" });
    expect(undo.mock.calls.map(([scope]) => scope)).toEqual([
      { input: { fail: "ship" }, reserve: { id: 7 }, output: { cents: 5 }, error },
      { input: { fail: "ship" }, output: { id: 7 }, error },
    ]);
  });

  test("[S161] in a branch and in the body of an each, where it sees what is around it", async () => {
    const { kit } = newApp();
    const probed = vi.fn((_scope: object) => "probed");
    kit.stub(workflows.listed, "facts.probe.probed", probed);
    kit.stub(workflows.listed, "facts.still image.frame", () => 3);
    kit.stub(
      workflows.listed,
      "subtitles.text",
      ({ each, facts }) => `${each.index} ${each.item} ${facts.probe}`,
    );
    const runId = await kit.start(workflows.listed, { videoId: "v", langs: ["en", "de"] });
    expect(await kit.runToEnd(workflows.listed, runId)).toMatchObject({
      output: {
        facts: { probe: "probed", "still image": "/v at 3" },
        subtitles: ["0 en probed", "1 de probed"],
      },
    });
    const [[scope] = []] = probed.mock.calls;
    expect(scope).toEqual({ input: expect.anything(), video: { path: "/v" } });
  });

  test("[S170] an onEnd, which sees how the run has ended", async () => {
    const { kit } = newApp();
    const ends = vi.fn();
    kit.stub(workflows.announced, "onEnd", ends);
    const runId = await kit.start(workflows.announced, {});
    await kit.runToEnd(workflows.announced, runId);
    await kit.settle();
    const [[scope] = []] = ends.mock.calls;
    expect(scope).toMatchObject({
      input: { name: "it" },
      run: { state: "completed", output: "it" },
    });
    expect(ends).toHaveBeenCalledOnce();
    expect(await kit.timeline(runId)).toEqual(["last completed", "onEnd completed"]);
  });

  test("[S171] an onEnd that gives what Convex cannot store has run all the same", async () => {
    const { kit } = newApp();
    kit.stub(workflows.announced, "onEnd", () => new Date());
    const runId = await kit.start(workflows.announced, {});
    await kit.runToEnd(workflows.announced, runId);
    await kit.settle();
    expect(await kit.timeline(runId)).toEqual(["last completed", "onEnd completed"]);
  });

  test("one that throws is retried, recovered from and told as any other", async () => {
    const { kit } = newApp();
    const tried = vi.fn(() => {
      throw new Error("stubbed out");
    });
    const fused = vi.fn(() => {
      throw new Error("stubbed out");
    });
    kit.stub(workflows.risky, "tried", tried);
    kit.stub(workflows.risky, "fused", fused);
    const runId = await kit.start(workflows.risky, { how: "well" });
    expect(await kit.runToEnd(workflows.risky, runId)).toMatchObject({
      output: ["recovered from stubbed out", "recovered"],
    });
    expect([tried.mock.calls.length, fused.mock.calls.length]).toEqual([2, 1]);
  });

  test("the last one counts, and none outlives its app", async () => {
    const first = newApp();
    first.kit.stub(workflows.leaf, "work", () => 1);
    first.kit.stub(workflows.leaf, "work", () => 2);
    const id = await first.kit.start(workflows.leaf, { n: 5 });
    expect(await first.kit.runToEnd(workflows.leaf, id)).toMatchObject({ output: 2 });
    const { kit } = newApp();
    const runId = await kit.start(workflows.leaf, { n: 5 });
    expect(await kit.runToEnd(workflows.leaf, runId)).toMatchObject({ output: 50 });
  });

  test("of what is no function", () => {
    const { kit } = newApp();
    // @ts-expect-error there is no such node
    expect(() => kit.stub(workflows.saga, "chrage", () => null)).toThrow(
      'Workflow "saga" has no function "chrage" to be stubbed. Did you mean "charge"?',
    );
    expect(() => kit.stub(workflows.handled, "all", () => null as never)).toThrow(
      'has no function "all" to be stubbed; there is "all.output", "all.finalize", "finalize"',
    );
    expect(() => kit.stub(workflows.sleeps, "fixed", () => {})).toThrow('no function "fixed"');
  });

  test("of what is no compiled workflow", async () => {
    const { kit } = newApp();
    const { nope } = workflows as unknown as Record<string, typeof workflows.leaf>;
    const { definition } = workflows.leaf as unknown as Record<string, typeof workflows.leaf>;
    const absent = /and not as its definition or its name\. This one is undefined: run workflow-/;
    expect(() => kit.stub(nope!, "work", () => 1)).toThrow(absent);
    await expect(kit.start(nope!, { n: 1 })).rejects.toThrow(absent);
    await expect(kit.runsOf(nope!)).rejects.toThrow(absent);
    await expect(kit.start(definition!, { n: 1 })).rejects.toThrow(/definition or its name$/);
    await expect(kit.runToEnd(definition!, "r")).rejects.toThrow(/definition or its name$/);
    await expect(kit.timeline(undefined as never)).rejects.toThrow(
      "A run is given by its id, and not by undefined",
    );
  });

  test("it is typed by the workflow", () => {
    const { kit } = newApp();
    kit.stub(workflows.saga, "charge", ({ input, reserve }, info) => {
      expectTypeOf(input.fail).toEqualTypeOf<"no" | "ship" | "late" | "undo">();
      expectTypeOf(reserve).toEqualTypeOf<{ id: number }>();
      expectTypeOf(info.attempt).toEqualTypeOf<number>();
      return { cents: 1 };
    });
    // @ts-expect-error its output is { cents }
    kit.stub(workflows.saga, "charge", () => ({ euros: 1 }));
    // @ts-expect-error the node does not see itself
    kit.stub(workflows.saga, "charge", ({ charge }) => charge);
    kit.stub(workflows.kinds, "finalize", ({ doubled, counted }) => {
      expectTypeOf(doubled).toEqualTypeOf<number>();
      return { doubled, counted, read: "", plain: { inserted: null } };
    });
  });
});

describe("timeline", () => {
  test("children stand under their parent; those that went alike together", async () => {
    const { kit } = newApp();
    const runId = await kit.start(workflows.grandparent, {
      leaves: [{ n: 1 }, { n: 2 }, { n: 3 }],
    });
    await kit.runToEnd(workflows.grandparent, runId);
    expect(await kit.timeline(runId)).toEqual([
      "lists completed",
      "  [first] list completed",
      "    all completed",
      "      [0..2] leaf completed",
      "        work completed",
      "    all.finalize completed",
      "    after completed",
      "  [second] list completed",
      "    all completed",
      "      [0] leaf completed",
      "        work completed",
      "    all.finalize completed",
      "    after completed",
      "lists.finalize completed",
    ]);
  });

  test("the one run of a .child; failures; attempts", async () => {
    const { kit } = newApp();
    const single = await kit.start(workflows.single, { n: 1, fails: true });
    await kit.runToEnd(workflows.single, single);
    expect(await kit.timeline(single)).toEqual(["one failed", "  leaf failed", "    work failed"]);
    const risky = await kit.start(workflows.risky, { how: "badly" });
    await kit.runToEnd(workflows.risky, risky);
    expect(await kit.timeline(risky)).toEqual([
      "tried completed, 2 attempts",
      "fused completed",
      "finalize completed",
    ]);
  });

  test(
    "[S163] branches and items stand under their node, without a workflow of their own",
    { tags: ["large"] },
    async () => {
      const { kit } = newApp();
      const input = { videoId: "v", langs: ["en", "de"] };
      const runId = await kit.start(workflows.listed, input);
      await kit.runToEnd(workflows.listed, runId);
      expect(await kit.timeline(runId)).toEqual([
        "video completed",
        "facts completed",
        "  [probe] completed",
        "    facts.probe.probed completed",
        "  [still image] completed",
        "    facts.still image.frame completed",
        "    facts.still image.thumb completed",
        "subtitles completed",
        "  [0..1] completed",
        "    subtitles.text completed",
        "finalize completed",
      ]);
      expect(await kit.runsOf(workflows.listed)).toEqual([runId]);
    },
  );

  test("[S168] the cases of a race stand under it: one has won, the others are canceled", async () => {
    const { kit, begun } = newApp();
    kit.stub(workflows.contested, "first.fast.quick", async () => {
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      return 1;
    });
    const late = vi.fn((_scope: object) => "in time");
    kit.stub(workflows.contested, "first.slow one.late", late);
    const undone = vi.fn();
    kit.stub(workflows.contested, "first.fast.quick.compensate", undone);
    const runId = await kit.start(workflows.contested, {});
    expect(await kit.runToEnd(workflows.contested, runId)).toMatchObject({
      output: { case: "slow one", output: "in time" },
    });
    // The action that has lost takes no more time of the run.
    expect(Date.now()).toBeLessThan(begun + 5_000);
    expect(late.mock.calls[0]).toMatchObject([{ before: "before", held: "held" }, {}]);
    expect(undone).not.toHaveBeenCalled();
    expect(await kit.timeline(runId)).toEqual([
      "before completed",
      "first completed",
      "  [fast] canceled",
      "    first.fast.quick canceled",
      "  [slow one] completed",
      "    first.slow one.held completed",
      "    first.slow one.late completed",
      "after completed",
    ]);
    expect(await kit.runsOf(workflows.contested)).toEqual([runId]);
  });

  test("[S168] skipToNextTimer goes to the timers of all cases of a race", async () => {
    const { kit, begun } = newApp();
    const runId = await kit.start(workflows.keptContest, { fails: false });
    const next = { workflow: "keptContest", kind: "sleep", node: "first.fast.nap" };
    expect(await kit.skipToNextTimer()).toMatchObject([{ ...next, at: begun + 300 }]);
    expect(await kit.runToEnd(workflows.keptContest, runId)).toMatchObject({ output: "fast" });
    expect(await kit.skipToNextTimer()).toEqual([]);
  });

  test("the iterations of loops", async () => {
    const { kit } = newApp();
    const runId = await kit.start(workflows.nestedLoops, { outer: 2 });
    await kit.runToEnd(workflows.nestedLoops, runId);
    expect(await kit.timeline(runId)).toEqual([
      "outer completed",
      "outer.inner #1 completed",
      "outer.inner.add #1.1 completed",
      "outer.inner.rest #1.1 completed",
      "outer.inner.add #1.2 completed",
      "outer.inner.rest #1.2 completed",
      "outer.noted #1 completed",
      "outer.inner #2 completed",
      "outer.inner.add #2.1 completed",
      "outer.inner.rest #2.1 completed",
      "outer.inner.add #2.2 completed",
      "outer.inner.rest #2.2 completed",
      "outer.noted #2 completed",
    ]);
  });

  test("more children than one query reads, and more outputs", { tags: ["large"] }, async () => {
    const t = new Counter().convexTest({ schema, modules });
    const kit = testKit(t, vi);
    const many = await kit.start(workflows.reduced, { of: 600 });
    await kit.runToEnd(workflows.reduced, many);
    expect((await kit.timeline(many)).slice(0, 3)).toEqual([
      "all completed",
      "  [0..599] leaf completed",
      "    work completed",
    ]);
    kit.stub(workflows.counted, "count.next", ({ how }) => ({
      n: how,
      keys: ["x".repeat(900_000)],
    }));
    const heavy = await kit.start(workflows.counted, { to: 20 });
    await kit.runToEnd(workflows.counted, heavy);
    expect(
      (await kit.timeline(heavy)).filter((line) => line.startsWith("count.next")),
    ).toHaveLength(20);
  });
});

test("register mounts every module of the component that has functions", () => {
  const all = import.meta.glob("../src/component/**/*.ts", { eager: true });
  const isFunction = (value: unknown) =>
    value !== null &&
    ["object", "function"].includes(typeof value) &&
    "exportArgs" in Object(value);
  const withFunctions = Object.entries(all)
    .filter(([, module]) => Object.values(module as object).some(isFunction))
    .map(([path]) => path.replace("../src", ".").replace(/ts$/, "js"));
  expect(withFunctions.length).toBeGreaterThan(10);
  expect(Object.keys(componentModules)).toEqual(expect.arrayContaining(withFunctions));
});

test("the kit needs nothing that a user has not: no private package, no vitest, no part of Node", () => {
  const sources = import.meta.glob<string>(["../src/test.ts", "../src/test/*.ts"], {
    eager: true,
    query: "?raw",
    import: "default",
  });
  const packages = Object.values(sources).flatMap((source) =>
    [...source.matchAll(/from "([^."][^"]*)"/g)].map(([, name]) => name),
  );
  // The pool comes with the package: its component runs on it.
  const own = "@stepwise/workpool/core";
  expect([...new Set(packages)].sort()).toEqual([own, "convex/server", "convex/values"]);
});

test("runsOf finds what the app has started itself", async () => {
  const { kit } = newApp();
  const first = await kit.start(workflows.list, { leaves: [{ n: 1 }] });
  const second = await kit.start(workflows.list, { leaves: [] });
  await kit.settle();
  expect(await kit.runsOf(workflows.list)).toEqual([first, second]);
});

test("runsOf finds the children of a run, in the order of their creation", async () => {
  const { kit } = newApp();
  const runId = await kit.start(workflows.list, { leaves: [{ n: 1 }, { n: 2 }] });
  await kit.runToEnd(workflows.list, runId);
  const leaves = await kit.runsOf(workflows.leaf);
  expect(leaves).toHaveLength(2);
  expect(await kit.runToEnd(workflows.leaf, leaves[1] ?? "")).toMatchObject({
    state: "completed",
  });
});

test(
  "stubs that wait 100 ms in 300 children are not waited for in real time",
  { tags: ["large"] },
  async () => {
    const { kit } = newApp({ patienceMs: 10_000 });
    kit.stub(workflows.leaf, "work", async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 1;
    });
    const leaves = Array.from({ length: 300 }, (_, n) => ({ n }));
    const runId = await kit.start(workflows.list, { leaves });
    // With the patience that real input gets, this test would run out of time at the first of them.
    expect(await kit.runToEnd(workflows.list, runId)).toMatchObject({ state: "completed" });
  },
);

test("the component may be mounted under another name", async () => {
  const t = convexTest({ schema, modules, transactionLimits: true });
  // The app of these tests calls "workflow", so a run goes no further than to its first stage.
  const kit = testKit(t, vi, { name: "other" });
  const runId = await kit.start(workflows.leaf, { n: 1 });
  expect(await kit.runsOf(workflows.leaf)).toEqual([runId]);
});

test("a kit of another component than the app calls says so, and does not wait for ever", async () => {
  const t = convexTest({ schema, modules, transactionLimits: true });
  const kit = testKit(t, vi, { name: "other" });
  const runId = await kit.start(workflows.leaf, { n: 1 });
  const why =
    'Workflow "leaf" calls the component "workflow", but the test mounts "other", so no run goes on: call testKit(t, vi, { name: "workflow" })';
  await expect(kit.runToEnd(workflows.leaf, runId)).rejects.toThrow(why);
  await expect(kit.skipToNextTimer()).rejects.toThrow(why);
  await expect(kit.advance("1m")).rejects.toThrow(why);
});
