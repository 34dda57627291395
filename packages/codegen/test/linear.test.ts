import { expect, test } from "vitest";
import { placeOfDefine } from "../src/discover/discover.js";
import { nodeDirective } from "../src/analyze/node-directive.js";
import { workflowPlanText } from "../src/emit/index-file.js";

/** What takes longer than this grew faster than its text. */
const atOnceMs = 1_000;

function timed(act: () => unknown): number {
  const before = performance.now();
  act();
  return performance.now() - before;
}

test.each([
  ["block comments at the top of a module", () => nodeDirective("/* a */ ".repeat(20_000) + "x")],
  [
    "imports that do not end",
    () =>
      placeOfDefine(`import ${"{ defineWorkflow ".repeat(1_000)}`) ?? placeOfDefine("import {{{{"),
  ],
  ["braces after an import", () => placeOfDefine(`import ${"{".repeat(10_000)}`)],
  [
    "a list of values with an object at its end",
    () =>
      workflowPlanText(
        { generatedBy: "", version: 1 } as never,
        { list: [...Array.from({ length: 40 }, (_, index) => index), { a: 1 }] } as never,
        undefined,
      ),
  ],
])("%s are read at once", (_what, act) => {
  expect(timed(act)).toBeLessThan(atOnceMs);
});
