/** @module-tag large */
import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

type Reuse = "never" | "ended" | "failed";

/** Starts a run with the key `nightly`. */
async function start(name: string, input: unknown, reuse?: Reuse) {
  const options = reuse === undefined ? {} : { reuse };
  const args = { name, input, key: "nightly", ...options };
  return await use.app.t.mutation(internal.manager.startOrGet, args);
}

async function steer(how: "cancel" | "pause" | "resume", name: string, key = "nightly") {
  return await use.app.t.mutation(internal.manager.steer, { how, name, run: { key } });
}

async function statusOfKey(name: string, key = "nightly") {
  return await use.app.t.query(internal.manager.status, { name, run: { key } });
}

const NAP = { ms: 1_000 };

describe("reuse", () => {
  test.each([undefined, "never"] as const)(
    "[S125] %s: the run of the key is given, ended or not, and the caller is told",
    async (reuse) => {
      const first = await start("sleeper", NAP, reuse);
      expect(first.started).toBe(true);
      expect(await start("sleeper", NAP, reuse)).toEqual({ ...first, started: false });
      await use.app.drive();
      expect(await start("sleeper", NAP, reuse)).toEqual({ ...first, started: false });
    },
  );

  test.each(["ended", "failed"] as const)(
    "[S125] %s: while the run of the key goes on it is given, and nothing overlaps",
    async (reuse) => {
      const first = await start("sleeper", NAP, reuse);
      await use.app.advance(500);
      expect(await start("sleeper", NAP, reuse)).toEqual({ ...first, started: false });
      await steer("pause", "sleeper");
      await use.app.advance(5_000);
      expect(await start("sleeper", NAP, reuse)).toEqual({ ...first, started: false });
    },
  );

  test("[S125] ended: a new run once the last one has ended, and the key names that", async () => {
    const first = await start("leaf", { n: 1 }, "ended");
    await use.app.drive();
    const second = await start("leaf", { n: 2 }, "ended");
    expect(second.started).toBe(true);
    expect(second.runId).not.toBe(first.runId);
    await use.app.drive();
    expect(await statusOfKey("leaf")).toMatchObject({ runId: second.runId, output: 20 });
    expect(await start("leaf", { n: 3 })).toEqual({ ...second, started: false });
    await use.app.expectNothingLeft();
  });

  test.each([
    ["completed", { n: 1 }, false],
    ["failed", { n: 1, fails: true }, true],
    ["canceled", { n: 1 }, true],
  ] as const)("[S125] failed: after one that %s", async (state, input, started) => {
    const { runId } = await start("leaf", input, "failed");
    if (state === "canceled") await steer("cancel", "leaf");
    await use.app.drive();
    expect(await use.app.status("leaf", runId)).toMatchObject({ state });
    expect(await start("leaf", input, "failed")).toMatchObject({ started });
  });

  test("[S125] failed: also after one whose time was over", async () => {
    await start("tooLong", { ms: 2 * 60 * 60_000 }, "failed");
    await use.app.drive();
    expect(await statusOfKey("tooLong")).toMatchObject({ state: "timedOut" });
    expect(await start("tooLong", { ms: 1 }, "failed")).toMatchObject({ started: true });
  });

  test.each(["ended", "failed"] as const)(
    "[S125] %s: a run that is being undone has not ended",
    async (reuse) => {
      const first = await start("slowlyUndone", {}, reuse);
      await use.app.advance(1_000);
      await steer("cancel", "slowlyUndone");
      await use.app.advance(1_000);
      expect(await statusOfKey("slowlyUndone")).toMatchObject({ state: "compensating" });
      expect(await start("slowlyUndone", {}, reuse)).toEqual({ ...first, started: false });
      await use.app.drive();
      expect(await start("slowlyUndone", {}, reuse)).toMatchObject({ started: true });
    },
  );

  test("[S125] of two at once one is started, also after the last one has ended", async () => {
    await start("sleeper", NAP, "ended");
    await use.app.drive();
    const two = await Promise.all([start("sleeper", NAP, "ended"), start("sleeper", NAP, "ended")]);
    expect(two.map(({ started }) => started).sort()).toEqual([false, true]);
    expect(two[0].runId).toBe(two[1].runId);
  });

  test("[S125] a batch: each key by itself", async () => {
    const batch = async (...ns: number[]) =>
      await use.app.t.mutation(internal.manager.startBatch, {
        name: "leaf",
        inputs: ns.map((n) => ({ n, fails: n === 2 })),
        keyed: true,
        reuse: "failed",
      });
    const first = await batch(1, 2, 2);
    expect(first[1]).toBe(first[2]);
    await use.app.drive();
    const second = await batch(1, 2);
    expect(second[0]).toBe(first[0]);
    expect(second[1]).not.toBe(first[1]);
  });

  test("[S125] without a key it is refused", async () => {
    const args = { name: "leaf", input: { n: 1 }, reuse: "ended" as const };
    const started = use.app.t.mutation(internal.manager.start, args);
    await expect(started).rejects.toThrow("reuse has no effect without a key");
  });

  test("[S125] onComplete is that of the start which started the run", async () => {
    const args = { name: "sleeper", input: NAP, key: "nightly", reuse: "ended" as const };
    await use.app.t.mutation(internal.manager.start, { ...args, context: 1 });
    await use.app.t.mutation(internal.manager.start, { ...args, context: 2 });
    await use.app.drive();
    await use.app.t.mutation(internal.manager.start, { ...args, context: 3 });
    await use.app.drive();
    const calls = (await use.app.log()).filter((line) => line.startsWith("{"));
    expect(calls.map((line) => (JSON.parse(line) as { context: number }).context)).toEqual([1, 3]);
  });

  test("[S99] [S125] list shows each run with its key; after cleanup of the newest the key names the one before", async () => {
    const first = await start("leaf", { n: 1 }, "ended");
    await use.app.drive();
    const second = await start("leaf", { n: 2 }, "ended");
    await use.app.drive();
    const { page } = (await use.app.t.query(internal.manager.list, {
      filter: { workflow: "leaf" },
      page: { numItems: 10, cursor: null },
    })) as unknown as { page: unknown[] };
    expect(page).toMatchObject([
      { runId: second.runId, key: "nightly" },
      { runId: first.runId, key: "nightly" },
    ]);
    await use.app.t.mutation(internal.manager.cleanup, { runId: second.runId });
    expect(await statusOfKey("leaf")).toMatchObject({ runId: first.runId });
  });
});

describe("restart of a run whose key was used again", () => {
  const restart = async (name: string, runId: string) =>
    await use.app.t.mutation(internal.manager.restart, { name, runId });

  test("[S102] [S125] it has the key while it goes on, so no start overlaps it", async () => {
    const first = await start("sleeper", NAP, "ended");
    await use.app.drive();
    await start("sleeper", NAP, "ended");
    await use.app.drive();
    await restart("sleeper", first.runId);
    expect(await start("sleeper", NAP, "ended")).toEqual({ ...first, started: false });
    await use.app.drive();
    expect(await start("sleeper", NAP, "ended")).toMatchObject({ started: true });
  });

  test("[S102] [S125] it is refused while another run of the key goes on", async () => {
    const first = await start("sleeper", NAP, "ended");
    await use.app.drive();
    await start("sleeper", NAP, "ended");
    await expect(restart("sleeper", first.runId)).rejects.toThrow("another run with its key");
    expect(await use.app.status("sleeper", first.runId)).toMatchObject({ state: "completed" });
  });
});

describe("{ key }", () => {
  test("[S126] status, pause, resume and cancel find the run of the key", async () => {
    const { runId } = await start("sleeper", NAP);
    expect(await statusOfKey("sleeper")).toMatchObject({ runId, state: "running" });
    expect(await steer("pause", "sleeper")).toBe(true);
    expect(await statusOfKey("sleeper")).toMatchObject({ paused: true });
    expect(await steer("resume", "sleeper")).toBe(true);
    expect(await statusOfKey("sleeper")).toMatchObject({ paused: false });
    expect(await steer("cancel", "sleeper")).toBe(true);
    expect(await statusOfKey("sleeper")).toMatchObject({ state: "canceled" });
    expect(await steer("cancel", "sleeper")).toBe(false);
  });

  test("[S106] [S126] an unknown key, and the key of another workflow", async () => {
    await start("sleeper", NAP);
    expect(await statusOfKey("sleeper", "daily")).toBeNull();
    expect(await statusOfKey("leaf")).toBeNull();
    await expect(steer("cancel", "leaf")).rejects.toThrow(
      'Cannot cancel the run of key "nightly" of "leaf": there is no such run',
    );
    for (const how of ["pause", "resume"] as const)
      await expect(steer(how, "sleeper", "daily")).rejects.toThrow("there is no such run");
  });

  test("[S126] an id with a workflow is one of that workflow", async () => {
    const { runId } = await start("sleeper", NAP);
    const cancel = async (name: string) =>
      await use.app.t.mutation(internal.manager.steer, { how: "cancel", name, run: runId });
    await expect(cancel("leaf")).rejects.toThrow("there is no such run");
    expect(await cancel("sleeper")).toBe(true);
  });
});
