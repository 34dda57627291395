/** @module-tag large */
import { describe, expect, test, vi } from "vitest";
import type { Settlement } from "../src/component/protocol.js";
import * as undoables from "../src/runtime/place.js";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function cancel(runId: string): Promise<boolean> {
  return await use.app.t.mutation(internal.runs.cancel, { runId });
}

async function stateOf(name: string, id: string) {
  return (await use.app.status(name, id))?.state;
}

describe("recover and compensate", () => {
  test("[S90] [S92] a step that has recovered is undone, with the value that it goes on with; one that has not is not", async () => {
    const error = await use.app.error("mended", {});
    expect(error).toMatchObject({
      node: "unmended",
      message: 'The recover of "unmended" failed: nor this',
      cause: { message: "not this one" },
    });
    const [fused, acted] = ["mended: not fused", "mended: not acted, attempt 2"];
    expect(await use.app.log()).toEqual([
      `undo acted, ${acted}, after ${fused}, unmended`,
      `undo fused, ${fused}, unmended`,
    ]);
    await use.app.expectNothingLeft();
  });
});

describe("what undoes a step", () => {
  const undoing = (attempt: number, key: string, previous = "") =>
    `undoing second ${attempt} 1 2 ${key} ${previous}`;

  test("[S29] [S94] is tried again, with one idempotency key; what it gives is dropped", async () => {
    const error = await use.app.error("clumsy", { goodAttempt: 2 });
    expect(error.compensationErrors).toBeUndefined();
    expect(await use.app.log()).toEqual([
      undoing(1, "second.compensate"),
      undoing(2, "second.compensate", "thrown"),
      "undo second",
      "undo first 1",
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S92] gives back what could not be stored: it has been done all the same", async () => {
    const error = await use.app.error("careless", {});
    expect(error.compensationErrors).toBeUndefined();
    expect(await use.app.log()).toEqual(["undo referenced 2", "undo inline"]);
    await use.app.expectNothingLeft();
  });

  test("[S38] [S94] takes too long, each time: the run's error lists it, and the others are undone", async () => {
    const error = await use.app.error("clumsy", { ms: HOUR });
    expect(error).toMatchObject({
      message: "it fails",
      compensationErrors: [
        { kind: "timedOut", workflow: "clumsy", node: "second.compensate", attempt: 3 },
      ],
    });
    const log = await use.app.log();
    expect(log.filter((line) => line.startsWith("undoing"))).toHaveLength(3);
    expect(log).toContain("undo first 1");
  });

  test.each([1, 3])("[S94] [S107] is lost with its machine, %s times of 3", async (deaths) => {
    let isUndoing = false;
    // Whatever the action tries to report does not come through.
    const dies = ({ token }: Pick<Settlement, "token">) => isUndoing && token.attempt <= deaths;
    const app = new TestApp({
      settle: (args) => args.slot !== undefined && dies(args),
      fails: (name, args) => name === "lib:keep" && dies(args as Settlement),
    });
    const id = await app.start("clumsy", {});
    await app.drive(async () => (await app.status("clumsy", id))?.state === "compensating");
    isUndoing = true;
    await app.drive();
    const status = await app.status("clumsy", id);
    expect(status?.state).toBe("failed");
    const log = await app.log();
    expect(log.filter((line) => line.startsWith("undoing"))).toEqual(
      ["", "lost", "lost"]
        .slice(0, Math.min(deaths + 1, 3))
        .map((previous, n) => undoing(n + 1, "second.compensate", previous)),
    );
    expect(log.at(-1)).toBe("undo first 1");
    if (deaths === 1) expect(status).not.toHaveProperty("error.compensationErrors");
    else
      expect(status).toMatchObject({
        error: { compensationErrors: [{ kind: "lost", node: "second.compensate", attempt: 3 }] },
      });
    expect(await app.slotsHeld()).toBe(0);
  });

  test("[S94] [S110] [S117] is gone from the code: the run's error lists it, and the others are undone", async () => {
    const id = await use.app.start("clumsy", {});
    await use.app.advance(1_000);
    await use.app.inComponent(async (ctx) => {
      for (const step of await ctx.db.query("steps").collect())
        if (step.stage === "second") await ctx.db.patch("steps", step._id, { stage: "gone" });
    });
    await use.app.drive();
    expect(await use.app.status("clumsy", id)).toMatchObject({
      state: "failed",
      error: { compensationErrors: [{ kind: "removedNode", node: "gone.compensate" }] },
    });
    expect(await use.app.log()).toEqual(["undo first 1"]);
    await use.app.expectNothingLeft();
  });

  test.each([
    ["while it runs", 30_000],
    ["while it waits to be tried again", 90_000],
  ])("[S87] [S95] the run is canceled %s: nothing changes", async (_when, ms) => {
    const id = await use.app.start("clumsy", { ms: MINUTE, goodAttempt: 2 });
    await use.app.advance(MINUTE + ms);
    expect(await stateOf("clumsy", id)).toBe("compensating");
    expect(await cancel(id)).toBe(false);
    await use.app.drive();
    expect(await use.app.status("clumsy", id)).toMatchObject({ state: "failed" });
    expect(await use.app.log()).toEqual([
      undoing(1, "second.compensate"),
      undoing(2, "second.compensate", "thrown"),
      "undo second",
      "undo first 1",
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S41] [S95] the run's time is up meanwhile: nothing changes", async () => {
    const id = await use.app.start("clumsy", { ms: 9 * MINUTE });
    await use.app.advance(55 * MINUTE);
    await cancel(id);
    await use.app.drive();
    const status = await use.app.status("clumsy", id);
    expect(status?.state).toBe("failed");
  });
});

test("[S92] [S97] what undoes a step with a secret, which stands nowhere", async () => {
  const id = await use.app.start("discreet", {});
  await use.app.drive();
  const status = await use.app.status("discreet", id);
  expect(status?.state).toBe("failed");
  expect(status).not.toHaveProperty("error.compensationErrors");
  expect(await use.app.log()).toEqual(["undo secret of 21 letters, 7", "undo pay 7"]);
  const jobs = await use.app.jobs();
  expect(JSON.stringify(jobs)).not.toContain("swordfish");
  await use.app.expectNothingLeft();
});

describe("a step that cancels its own run", () => {
  test.each(["an action", "a mutation"])(
    "[S24] [S92] after %s that is recorded together with it: that is undone",
    async (kind) => {
      const id = await use.app.start("givesUp", { in: kind.split(" ")[1] });
      await use.app.drive();
      expect(await stateOf("givesUp", id)).toBe("canceled");
      expect(await use.app.log()).toEqual(["make", "stop", "undo"]);
      expect(await use.app.slotsHeld()).toBe(0);
    },
  );
});

describe("children", () => {
  test("[S49] [S93] one that failed, and was let pass, has undone itself; the others are undone with the run", async () => {
    expect((await use.app.error("indulgent", {})).compensationErrors).toBeUndefined();
    const log = await use.app.log();
    // The second has waited since it made something, while the third did.
    expect(log.toSpliced(0, 3)).toEqual(["undo 1", "undo 3", "undo 2"]);
    await use.app.expectNothingLeft();
  });

  test(
    "[S65] [S93] on 60 levels, where undoing the deepest leaves hardly anything of its transaction",
    { tags: ["large"] },
    async () => {
      const { compensationErrors } = await use.app.error("thirstyAll", { levels: 60 });
      expect(compensationErrors).toBeUndefined();
      const undone = Array.from({ length: 61 }, (_, level) => `undo ${level}`);
      expect(await use.app.log()).toEqual(undone);
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S65] [S92] [S93] on 60 levels, canceled: the deepest is undone first",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("shaft", { depth: 60 });
      await use.app.advance(MINUTE);
      await cancel(id);
      await use.app.drive();
      expect(await stateOf("shaft", id)).toBe("canceled");
      expect(await use.app.log()).toEqual(Array.from({ length: 61 }, (_, n) => `undo ${n}`));
      await use.app.expectNothingLeft();
    },
  );

  test.each(["canceled", "failed"])(
    "[S93] [S94] of a run that has %s the error lists what could not be undone, on any level, complete or not",
    async (state) => {
      const id = await use.app.start("jams", { fails: state === "failed" });
      await use.app.advance(MINUTE);
      if (state === "canceled") await cancel(id);
      await use.app.drive();
      const status = await use.app.status("jams", id);
      expect(status?.state).toBe(state);
      const error = status !== null && "error" in status ? status.error : undefined;
      const listed = error?.compensationErrors?.map(({ message }) => message);
      expect(listed?.toSorted()).toEqual(["stuck 1", "stuck 2", "stuck 3", "stuck 4"]);
      expect(JSON.stringify(error?.cause ?? {})).not.toContain("stuck 3");
      await use.app.expectNothingLeft();
    },
  );

  test("[S93] [S117] the compensation is gone from a child's code before it is complete: what it has done can still be undone", async () => {
    const id = await use.app.start("fair", { items: 2, slow: 1, fails: true });
    await use.app.advance(MINUTE);
    const spy = vi.spyOn(undoables, "hasUndoables").mockReturnValue(false);
    await use.app.drive();
    expect(spy).toHaveBeenCalled();
    spy.mockRestore();
    expect(await stateOf("fair", id)).toBe("failed");
    expect(await use.app.log()).toEqual(["open", "make 0", "make 1", "undo 1", "undo 0", "close"]);
  });
});

const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

describe("compensation", () => {
  test("[S94] [S129] what could not be undone is listed once, also if a recover throws", async () => {
    const error = await use.app.error("unrecovered", {});
    expect(error).toMatchObject({
      kind: "thrown",
      message: 'The recover of "all" failed: there is no way',
      cause: { kind: "childFailed", key: "0", cause: { message: "it fails" } },
      compensationErrors: [{ node: "done.compensate", message: "it cannot be undone" }],
    });
    expect(error.cause).not.toHaveProperty("compensationErrors");
  });

  test.each(["runs on", "is paused"])(
    "[S94] [S103] a child could not be undone whose sibling has failed, while the run above %s: that is listed",
    async (how) => {
      const id = await use.app.start("halfUndone", { ms: 1_000 });
      await use.app.advance(500);
      if (how === "is paused") await pause(id);
      await use.app.advance(MINUTE);
      if (how === "is paused") await resume(id);
      await use.app.advance(MINUTE);
      expect(await use.app.status("halfUndone", id)).toMatchObject({
        state: "failed",
        error: {
          kind: "childFailed",
          key: "1",
          compensationErrors: [{ node: "done.compensate", message: "it cannot be undone" }],
        },
      });
      await use.app.expectNothingLeft();
    },
  );
});
