/** @module-tag large */
import { makeFunctionReference } from "convex/server";
import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";
import { restore } from "./tampering.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

const repair = async () => await use.app.t.mutation(internal.manager.repair, {});

/** What a copy of a document has. */
function without<Row extends { _id: unknown; _creationTime: number }>(row: Row) {
  const { _id, _creationTime, ...fields } = row;
  return fields;
}

describe("children whose next page is still to come", () => {
  const rows = async (table: "childPages" | "runs") =>
    await use.app.inComponent(async (ctx) => (await ctx.db.query(table).collect()).length);

  /** All that are there have ended, and others are to come. */
  const someEnded = async () => {
    await use.app.drive(async () => {
      const ended = (await use.app.log()).length;
      return ended > 0 && ended === (await rows("runs")) - 1 && (await rows("childPages")) > 0;
    });
    expect(await rows("childPages")).toBeGreaterThan(0);
  };

  test("[S43] [S59] are waited for, though all that are there have ended", async () => {
    const id = await use.app.start("weightyInTurn", { of: 5 });
    await someEnded();
    await use.app.drive();
    expect(await use.app.status("weightyInTurn", id)).toMatchObject({
      state: "completed",
      output: 5,
    });
    expect(await use.app.log()).toHaveLength(5);
    await use.app.expectNothingLeft();
  });

  test("[S43] [S59] begin, though one of a page before them still waits, for which there was no room", async () => {
    const id = await use.app.start("weightyInTurn", { of: 5 });
    await someEnded();
    await use.app.inComponent(async ({ db }) => {
      const page = (await db.query("childPages").first())!;
      const runs = await db.query("runs").collect();
      const before = runs.find(({ parentStep }) => parentStep === page.step)!;
      const over = { endedAt: undefined, output: undefined, outputStep: undefined };
      const { first } = page.begins[0]!;
      const waits = { ...over, state: "pending", first, index: page.from } as const;
      const waiting = { ...without(before), ...waits };
      const run = await db.insert("runs", waiting);
      const steps = await db.query("steps").collect();
      const input = steps.find((step) => step.run === before._id && step.stage === "input")!;
      await db.insert("steps", { ...without(input), run });
      await db.delete("childPages", page._id);
    });
    expect(await rows("childPages")).toBeGreaterThan(0);
    await use.app.drive();
    expect(await use.app.status("weightyInTurn", id)).toMatchObject({ output: 5 });
    expect(await use.app.log()).toHaveLength(5);
    await use.app.expectNothingLeft();
  });

  test.each([1, 12, 14])(
    "[S43] [S53] begin, though a stale snapshot lacks the %i newest commits: there, all places were taken",
    async (lag) => {
      const app = new TestApp({ lag: () => lag });
      const id = await app.start("twoRest", {
        rests: Array.from({ length: 6 }, () => ({ ms: 200, fails: false })),
      });
      await app.advance(100);
      await app.inComponent(async (ctx) => {
        const last = (await ctx.db.query("runs").collect()).at(-1)!;
        const { parentStep, index: from, workflow, entry, first, input } = last;
        const page = {
          from: from!,
          begins: [{ workflow, entry, first: first! }],
          children: [{ begin: 0, input }],
        };
        await ctx.db.insert("childPages", { step: parentStep!, ...page });
        await ctx.db.patch("steps", parentStep!, { inserting: true });
        await ctx.db.delete("runs", last._id);
      });
      await app.drive(
        async () => (await app.tree(id)).filter(({ state }) => state === "completed").length === 5,
      );
      await app.inComponent(async (ctx) => {
        const { step } = (await ctx.db.query("childPages").first())!;
        const insert = makeFunctionReference<"mutation">("features/children:insertNext");
        await ctx.scheduler.runAfter(0, insert, { step });
      });
      await app.drive();
      expect(await app.status("twoRest", id)).toMatchObject({ state: "completed" });
      await app.expectNothingLeft();
    },
  );

  test("[S59] [S103] are inserted into a run that is paused, and do not begin before it is resumed", async () => {
    const id = await use.app.start("weightyInTurn", { of: 5 });
    await someEnded();
    const begun = (await use.app.log()).length;
    await pause(id);
    await use.app.drive();
    expect(await rows("childPages")).toBe(0);
    expect(await use.app.log()).toHaveLength(begun);
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("weightyInTurn", id)).toMatchObject({ output: 5 });
    await use.app.expectNothingLeft();
  });
});

describe("children that are still being inserted", () => {
  const inserting = async () =>
    await use.app.inComponent(async (ctx) => (await ctx.db.query("childPages").collect()).length);
  const begun = async () => {
    const id = await use.app.start("reduces", { of: 1_001 });
    await use.app.drive(async () => (await inserting()) > 0);
    return id;
  };
  const complete = async (id: string) => {
    await use.app.drive();
    expect(await use.app.status("reduces", id)).toMatchObject({
      state: "completed",
      output: { children: { sum: (1_000 * 1_001) / 2, last: 1_000 } },
    });
    const runs = await use.app.inComponent(
      async (ctx) => (await ctx.db.query("runs").collect()).length,
    );
    expect(runs).toBe(1_002);
    await use.app.expectNothingLeft();
  };

  test(
    "[S59] [S133] of which a page comes again, as after a partial restore: none is there twice",
    { tags: ["large"] },
    async () => {
      const id = await begun();
      await use.app.counter.uncounted(() =>
        use.app.inComponent(async (ctx) => {
          const page = await ctx.db.query("childPages").first();
          const again = makeFunctionReference<"mutation">("features/children:insertNext");
          for (let n = 0; n < 3; n++) await ctx.scheduler.runAfter(0, again, { step: page!.step });
        }),
      );
      await complete(id);
    },
  );

  test(
    "[S59] [S103] paused and resumed again and again: none is there twice",
    { tags: ["large"] },
    async () => {
      const id = await begun();
      for (let n = 0; n < 3; n++) {
        await pause(id);
        await resume(id);
      }
      await complete(id);
    },
  );

  test(
    "[S59] [S103] paused: the others are inserted, and none of them begins",
    { tags: ["large"] },
    async () => {
      const id = await begun();
      await pause(id);
      await use.app.drive();
      expect(await inserting()).toBe(0);
      const works = () => use.app.counter.calls.filter(({ name }) => name.endsWith("quick:n"));
      expect(works().length).toBeLessThan(1_000);
      await use.app.expectNothingLeft();
      await resume(id);
      await complete(id);
      expect(works()).toHaveLength(1_001);
    },
  );

  test(
    "[S59] [S103] [S120] paused, and restored from a backup: all are there when it is resumed",
    { tags: ["large"] },
    async () => {
      const id = await begun();
      await pause(id);
      await restore(use.app);
      await repair();
      await use.app.advance(HOUR);
      await resume(id);
      await complete(id);
    },
  );
});
