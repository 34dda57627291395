import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { dying, TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;

async function cancel(runId: string): Promise<boolean> {
  return await use.app.t.mutation(internal.runs.cancel, { runId });
}

describe("the onEnd of a workflow that is a mutation", () => {
  const KEY = "/onEnd";

  test("[S170] sees the input and the output of a run that completed, and runs once", async () => {
    expect(await use.app.output("leased", {})).toBe("it");
    expect(await use.app.log()).toEqual(['end of it: completed, "it"', KEY]);
    await use.app.expectNothingLeft();
  });

  test("[S170] [S171] runs after the compensations of a run that failed, and sees its error", async () => {
    expect((await use.app.error("leased", { fails: true })).message).toBe("it fails");
    expect(await use.app.log()).toEqual(["undo took it", "end of it: failed, it fails", KEY]);
    await use.app.expectNothingLeft();
  });

  test("[S170] runs when the run is canceled, also before anything of it has run", async () => {
    const asleep = await use.app.start("leased", { ms: MINUTE });
    await use.app.drive(async () => (await use.app.steps(asleep)).includes("work waiting"));
    const unbegun = await use.app.start("leased", { name: "other" });
    expect(await cancel(unbegun)).toBe(true);
    const other = 'The run of "leased" was canceled';
    expect(await use.app.log()).toEqual([`end of other: canceled, ${other}`, KEY]);
    expect(await cancel(asleep)).toBe(true);
    await use.app.drive();
    expect(await use.app.log()).toEqual([
      `end of other: canceled, ${other}`,
      KEY,
      "undo took it",
      `end of it: canceled, ${other}`,
      KEY,
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S170] runs when the run times out", async () => {
    const status = await use.app.run("leased", { ms: 3 * 60 * MINUTE });
    expect(status).toMatchObject({ state: "timedOut" });
    expect(await use.app.log()).toEqual([
      "undo took it",
      expect.stringMatching(/^end of it: timedOut, /),
      KEY,
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S170] runs for each child, however that ends, before the parent's own", async () => {
    const of = [{ name: "a" }, { name: "b", fails: true }, { name: "c", ms: MINUTE }];
    const error = await use.app.error("leases", { of });
    expect(error).toMatchObject({ kind: "childFailed", key: "1" });
    const log = (await use.app.log()).filter((text) => text !== KEY);
    expect(log.filter((text) => text.startsWith("end of "))).toEqual([
      'end of a: completed, "a"',
      "end of b: failed, b fails",
      'end of c: canceled, The run of "leased" was canceled',
      expect.stringMatching(/^end of all: failed, /),
    ]);
    await use.app.expectNothingLeft();
  });

  test(
    "[S170] runs for each of many children that are canceled in pages",
    { tags: ["large"] },
    async () => {
      const of = Array.from({ length: 60 }, (_, n) => ({ name: `${n}`, ms: MINUTE }));
      const id = await use.app.start("leases", { of });
      await use.app.advance(MINUTE / 2);
      await cancel(id);
      await use.app.drive();
      const ends = (await use.app.log()).filter((text) => text.startsWith("end of "));
      expect(ends).toHaveLength(61);
      expect(new Set(ends).size).toBe(61);
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S102] [S170] runs for each of many canceled children: until then their run is not restarted",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("manyEnds", { count: 12 });
      await use.app.drive();
      await cancel(id);
      const restart = { name: "manyEnds", runId: id };
      await expect(use.app.t.mutation(internal.manager.restart, restart)).rejects.toThrow(
        "goes on",
      );
      await use.app.drive();
      expect(await use.app.log()).toHaveLength(12);
      await use.app.t.mutation(internal.manager.restart, restart);
      await use.app.drive();
      expect(await use.app.status("manyEnds", id)).toMatchObject({ state: "running" });
    },
  );

  test("[S171] leaves the result as it is if it throws; the error is kept, and its writes are gone", async () => {
    const id = await use.app.start("leased", { endFails: true });
    await use.app.drive();
    expect(await use.app.status("leased", id)).toMatchObject({
      state: "completed",
      output: "it",
      onEndError: "the end fails",
    });
    expect(await use.app.log()).toEqual([]);
    expect(await use.app.steps(id)).toContain("onEnd failed");
    await use.app.expectNothingLeft();
  });

  test("[S104] [S171] cannot have its own run removed", async () => {
    const id = await use.app.start("endsItself", {});
    await use.app.drive();
    const status = await use.app.status("endsItself", id);
    expect(status).toMatchObject({ onEndError: expect.stringContaining("it goes on") });
    await use.app.t.mutation(internal.manager.cleanup, { runId: id });
    await use.app.expectNothingLeft();
  });

  test("[S170] sees the final state before onComplete does, which is called after it", async () => {
    await use.app.t.mutation(internal.manager.start, {
      name: "leased",
      input: {},
      context: 1,
    });
    await use.app.drive();
    const log = await use.app.log();
    expect(log[0]).toBe('end of it: completed, "it"');
    expect(log.at(-1)).toContain('"context"');
  });

  test("[S102] [S170] runs again in the next generation, once", async () => {
    const id = await use.app.start("leased", { endFails: true });
    await use.app.drive();
    await use.app.t.mutation(internal.manager.restart, {
      name: "leased",
      runId: id,
      from: "last",
      input: { name: "again" },
    });
    await use.app.drive();
    const status = await use.app.status("leased", id);
    expect(status).toMatchObject({ state: "completed", output: "again" });
    expect(status).not.toHaveProperty("onEndError");
    expect(await use.app.log()).toEqual(['end of again: completed, "again"', "/onEnd~2"]);
    await expect(
      use.app.t.mutation(internal.manager.restart, { name: "leased", runId: id, from: "onEnd" }),
    ).rejects.toThrow('has no node "onEnd"');
    await use.app.expectNothingLeft();
  });

  test("[S170] can be a function of the app, with args", async () => {
    await use.app.output("endReferring", {});
    expect(await use.app.log()).toEqual(["referred completed"]);
  });

  test("[S170] runs in the transaction of whoever sends the last event, and may start another run", async () => {
    const id = await use.app.start("endsDeep", {});
    await use.app.drive();
    const sent = { name: "endsDeep", run: id, event: "go", payload: "now" };
    await use.app.t.mutation(internal.manager.sendEvent, sent);
    expect(await use.app.status("endsDeep", id)).toMatchObject({
      state: "completed",
      output: "now",
    });
    expect(await use.app.steps(id)).toEqual(["go completed", "onEnd completed"]);
    await use.app.drive();
    expect(await use.app.log()).toEqual(["referred completed"]);
    await use.app.expectNothingLeft();
  });

  test("[S170] [S171] runs right after if a step of another run ends it, without enough room for it", async () => {
    const id = await use.app.start("endsDeep", {});
    await use.app.drive();
    expect(await use.app.output("endsOther", { run: id })).toBe("taken");
    expect(await use.app.steps(id)).toEqual(["go completed", "onEnd completed"]);
    expect(await use.app.status("endsDeep", id)).not.toHaveProperty("onEndError");
    expect(await use.app.log()).toEqual(["referred completed"]);
    await use.app.expectNothingLeft();
  });

  test(
    "[S171] runs right after if it needs more than the transaction of the end has left",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("endsFull", {});
      await use.app.drive();
      expect(await use.app.status("endsFull", id)).toMatchObject({ state: "completed" });
      expect(await use.app.status("endsFull", id)).not.toHaveProperty("onEndError");
      expect(await use.app.log()).toEqual(["last", "end"]);
      await use.app.expectNothingLeft();
    },
  );

  test("[S170] runs once if every scheduled entry is delivered twice", async () => {
    const app = new TestApp({ twice: true });
    await app.output("leased", {});
    expect(await app.log()).toEqual(['end of it: completed, "it"', KEY]);
  });
});

describe("the onEnd of a workflow that is an action", () => {
  test("[S172] runs after the end, and is tried again; meanwhile the run has ended, and is not restarted", async () => {
    const id = await use.app.start("announced", {});
    await use.app.drive(async () => (await use.app.log()).length === 1);
    const status = await use.app.status("announced", id);
    expect(status).toMatchObject({ state: "completed", active: [{ node: "onEnd" }] });
    const refused = use.app.t.mutation(internal.manager.restart, { name: "announced", runId: id });
    await expect(refused).rejects.toThrow();
    await use.app.drive();
    expect(await use.app.log()).toEqual([1, 2, 3].map((n) => `announced it completed ${n} false`));
    expect(await use.app.status("announced", id)).not.toHaveProperty("onEndError");
    await use.app.expectNothingLeft();
  });

  test("[S97] [S172] that fails for good leaves the result and is told; no argument has what is not to be shown", async () => {
    const id = await use.app.start("announced", { fails: true, goodAttempt: 9, secret: "psst" });
    await use.app.drive();
    expect(await use.app.status("announced", id)).toMatchObject({
      state: "failed",
      error: { node: "last" },
      onEndError: expect.stringMatching(
        /message is not shown, as the node reads what is sensitive/,
      ),
    });
    expect(await use.app.steps(id)).toEqual(["last failed", "onEnd failed"]);
    expect(await use.app.log()).toHaveLength(3);
    const scheduled = await use.app.jobs();
    const actions = scheduled.filter(({ args }) => JSON.stringify(args).includes('"onEnd"'));
    expect(actions.length).toBeGreaterThan(0);
    for (const { args } of actions)
      expect(JSON.stringify(args[0].scope ?? {})).not.toContain("psst");
    await use.app.expectNothingLeft();
  });

  test("[S102] [S172] runs for a generation that is canceled as soon as it was begun", async () => {
    const id = await use.app.start("announced", { goodAttempt: 1 });
    await use.app.drive();
    await use.app.t.mutation(internal.runs.restartAndCancel, { name: "announced", runId: id });
    await use.app.drive();
    expect(await use.app.status("announced", id)).toMatchObject({
      state: "canceled",
      generation: 2,
    });
    expect(await use.app.steps(id)).toEqual(["last canceled", "onEnd completed"]);
    expect(await use.app.log()).toEqual([
      "announced it completed 1 false",
      "announced it canceled 1 false",
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S107] [S172] is found if it is lost, and is tried again", async () => {
    const app = new TestApp(dying(1));
    const id = await app.start("announced", { goodAttempt: 1 });
    await app.drive();
    expect(await app.status("announced", id)).toMatchObject({ state: "completed", active: [] });
    expect(await app.log()).toEqual([1, 2].map((n) => `announced it completed ${n} false`));
    expect(await app.slotsHeld()).toBe(0);
  });

  test("[S102] [S172] of a child goes on to its end: until then the run above it is neither restarted nor removed", async () => {
    const id = await use.app.start("announcers", { fails: false });
    await use.app.drive(async () => (await use.app.log()).length === 1);
    expect(await use.app.status("announcers", id)).toMatchObject({ state: "completed" });
    const restart = { name: "announcers", runId: id, from: "all" };
    await expect(use.app.t.mutation(internal.manager.restart, restart)).rejects.toThrow();
    await expect(use.app.t.mutation(internal.manager.cleanup, { runId: id })).rejects.toThrow();
    await use.app.drive();
    expect(await use.app.log()).toEqual(["announcer completed 1", "announcer completed 2"]);
    await use.app.t.mutation(internal.manager.restart, restart);
    await use.app.drive();
    expect(await use.app.log()).toHaveLength(4);
    await use.app.t.mutation(internal.manager.cleanup, { runId: id });
    await use.app.expectNothingLeft();
  });

  test(
    "[S172] of a child, and of its child, is not removed with its iteration",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("endsInLoop", { count: 210 });
      await use.app.drive();
      expect(await use.app.status("endsInLoop", id)).toMatchObject({ state: "completed" });
      expect(await use.app.log()).toHaveLength(6);
      await use.app.expectNothingLeft();
    },
  );

  test("[S93] [S172] of a child still goes on while that is undone", async () => {
    const id = await use.app.start("announcers", { fails: true });
    await use.app.drive();
    expect(await use.app.status("announcers", id)).toMatchObject({ state: "failed" });
    expect(await use.app.log()).toEqual([
      "announcer completed 1",
      "undo it",
      "announcer completed 2",
    ]);
    await use.app.expectNothingLeft();
  });
});
