import { describe, expect, test } from "vitest";
import type { ListedRun, Page, TimelineEntry, Wait } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const video = (more: object = {}) => ({ videoId: "v", langs: ["en", "de"], ...more });

describe("branches and items", () => {
  test(
    "[S160] begin together; outputs come by branch and in the order of the items",
    { tags: ["large"] },
    async () => {
      const run = await use.app.run("listed", video());
      expect(run).toHaveProperty("output", {
        facts: { probe: "probed /v", "still image": "/v at 7" },
        subtitles: ["0 en probed /v", "1 de probed /v"],
      });
      // The longest of each counts.
      expect(run).toMatchObject({ endedAt: run.startedAt + 500 });
      await use.app.expectNothingLeft();
    },
  );

  test("[S160] of a record the outputs are one; `concurrency` bounds how many run", async () => {
    const items = { a: 1, b: 2, c: -3, d: 4 };
    const run = await use.app.run("doubled", { items, most: 2 });
    expect(run).toHaveProperty("output", {
      a: { ok: true, output: 2 },
      b: { ok: true, output: 4 },
      c: { ok: false, error: expect.objectContaining({ message: "c is negative" }) },
      d: { ok: true, output: 8 },
    });
    expect(run).toMatchObject({ endedAt: run.startedAt + 200 });
    await use.app.expectNothingLeft();
  });

  test("[S160] [S162] what branches are reduced to is the output as it is", async () => {
    expect(await use.app.output("toldFacts", {})).toBe("one: 1; the other: 2; ");
    await use.app.expectNothingLeft();
  });

  test(
    "[S43] [S160] items that may wait all begin at once, though there are more than slots",
    { tags: ["large"] },
    async () => {
      const run = await use.app.run("nested", { rows: [Array.from({ length: 60 }, () => 1)] });
      // Each iteration waits as long as one of its items.
      expect(run).toMatchObject({ endedAt: run.startedAt + 2 * 10 });
      await use.app.expectNothingLeft();
    },
  );

  test(
    "[S161] see the whole scope around them, through loops and one another",
    { tags: ["large"] },
    async () => {
      const cells = (start: number, state: number, rows: number[][]) =>
        rows.map((row) =>
          row.reduce(
            (sum, cell, at) =>
              sum + (cell + row.length * 10 + start + state + rows.length) * (at + 1),
            0,
          ),
        );
      const rows = [[1, 2], [3]];
      let state = 0;
      for (const iteration of [1, 2]) {
        const start = iteration * 100;
        state = cells(start, state, rows).reduce((sum, each) => sum + each, 0) + start + 6;
      }
      expect(await use.app.output("nested", { rows })).toBe(state);
      await use.app.expectNothingLeft();
    },
  );

  test("[S161] may hold any node; no items give an empty list", async () => {
    const id = await use.app.start("above", { n: 3 });
    await use.app.drive();
    const [top] = await use.app.tree(id);
    expect(top?.state).toBe("completed");
    expect(await use.app.status("above", id)).toMatchObject({ output: [] });
    const both = await use.app.inComponent(async (ctx) => {
      const steps = await ctx.db.query("steps").collect();
      return steps.find(({ stage, run }) => stage === "both" && run === id)?.output as unknown;
    });
    expect(both).toEqual({
      runs: {
        children: [{ a: { ok: true, output: 6 } }, { b: { ok: true, output: 8 } }],
      },
      routed: "tiny",
    });
    await use.app.expectNothingLeft();
  });
});

describe("[S162] they are children", () => {
  test("a failure stops the others, and says whose it was", async () => {
    const error = await use.app.error("listed", video({ fails: "probe" }));
    expect(error).toMatchObject({
      kind: "childFailed",
      node: "facts",
      key: "probe",
      cause: { kind: "thrown", node: "facts.probe.probed", message: "cannot probe" },
    });
    expect(await use.app.log()).toEqual([]);
    await use.app.expectNothingLeft();
  });

  test("what they did is undone, the newest first, whichever branch did it", async () => {
    const error = await use.app.error("listed", video({ fails: "de" }));
    expect(error).toMatchObject({ node: "subtitles", key: "1", cause: { node: "subtitles.text" } });
    expect(await use.app.log()).toEqual(["undo frame 7", "undo probed /v v subtitles"]);
    await use.app.expectNothingLeft();
  });

  test("a branch that failed leaves the others to be undone", async () => {
    const error = await use.app.error("listed", video({ fails: "thumb" }));
    expect(error).toMatchObject({ kind: "childFailed", node: "facts", key: "still image" });
    expect(error.message).toContain('Child still image of "facts" (listed) failed');
    expect(await use.app.log()).toEqual(["undo probed /v v facts"]);
    await use.app.expectNothingLeft();
  });

  test("in a loop, each iteration is undone with the loop as it was", async () => {
    const error = await use.app.error("undone", { fails: true });
    expect(error.message).toBe("fails at the end");
    expect(await use.app.log()).toEqual(["undo first a7 a7", "undo first a a"]);
    await use.app.expectNothingLeft();
  });

  test("a cancel ends them", async () => {
    const id = await use.app.start("listed", video({ thumbMs: 60_000 }));
    await use.app.advance(150);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await use.app.drive();
    const runs = await use.app.tree(id);
    expect(runs.map(({ key, state }) => [key, state])).toEqual([
      [undefined, "canceled"],
      ["probe", "completed"],
      ["still image", "canceled"],
    ]);
    expect(await use.app.log()).toEqual(["undo probed /v v "]);
    await use.app.expectNothingLeft();
  });

  test("the node's timeout ends them all, and it recovers", async () => {
    const started = Date.now();
    expect(await use.app.output("hurried", { ms: 60_000 })).toBe("timedOut");
    expect(await use.app.output("hurried", { ms: 100 })).toEqual({ sleeps: null, works: false });
    expect(Date.now() - started).toBeGreaterThan(1_000);
    await use.app.expectNothingLeft();
  });

  test("[S129] a recover in one sees names as they are written, and not what its node may lack", async () => {
    expect(await use.app.output("recoveredFacts", { most: 1 })).toEqual({
      "still image": ["facts.still image.frames", "input"],
    });
    await use.app.expectNothingLeft();
  });

  test("a pause holds them, and a resume goes on", async () => {
    const id = await use.app.start("listed", video());
    await use.app.advance(150);
    await use.app.t.mutation(internal.manager.pause, { runId: id });
    await use.app.advance(60_000);
    expect(await use.app.status("listed", id)).toMatchObject({ state: "running", paused: true });
    await use.app.t.mutation(internal.manager.resume, { runId: id });
    await use.app.drive();
    expect(await use.app.status("listed", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });

  test(
    "a restart from a later node keeps their results; one from the node does them again",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("undone", { fails: true });
      await use.app.drive();
      await use.app.t.mutation(internal.app.log, { text: "mended" });
      await use.app.t.mutation(internal.manager.restart, { name: "undone", runId: id });
      await use.app.drive();
      expect(await use.app.status("undone", id)).toMatchObject({ state: "completed" });
      const before = await use.app.tree(id);
      await use.app.t.mutation(internal.manager.restart, {
        name: "undone",
        runId: id,
        from: "last",
      });
      await use.app.drive();
      const kept = await use.app.tree(id);
      const below = (runs: typeof before) => runs.slice(1).map(({ runId }) => runId);
      expect(below(kept)).toEqual(below(before));
      await use.app.t.mutation(internal.manager.restart, {
        name: "undone",
        runId: id,
        from: "rounds",
      });
      await use.app.drive();
      const again = await use.app.tree(id);
      expect(below(again)).toHaveLength(below(before).length);
      expect(below(again).filter((run) => below(before).includes(run))).toEqual([]);
      await use.app.expectNothingLeft();
    },
  );
});

describe("[S163] they are inside their run", () => {
  test("only lists of children show them, and the run's timeline has the node alone", async () => {
    const id = await use.app.start("listed", video());
    await use.app.drive();
    const page = { numItems: 50, cursor: null };
    const list = async (filter: object) =>
      (await use.app.t.query(internal.manager.list, {
        page,
        filter,
      })) as unknown as Page<ListedRun>;
    expect((await list({ workflow: "listed" })).page.map(({ runId }) => runId)).toEqual([id]);
    expect((await list({ workflow: "listed", children: true })).page).toHaveLength(5);
    const timeline = async (runId: string) =>
      (await use.app.t.query(internal.manager.steps, {
        name: "listed",
        runId,
        page,
      })) as unknown as Page<TimelineEntry>;
    const entries = (await timeline(id)).page;
    expect(entries.map(({ node, state }) => `${node} ${state}`)).toEqual([
      "video completed",
      "facts completed",
      "subtitles completed",
      "finalize completed",
    ]);
    const [, facts, subtitles] = entries;
    const branches = (await list({ parent: facts?.id })).page;
    expect(branches.map(({ childKey, within }) => [childKey, within])).toEqual([
      ["probe", "facts.probe"],
      ["still image", "facts.stillImage"],
    ]);
    const items = (await list({ parent: subtitles?.id })).page;
    expect(items.map(({ index, within }) => [index, within])).toEqual([
      [0, "subtitles"],
      [1, "subtitles"],
    ]);
    const image = (await timeline(branches[1]?.runId ?? "")).page;
    expect(image.map(({ node, state }) => `${node} ${state}`)).toEqual([
      "facts.still image.frame completed",
      "facts.still image.thumb completed",
    ]);
  });

  test("a branch that failed tells what it has skipped, and its run does not", async () => {
    const id = await use.app.start("listed", video({ fails: "thumb" }));
    await use.app.drive();
    const page = { numItems: 50, cursor: null };
    const told = async (runId: string) => {
      const found = await use.app.t.query(internal.manager.steps, { name: "listed", runId, page });
      const { page: entries } = found as unknown as Page<TimelineEntry>;
      return entries.map(({ node, state }) => `${node} ${state}`);
    };
    expect(await told(id)).toEqual([
      "video completed",
      "facts failed",
      "subtitles skipped",
      "finalize skipped",
    ]);
    const runs = await use.app.tree(id);
    const image = runs.find(({ key }) => key === "still image");
    expect(await told(image?.runId ?? "")).toEqual([
      "facts.still image.frame failed",
      "facts.still image.thumb skipped",
    ]);
  });

  test("an event for a node in one is sent to its run, which `waits` gives; the run above says so", async () => {
    const id = await use.app.start("polled", { names: ["ann", "bob"] });
    await use.app.drive(async () => {
      const [, ...items] = await use.app.tree(id);
      return items.length === 2 && items.every(({ steps: [step] }) => step?.state === "waiting");
    });
    const answer = async (runId: string, by: string) =>
      await use.app.t.mutation(internal.manager.sendEvent, {
        name: "polled",
        run: runId,
        event: "answer",
        payload: { by, text: `by ${by}` },
      });
    await expect(answer(id, "ann")).rejects.toThrow(
      '"answers.answer" is in a run of its own: send it to that',
    );
    const { page } = (await use.app.t.query(internal.manager.waits, {
      runId: id,
    })) as unknown as Page<Wait>;
    expect(page.map(({ path, input }) => [path, input])).toEqual([
      ["answers/0/answers.answer", { item: "ann", index: 0 }],
      ["answers/1/answers.answer", { item: "bob", index: 1 }],
    ]);
    const [ann = "", bob = ""] = page.map(({ runId }) => runId);
    await expect(answer(bob, "ann")).rejects.toThrow("waits for another one");
    await answer(bob, "bob");
    await answer(ann, "ann");
    await use.app.drive(
      async () => (await use.app.status("polled", id))?.active[0]?.node === "approval",
    );
    await use.app.t.mutation(internal.manager.sendEvent, {
      name: "polled",
      run: id,
      event: "approval",
      payload: "yes",
    });
    await use.app.drive();
    expect(await use.app.status("polled", id)).toMatchObject({ state: "completed", output: "yes" });
    await use.app.expectNothingLeft();
  });
});

test("[S164] what is around items is stored once, however many read it; each item is stored once", async () => {
  const cards = Array.from({ length: 40 }, (_none, n) => `card ${n}`);
  const name = "n".repeat(100_000);
  expect(await use.app.output("guarded", { name, cards })).toBe(10 * 6 + 30 * 7);
  const stored = await use.app.inComponent(async (ctx) => {
    const runs = await ctx.db.query("runs").collect();
    const steps = await ctx.db.query("steps").collect();
    const all = JSON.stringify([runs, steps]);
    const times = (text: string) => all.split(text).length - 1;
    return { name: times(name), first: times(`"item":"card 0"`), last: times(`"card 39"`) };
  });
  // The run's own input has the cards too.
  expect(stored).toEqual({ name: 1, first: 1, last: 2 });
});

test("[S97] an item that was made of what is secret is not shown", async () => {
  const id = await use.app.start("guarded", { name: "n", cards: ["4111", "42"] });
  await use.app.drive();
  expect(await use.app.status("guarded", id)).toMatchObject({ state: "completed", output: 6 });
  const [, first] = await use.app.tree(id);
  const status = await use.app.status("guarded", first?.runId ?? "");
  expect(status).toMatchObject({ state: "completed", output: 4 });
  expect(status).not.toHaveProperty("input");
});

test("[S162] after a branch that could not be entered where it starts, no other is: all are scheduled", async () => {
  const tried: string[] = [];
  const app = new TestApp({
    settle: ({ starting, token }) => starting !== undefined && tried.push(token.step) > 0,
  });
  expect(await app.output("toldFacts", {})).toBe("one: 1; the other: 2; ");
  expect(tried).toHaveLength(1);
  await app.expectNothingLeft();
});

test("[S141] an item that is a hole or undefined is refused; a field that is undefined is none", async () => {
  for (const what of ["hole", "undefined"])
    expect(await use.app.error("gaps", { what })).toMatchObject({
      kind: "invalidOutput",
      message: 'Item 1 of "all" is undefined: write null',
    });
  expect(await use.app.output("gaps", { what: "field" })).toEqual({ a: 1 });
  expect((await use.app.error("gaps", { what: "text" })).message).toBe(
    'The of of "all" must give a list or a record, and gave "a, b"',
  );
});
