import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

describe("outputs are gathered", () => {
  test(
    "[S58] in loops with a large state, as much as leaves room for that",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(internal.app.log, { text: "x".repeat(950_000) });
      const output = await use.app.output("gathersInLoops", { count: 7, fails: false });
      expect((output as string).trim()).toMatch(/^1 7\.+$/);
      expect(await use.app.error("gathersInLoops", { count: 12, fails: false })).toMatchObject({
        kind: "tooLarge",
      });
      await use.app.expectNothingLeft();
    },
  );

  test.each([7, 8])(
    "[S60] there a finalize of %i fails as itself, and at once",
    { tags: ["large"] },
    async (count) => {
      const begun = Date.now();
      const id = await use.app.start("gathersInLoops", { count, fails: true });
      const hasEnded = async () => (await use.app.status("gathersInLoops", id))?.state === "failed";
      await use.app.drive(hasEnded);
      expect(Date.now() - begun).toBeLessThan(5_000);
      expect(await use.app.status("gathersInLoops", id)).toMatchObject({
        error: { node: "outer.inner.all.finalize", message: `no, says the finalize of ${count}` },
      });
    },
  );

  test("[S60] [S92] the same where there is much to undo", { tags: ["large"] }, async () => {
    const error = await use.app.error("undoesMuch", { count: 9 });
    expect(error).toMatchObject({ message: "no, says the finalize of 9" });
    expect(await use.app.log()).toEqual(["undid 990000"]);
    await use.app.expectNothingLeft();
  });

  test.each(["mutation", "action"])(
    "[S58] more children than a transaction can read documents, for an %s",
    { tags: ["large"] },
    async (kind) => {
      const id = await use.app.start("lateChildren", { in: kind });
      await use.app.advance(1_000);
      const total = 33_000;
      const most = 8_000;
      for (let from = 1; from < total; from += most)
        await use.app.inComponent(async (ctx) => {
          const child = await ctx.db.query("runs").order("desc").first();
          if (child?.parentStep === undefined) throw new Error("There is no child");
          const { _id, _creationTime, ...fields } = child;
          const done = { ...fields, state: "completed" as const, output: null, endedAt: 1 };
          for (let index = from; index < Math.min(total, from + most); index++)
            await ctx.db.insert("runs", { ...done, index });
          await ctx.db.patch("steps", child.parentStep, { total });
        });
      await use.app.drive();
      expect(await use.app.status("lateChildren", id)).toMatchObject({
        state: "failed",
        error: { kind: "tooLarge", message: expect.stringMatching(/33000 children .*reduce/) },
      });
    },
  );
});
