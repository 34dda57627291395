import { expect, test } from "vitest";
import { useTestApp } from "./harness.js";

/* What is stored where, by its size: runs are read by the hundred. */

const use = useTestApp();

/** Says whether the input is in the run, or in a record of its own. */
async function placeOfInput(characters: number) {
  const id = await use.app.start("echo", { value: "x".repeat(characters) });
  return await use.app.inComponent(async (ctx) => {
    const run = await ctx.db.get("runs", ctx.db.normalizeId("runs", id)!);
    const steps = await ctx.db.query("steps").collect();
    const hasRecord = steps.some(({ run: of, stage }) => of === id && stage === "input");
    return { isInRun: run?.input !== undefined, hasRecord };
  });
}

test.each([
  [900, { isInRun: true, hasRecord: false }],
  [2_000, { isInRun: false, hasRecord: true }],
])("an input of %i bytes is where reads of its run cost little", async (characters, place) => {
  expect(await placeOfInput(characters)).toEqual(place);
});
