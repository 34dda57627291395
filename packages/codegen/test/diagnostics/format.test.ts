import { expect, test } from "vitest";
import { diagnostic } from "../../src/diagnostics/diagnostic.js";
import { formatDiagnostic, frameOf } from "../../src/diagnostics/format.js";

function frame(text: string, line: number, column: number, length: number): string[] {
  const place = { file: "a.workflow.ts", line, column, length };
  const found = { ...diagnostic("notAnIdentifier", place, "no"), frame: frameOf(text, place) };
  return formatDiagnostic(found, { color: false })
    .split("\n")
    .filter((each) => / \| /.test(each));
}

test.each([0, 30, 100, 500, 960, 990])(
  "a code frame shows a long line around the place, which is at %i",
  (at) => {
    const line = `${"a".repeat(at)}WRONG${"b".repeat(1000 - at)}`;
    const [before = "", shown = "", mark = ""] = frame(`${line}\n${line}`, 2, at + 1, 5);
    expect(shown.length).toBeLessThanOrEqual(130);
    expect(before).toBe(shown.replace("2", "1"));
    expect(shown.slice(mark.indexOf("^"), mark.lastIndexOf("^") + 1)).toBe("WRONG");
  },
);

test("a mark ends where the line is cut", () => {
  const [, shown = "", mark = ""] = frame(`\n${"x".repeat(1000)}`, 2, 500, 400).toSpliced(0, 0, "");
  expect(mark.length).toBeLessThan(shown.length);
});

test("a short line is shown whole", () => {
  expect(frame("one\ntwo", 2, 2, 1)).toEqual(["  1 | one", "  2 | two", "    |  ^"]);
});
