import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

const casesOf = async (id: string) => {
  const runs = await use.app.tree(id);
  return runs.slice(1).map(({ key, state }) => `${key} ${state}`);
};

describe("[S168] the first case that ends well wins", () => {
  test("in the transaction in which it ends, which cancels the others", async () => {
    const id = await use.app.start("contested", { slowMs: 60_000 });
    await use.app.drive(async () => (await casesOf(id)).includes("fast completed"));
    expect(await casesOf(id)).toEqual(["fast completed", "slow one compensating"]);
    await use.app.drive();
    const status = await use.app.status("contested", id);
    expect(status).toMatchObject({ state: "completed", output: { case: "fast", output: 1 } });
    expect(await casesOf(id)).toEqual(["fast completed", "slow one canceled"]);
    const [, , slow] = await use.app.tree(id);
    expect(await use.app.status("contested", slow?.runId ?? "")).toMatchObject({
      error: { kind: "canceled", message: 'Another case of "first" has won: fast' },
    });
    await use.app.expectNothingLeft();
  });

  test("whichever it is; the output says which, by its present name", async () => {
    const output = await use.app.output("contested", { slowMs: 50 });
    expect(output).toEqual({ case: "slow one", output: "in time" });
    await use.app.expectNothingLeft();
  });

  test("of two that end at once, exactly one", async () => {
    const id = await use.app.start("contested", { fastMs: 100, slowMs: 100 });
    await use.app.drive();
    const ended = await casesOf(id);
    expect(ended.filter((each) => each.endsWith("completed"))).toHaveLength(1);
    expect(ended.filter((each) => each.endsWith("canceled"))).toHaveLength(1);
    expect((await use.app.log()).filter((text) => text.startsWith("then"))).toHaveLength(1);
    await use.app.expectNothingLeft();
  });

  test("one that has not begun by then never does", async () => {
    const id = await use.app.start("raceAtOnce", {});
    await use.app.drive();
    expect(await use.app.status("raceAtOnce", id)).toMatchObject({ output: { case: "one" } });
    expect(await casesOf(id)).toEqual(["one completed", "two canceled"]);
    expect(await use.app.log()).toEqual(["one"]);
    await use.app.expectNothingLeft();
  });

  test("[S251] one that fails is out, and its errors are in those of a race of which all fail", async () => {
    const output = await use.app.output("contested", { fails: ["fast"] });
    expect(output).toEqual({ case: "slow one", output: "in time" });
    const error = await use.app.error("contested", { fails: ["fast", "slow"] });
    expect(error).toMatchObject({
      kind: "childFailed",
      node: "first",
      message: 'All cases of "first" failed: fast: fast after before; slow one: slow when held',
      causes: {
        fast: { kind: "thrown", node: "first.fast.quick", message: "fast after before" },
        "slow one": { node: "first.slow one.late", message: "slow when held" },
      },
    });
    expect(await use.app.log()).toEqual(["then slow one", "undo held: thrown", "undo before"]);
    await use.app.expectNothingLeft();
  });

  test('[S251] with `first: "any"`, the first end of any kind', async () => {
    expect(await use.app.output("firstEnd", { ms: 100, fails: false })).toEqual({
      case: "works",
      ok: true,
      output: "worked",
    });
    expect(await use.app.output("firstEnd", { ms: 100, fails: true })).toEqual({
      case: "works",
      ok: false,
      error: expect.objectContaining({ message: "cannot work", node: "first.works.work" }),
    });
    expect(await use.app.output("firstEnd", { ms: 900, fails: true })).toEqual({
      case: "lapses",
      ok: true,
      output: null,
    });
    await use.app.expectNothingLeft();
  });

  test("its timeout ends all cases, and it recovers", async () => {
    expect(await use.app.output("hurriedRace", { ms: 60_000 })).toEqual({ case: "timedOut" });
    expect(await use.app.log()).toEqual(["undo held"]);
    await use.app.expectNothingLeft();
  });

  test("in a loop, in items and in one another", { tags: ["large"] }, async () => {
    const rows = [
      [10, 20],
      [20, 10],
      [5, 60_000],
    ];
    expect(await use.app.output("nestedRaces", { rows })).toBe("n0,left,n2n0,left,n0,left,n2n2");
    expect(await use.app.log()).toHaveLength(6);
    await use.app.expectNothingLeft();
  });

  test("a pause holds it, and it is won when it is resumed", async () => {
    const id = await use.app.start("contested", {});
    await use.app.advance(50);
    await use.app.t.mutation(internal.manager.pause, { runId: id });
    await use.app.advance(60_000);
    // What ran has ended, and one of it has won; nothing more was started.
    expect(await use.app.status("contested", id)).toMatchObject({ state: "running", paused: true });
    expect(await use.app.log()).not.toContain("then fast");
    await use.app.t.mutation(internal.manager.resume, { runId: id });
    await use.app.drive();
    expect(await use.app.status("contested", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });
});

test("[S252] it has one record, and each case one of what it does; the winner's end reads no more", async () => {
  const id = await use.app.start("contested", { fastMs: 1_000, slowMs: 60_000 });
  await use.app.advance(500);
  const open = await use.app.inComponent(async (ctx) => {
    const steps = await ctx.db.query("steps").collect();
    return steps.filter(({ endedAt }) => endedAt === undefined).map(({ stage }) => stage);
  });
  expect(open).toHaveLength(3);
  expect(open.filter((stage) => stage === "first")).toHaveLength(1);
  use.app.counter.clear();
  await use.app.drive(async () => (await casesOf(id)).includes("fast completed"));
  const ends = use.app.counter.totals(({ name }) => name === "lib:settle");
  expect(ends.documentsRead).toBeLessThanOrEqual(14);
});

test("[S252] the winner's end reads no more if the others have done much", async () => {
  const read: number[] = [];
  for (const rounds of [1, 40]) {
    const id = await use.app.start("wornRace", { rounds });
    await use.app.advance(50_000);
    use.app.counter.clear();
    await use.app.drive(async () => (await casesOf(id)).includes("fast completed"));
    read.push(use.app.counter.totals().documentsRead);
    await use.app.drive();
  }
  expect(read[1]).toBeLessThanOrEqual(read[0] ?? 0);
});

describe("[S169] what the others have done is undone", () => {
  test("before the run goes on", async () => {
    await use.app.output("contested", { undoMs: 5_000 });
    expect(await use.app.log()).toEqual(["undo held: canceled", "then fast"]);
    await use.app.expectNothingLeft();
  });

  test("and not once more, when the run fails; what the winner did is", async () => {
    await use.app.error("contested", { fails: ["then"] });
    expect(await use.app.log()).toEqual(["undo held: canceled", "undo quick", "undo before"]);
    await use.app.expectNothingLeft();
  });

  test("a compensation that fails stops nothing", async () => {
    expect(await use.app.output("contested", { fails: ["undo"] })).toMatchObject({ case: "fast" });
    await use.app.expectNothingLeft();
  });

  test("also if the run is canceled meanwhile, before what it did itself", async () => {
    const id = await use.app.start("contested", { undoMs: 5_000 });
    await use.app.advance(1_000);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await use.app.drive();
    expect(await use.app.status("contested", id)).toMatchObject({ state: "canceled" });
    expect(await use.app.log()).toEqual(["undo held: canceled", "undo quick", "undo before"]);
    await use.app.expectNothingLeft();
  });

  test("a pause meanwhile lets it be undone, and no more", async () => {
    const id = await use.app.start("contested", { undoMs: 5_000 });
    await use.app.advance(1_000);
    await use.app.t.mutation(internal.manager.pause, { runId: id });
    await use.app.advance(60_000);
    expect(await use.app.log()).toEqual(["undo held: canceled"]);
    await use.app.t.mutation(internal.manager.resume, { runId: id });
    await use.app.drive();
    expect(await use.app.log()).toEqual(["undo held: canceled", "then fast"]);
    await use.app.expectNothingLeft();
  });

  test("the timeout of a race that is won does not count meanwhile", async () => {
    expect(await use.app.output("hurriedRace", { ms: 1_500 })).toEqual({
      case: "sleeps",
      output: 1,
    });
    expect(await use.app.log()).toEqual(["undo held"]);
    await use.app.expectNothingLeft();
  });

  test("but with `compensateLosers: false` only when the run fails", async () => {
    expect(await use.app.output("keptContest", { fails: false })).toBe("fast");
    expect(await use.app.log()).toEqual(["paid"]);
    await use.app.expectNothingLeft();
    await use.app.error("keptContest", { fails: true });
    expect(await use.app.log()).toEqual(["paid", "paid", "refunded", "undo held: fails then"]);
    await use.app.expectNothingLeft();
  });

  test("also of many items, which are canceled in pages", { tags: ["large"] }, async () => {
    await use.app.error("manyLose", { many: 12 });
    const log = await use.app.log();
    const undone = (of: string) => Array.from({ length: 12 }, (_none, n) => `undo ${of} ${n}`);
    expect(log.slice(0, 12).toSorted()).toEqual(undone("first").toSorted());
    expect(log[12]).toBe("between");
    expect(log.slice(13).toSorted()).toEqual(undone("second").toSorted());
    await use.app.expectNothingLeft();
  });

  test("though it completes before the cancel of so many cases comes to it", async () => {
    const id = await use.app.start("contested", { fastMs: 100, slowMs: 100 });
    await use.app.advance(50);
    // The race has 200 cases more, which are canceled in a page before that of the slow one.
    await use.app.inComponent(async ({ db }) => {
      const all = await db.query("runs").collect();
      const slow = all.find(({ within }) => within?.startsWith("first.slow") === true)!;
      const { _id, _creationTime, ...fields } = slow;
      for (let n = 0; n < 200; n++)
        await db.insert("runs", { ...fields, index: 1, childKey: `case ${n}` });
      await db.patch("runs", _id, { index: 2 });
      await db.patch("steps", slow.parentStep!, { total: 202, concurrency: 202 });
    });
    await use.app.drive();
    expect(await use.app.status("contested", id)).toMatchObject({ output: { case: "fast" } });
    expect(await use.app.log()).toEqual(["undo late", "undo held: canceled", "then fast"]);
    await use.app.expectNothingLeft();
  });

  test("a restart keeps the winner, or races once more", async () => {
    const id = await use.app.start("contested", { fails: ["then"] });
    await use.app.drive();
    await use.app.t.mutation(internal.app.log, { text: "mended" });
    await use.app.t.mutation(internal.manager.restart, { name: "contested", runId: id });
    await use.app.drive();
    const before = await use.app.tree(id);
    const below = (runs: typeof before) => runs.slice(1).map(({ runId }) => runId);
    const restart = { name: "contested", runId: id };
    await use.app.t.mutation(internal.manager.restart, { ...restart, from: "after" });
    await use.app.drive();
    expect(below(await use.app.tree(id))).toEqual(below(before));
    await use.app.t.mutation(internal.manager.restart, { ...restart, from: "first" });
    await use.app.drive();
    const again = below(await use.app.tree(id));
    expect(again).toHaveLength(2);
    expect(again.filter((run) => below(before).includes(run))).toEqual([]);
    expect(await use.app.status("contested", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });
});

describe("[S168] an event for a case is sent to the run that the race is in", () => {
  const begun = async (firstMs = 0) => {
    const id = await use.app.start("bidden", { firstMs });
    await use.app.advance(500);
    const send = async (payload: unknown, event = "bid"): Promise<unknown> =>
      await use.app.t.mutation(internal.manager.sendEvent, {
        name: "bidden",
        run: id,
        event,
        payload,
      });
    const ends = async () => {
      await use.app.drive();
      await use.app.expectNothingLeft();
      return await use.app.status("bidden", id);
    };
    const settled = async () =>
      await use.app.inComponent(async (ctx) => {
        const steps = await ctx.db.query("steps").collect();
        return steps.find(({ stage, run }) => stage === "settled" && run === id)?.output as unknown;
      });
    return { id, send, ends, settled };
  };
  const later = (value: number) => ({ timedOut: false, event: { name: "bid", value } });

  test("which one of them takes", async () => {
    const { send, ends, settled } = await begun();
    expect(await send(5)).toBe("taken");
    expect(await send(7)).toBe("kept");
    expect(await ends()).toMatchObject({ output: later(7) });
    expect(await settled()).toEqual({ case: "small", output: 5 });
  });

  test("the one for which it is meant, also in a race inside", async () => {
    const { send, ends, settled } = await begun();
    expect(await send(200)).toBe("taken");
    await ends();
    expect(await settled()).toEqual({ case: "large", output: { case: "bids", output: 200 } });
  });

  test("or a later node, if it is for none of them", async () => {
    const { send, ends, settled } = await begun();
    expect(await send(50)).toBe("kept");
    expect(await ends()).toMatchObject({ output: later(50) });
    expect(await settled()).toEqual({ case: "lapsed", output: null });
  });

  test("it is kept until the race is reached, and what no case takes stays for a later node", async () => {
    const { send, ends, settled } = await begun(10_000);
    expect([await send(50), await send(3), await send(150)]).toEqual(["kept", "kept", "kept"]);
    expect(await ends()).toMatchObject({ output: later(50) });
    expect(await settled()).toMatchObject({ case: expect.stringMatching(/small|large/) });
  });

  test("once the race is won, its cases take none", async () => {
    const { id, send, ends } = await begun();
    expect(await send("now", "stop")).toBe("taken");
    await use.app.drive(
      async () => (await use.app.status("bidden", id))?.active[0]?.node === "later",
    );
    await expect(send("once more", "stop")).rejects.toThrow("past every node");
    expect(await send(1)).toBe("taken");
    expect(await ends()).toMatchObject({ output: later(1) });
  });

  test("a restart from the race gives it back", async () => {
    const { id, send, ends, settled } = await begun();
    await send(5);
    await ends();
    await use.app.t.mutation(internal.manager.restart, {
      name: "bidden",
      runId: id,
      from: "settled",
    });
    await ends();
    expect(await settled()).toEqual({ case: "small", output: 5 });
  });

  test("a paused run keeps it, and the case takes it when the run is resumed", async () => {
    const { id, send, ends, settled } = await begun();
    await use.app.t.mutation(internal.manager.pause, { runId: id });
    expect(await send(5)).toBe("kept");
    await use.app.t.mutation(internal.manager.resume, { runId: id });
    await ends();
    expect(await settled()).toEqual({ case: "small", output: 5 });
  });
});

test.each([
  ["one that comes to its end wins, and the run goes on", true, { said: "early" }],
  ["an end after it is of the run", false, { late: 2 }],
])("[S166] [S167] [S168] races, matches and ends: %s", async (_case, early, output) => {
  expect(await use.app.output("endedRace", { early })).toEqual(output);
  await use.app.expectNothingLeft();
});
