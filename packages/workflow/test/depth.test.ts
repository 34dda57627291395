/** @module-tag large */
import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

async function send(name: string, run: string, event: string, payload: unknown): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** How deep the deepest document of the component is. On a deployment at most 16. */
async function deepest(): Promise<number> {
  return await use.app.inComponent(async (ctx) => {
    let most = 0;
    for (const table of ["runs", "steps", "undos", "inbox", "childPages"] as const)
      for (const document of await ctx.db.query(table).collect())
        most = Math.max(most, depthOf(document));
    return most;
  });
}

describe("deep values", () => {
  const kept = async (name: string, levels: number): Promise<void> => {
    const id = await use.app.start(name, { levels });
    await use.app.advance(500);
    expect(await deepest()).toBeLessThanOrEqual(16);
    await use.app.drive();
    expect(await deepest()).toBeLessThanOrEqual(16);
    expect(await use.app.status(name, id)).toMatchObject(
      levels <= 14 ? { state: "completed" } : { state: "failed", error: { kind: "invalidOutput" } },
    );
  };

  test.each([14, 15])("[S22] [S109] %i levels, in a loop's state", async (levels) => {
    await kept("deepState", levels);
  });

  test.each([14, 15])("[S22] [S109] %i levels, reduced", async (levels) => {
    await kept("deepFold", levels);
  });

  const nested = (levels: number): unknown => (levels === 0 ? "bottom" : [nested(levels - 1)]);

  test.each([12, 13, 14, 15, 40])(
    "[S71] an event of %i levels, early or awaited",
    async (levels) => {
      const early = await use.app.start("deepEvent", {});
      const first = send("deepEvent", early, "one", nested(levels)).catch((error: Error) => error);
      await use.app.drive();
      const id = await use.app.start("deepEvent", {});
      await use.app.advance(100);
      const second = send("deepEvent", id, "one", nested(levels)).catch((error: Error) => error);
      for (const sent of [await first, await second])
        if (levels > 13) expect(sent).toMatchObject({ message: expect.stringMatching(/nested/) });
        else expect(["kept", "taken"]).toContain(sent);
      await use.app.advance(1_000);
      expect(await deepest()).toBeLessThanOrEqual(16);
      expect(await use.app.status("deepEvent", id)).toMatchObject({
        state: levels > 13 ? "running" : "completed",
      });
    },
  );

  test("[S17] a child's input that is nested too deeply fails that child", async () => {
    expect(await use.app.output("givesAnything", { levels: 40 })).toEqual([false, true]);
    expect(await use.app.output("givesAnything", { levels: 10 })).toEqual([true, true]);
  });
});

describe("shapes that no document can hold", () => {
  test.each(
    ["long", "wide", "unnamed"].flatMap((what) => ["action", "query"].map((kind) => [what, kind])),
  )("[S37] in the data of an error: %s, of an %s", async (what, kind) => {
    const error = await use.app.error("shapelessError", { what, in: kind });
    expect(error).toMatchObject({ kind: "thrown" });
    expect(error?.message).toMatch(/its data/);
    expect(error).not.toHaveProperty("data");
  });
});
