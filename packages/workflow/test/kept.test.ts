import { beforeEach, describe, expect, test, vi } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

const note = async (text: string) => await use.app.t.mutation(internal.app.log, { text });
const cancel = async (runId: string) => await use.app.t.mutation(internal.runs.cancel, { runId });
const restart = async (
  name: string,
  runId: string,
  options: { from?: string; iteration?: number; input?: unknown } = {},
) => await use.app.t.mutation(internal.manager.restart, { name, runId, ...options });
const send = async (name: string, run: string, event: string, payload: unknown) =>
  await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
/** What steps have noted, without what broke and mended them. */
const noted = async () =>
  (await use.app.log()).filter((text) => !/^(?:broken .*|mended)$/.test(text));

describe("a node that runs again", () => {
  const enter = async (id: string, ...all: number[]) => {
    for (const cents of all) await send("ledger", id, "item", { cents });
  };

  test.each([
    ["from the loop", { from: "entries" }],
    ["from its beginning", { from: "entries", iteration: 1 }],
    ["whole", {}],
  ])(
    "[S134] [S253] gets its event back, before those that came after it: %s",
    async (_what, options) => {
      await note("broken 1");
      const id = await use.app.start("ledger", { of: 3 });
      const since = Date.now();
      await enter(id, 1, 2, 3);
      await use.app.drive();
      expect(await use.app.status("ledger", id)).toMatchObject({
        state: "failed",
        kept: [{ name: "item", count: 2, since: expect.closeTo(since, 0) as number }],
      });
      await note("mended");
      await restart("ledger", id, options);
      await use.app.drive();
      expect(await use.app.status("ledger", id)).toMatchObject({
        state: "completed",
        output: [1, 2, 3],
        kept: [],
      });
      expect(await noted()).toEqual(["entry 1", "entry 2", "entry 3"]);
      await use.app.expectNothingLeft();
    },
  );

  test("[S134] from the beginning of a loop, in the order in which they were taken, again and again", async () => {
    await note("broken 3");
    await note("broken 3");
    const id = await use.app.start("ledger", { of: 4 });
    await enter(id, 1, 2);
    await use.app.drive(async () => (await noted()).length === 2);
    await enter(id, 3, 2, 1);
    await use.app.drive();
    for (let n = 0; n < 2; n++) {
      expect(await use.app.status("ledger", id)).toMatchObject({ state: "failed" });
      await note("mended");
      await restart("ledger", id, { from: "entries", iteration: 1 });
      await use.app.drive();
    }
    expect(await use.app.status("ledger", id)).toMatchObject({
      state: "completed",
      output: [1, 2, 3, 2],
      kept: [{ name: "item", count: 1 }],
    });
    expect(await noted()).toEqual([1, 2, 1, 2, 1, 2, 3, 2].map((cents) => `entry ${cents}`));
  });

  test("[S134] [S71] [S72] each kind of event comes back as it was sent, and is parsed as it was", async () => {
    await note("broken mail");
    const id = await use.app.start("mailbox", {});
    await send("mailbox", id, "letter", "dear");
    await use.app.advance(1_000);
    await send("mailbox", id, "parcel", { kg: 2 });
    await use.app.advance(1_000);
    await send("mailbox", id, "timed", "tick");
    await send("mailbox", id, "letter", "last");
    await use.app.advance(1_000);
    const output = [
      4,
      { name: "parcel", value: { kg: 2 } },
      { timedOut: false, event: "tick" },
      { timedOut: false, event: { name: "letter", value: "last" } },
    ];
    expect(await use.app.status("mailbox", id)).toMatchObject({ state: "failed", kept: [] });
    await note("mended");
    await restart("mailbox", id);
    await use.app.drive();
    expect(await use.app.status("mailbox", id)).toMatchObject({ state: "completed", output });
    await restart("mailbox", id, { from: "timed" });
    await use.app.drive();
    expect(await use.app.status("mailbox", id)).toMatchObject({ state: "completed", output });
  });

  test.each([
    ["that the run waits for", false],
    ["that come early", true],
  ])(
    "[S134] comes back though it looks like what a node makes of one: events %s",
    { tags: ["large"] },
    async (_, early) => {
      const one = { name: "parcel", value: { name: "crate", value: 1 } };
      for (const payload of [one, { timedOut: false, event: one }, { event: 1 }, 2]) {
        const id = await use.app.start("lookalikes", {});
        if (!early) await use.app.advance(1_000);
        for (const name of ["bare", "parcel", "timed", "crate"]) {
          await send("lookalikes", id, name, payload);
          if (!early) await use.app.advance(1_000);
        }
        await use.app.drive();
        const output = [
          payload,
          { name: "parcel", value: payload },
          { timedOut: false, event: payload },
          { timedOut: false, event: { name: "crate", value: payload } },
        ];
        expect(await use.app.status("lookalikes", id)).toMatchObject({
          state: "completed",
          output,
        });
        await restart("lookalikes", id);
        await use.app.drive();
        expect(await use.app.status("lookalikes", id)).toMatchObject({
          state: "completed",
          output,
        });
      }
    },
  );

  test("[S134] a wait that timed out has taken nothing: it waits anew", async () => {
    const id = await use.app.start("mailbox", {});
    await send("mailbox", id, "letter", "dear");
    await send("mailbox", id, "letter", "again");
    await use.app.drive();
    expect(await use.app.status("mailbox", id)).toMatchObject({ state: "completed" });
    await restart("mailbox", id, { from: "timed" });
    await send("mailbox", id, "timed", "in time");
    await use.app.drive();
    expect(await use.app.status("mailbox", id)).toMatchObject({
      output: [5 - 1, { value: "again" }, { event: "in time" }, { timedOut: true }],
    });
  });
});

test.each(["left", "right"] as const)(
  "[S71] an event that comes early is to each node what its own schema makes of it: %s",
  async (way) => {
    const id = await use.app.start("eitherWay", { way });
    expect(await send("eitherWay", id, "note", {})).toBe("kept");
    await use.app.drive();
    expect(await use.app.status("eitherWay", id)).toMatchObject({
      state: "completed",
      output: { by: way },
    });
  },
);

/** The iterations of pages that have records. */
async function recorded() {
  const steps = await use.app.inComponent(async (ctx) => await ctx.db.query("steps").collect());
  return steps.flatMap(({ stage, iterations }) => (stage === "pages.page" ? iterations : []));
}

describe("a loop that has not come to its end", () => {
  beforeEach(async () => {
    await note("broken 5");
  });
  const failed = async () => {
    const id = await use.app.start("copy", { pages: 6 });
    await use.app.drive();
    expect(await use.app.status("copy", id)).toMatchObject({ state: "failed" });
    await note("mended");
    return id;
  };
  const pages = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_none, at) => `page ${from + at} of 2 lines`);
  const again = ["open", ...pages(1, 4)];

  test.each([
    ["at the iteration that failed", undefined, pages(5, 6)],
    ["at that one, if it is said", 5, pages(5, 6)],
    ["at its beginning, if that is said", 1, pages(1, 6)],
    ["at another that is kept", 3, pages(3, 6)],
  ])("[S135] goes on %s", { tags: ["large"] }, async (_what, iteration, after) => {
    const id = await failed();
    await restart("copy", id, { from: "pages", ...(iteration && { iteration }) });
    await use.app.drive();
    expect(await noted()).toEqual([...again, ...after]);
    expect(await use.app.status("copy", id)).toMatchObject({
      state: "completed",
      output: "6 pages",
      generation: 2,
    });
    await use.app.expectNothingLeft();
  });

  test("[S135] its own time begins anew", async () => {
    const id = await failed();
    await use.app.advance(2 * 86_400_000);
    await restart("copy", id, { from: "pages" });
    await use.app.advance(500);
    const { active } = (await use.app.status("copy", id))!;
    const timesOutAt = Date.now() - 500 + 86_400_000;
    expect(active.find(({ node }) => node === "pages")).toMatchObject({ timesOutAt });
    await use.app.drive();
    expect(await use.app.status("copy", id)).toMatchObject({ state: "completed" });
  });

  test("[S135] the same when its run was canceled", async () => {
    await note("mended");
    const id = await use.app.start("copy", { pages: 6 });
    await use.app.drive(async () => (await noted()).length === 4);
    await cancel(id);
    await restart("copy", id, { from: "pages" });
    await use.app.drive();
    expect(await noted()).toEqual(["open", ...pages(1, 3), ...pages(3, 6)]);
  });

  test("[S135] but a node before it that is done again takes it along, and so does a whole restart", async () => {
    const id = await failed();
    await restart("copy", id);
    await use.app.drive();
    expect(await noted()).toEqual([...again, "open", ...pages(1, 6)]);
  });

  test("[S135] starts over if a step before it was undone", async () => {
    const id = await use.app.start("undoneCopy", { pages: 6 });
    await use.app.drive();
    await note("mended");
    await restart("undoneCopy", id, { from: "pages" });
    await use.app.drive();
    const before = again.map((text) => text.replace("2 lines", "no lines"));
    const after = [...before, "page 5 of no lines", "page 6 of no lines"];
    expect(await noted()).toEqual([...before, "closed", ...after]);
    expect(await recorded()).toEqual([1, 2, 3, 4, 5, 6]);
    await use.app.expectNothingLeft();
  });

  test.each([
    ["an iteration that it has not come to", { from: "pages", iteration: 7 }, /has not come to/],
    ["no iteration", { from: "pages", iteration: 0.5 }, /iteration is 0.5/],
    [
      "an iteration of no loop",
      { from: "open", iteration: 2 },
      /"open" is no loop: give its loop as from/,
    ],
    [
      "an iteration alone",
      { iteration: 2 },
      /iteration is 2, and from is not given: give its loop/,
    ],
  ])(
    "[S135] %s is refused, and changes nothing",
    { tags: ["large"] },
    async (_what, options, message) => {
      const id = await failed();
      await expect(restart("copy", id, options)).rejects.toThrow(message);
      expect(await use.app.status("copy", id)).toMatchObject({ state: "failed", generation: 1 });
    },
  );
});

test(
  "[S79] [S135] a loop of many iterations goes on with the last, and has only those begin again that are kept",
  { tags: ["large"] },
  async () => {
    await note("broken 320");
    const id = await use.app.start("copy", { pages: 321 });
    await use.app.drive();
    await note("mended");
    await expect(restart("copy", id, { from: "pages", iteration: 50 })).rejects.toThrow(
      /the one before is no longer kept, as those of the first and of the newest 100 are$/,
    );
    await restart("copy", id, { from: "pages" });
    await use.app.drive();
    const log = await noted();
    expect(log).toHaveLength(1 + 321);
    await restart("copy", id, { from: "pages", iteration: 300 });
    await use.app.drive();
    expect((await noted()).slice(log.length)[0]).toBe("page 300 of 2 lines");
    expect(await use.app.status("copy", id)).toMatchObject({ output: "321 pages", generation: 3 });
    await use.app.expectNothingLeft();
  },
);

test.each([
  { iteration: 2, pages: 3, kept: [1, 2, 3] },
  { iteration: 205, pages: 207, kept: [1, 200, 201, 202, 203, 204, 205, 206, 207] },
])(
  "[S79] [S135] iterations that were still to be removed are not those that are done again: from $iteration",
  { tags: ["large"] },
  async ({ iteration, pages, kept }) => {
    await note("broken 320");
    const id = await use.app.start("copy", { pages: 321 });
    await use.app.drive(async () => (await use.app.status("copy", id))?.state === "failed");
    await note("mended");
    await restart("copy", id, { from: "pages", iteration, input: { pages } });
    await use.app.drive();
    expect(await recorded()).toEqual(kept);
  },
);

test("[S253] what no node has taken is logged at the end of its run, by name", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const id = await use.app.start("ledger", { of: 1 });
  for (const cents of [1, 2, 3]) await send("ledger", id, "item", { cents });
  await use.app.drive();
  const lines = warn.mock.calls.map(([line]) => JSON.parse(String(line)) as object);
  warn.mockRestore();
  expect(lines).toEqual([
    expect.objectContaining({ event: "eventsNotTaken", runId: id, events: { item: 2 } }),
  ]);
  expect(JSON.stringify(lines)).not.toContain("cents");
});
