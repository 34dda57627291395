import { expect, test } from "vitest";
import { literalText } from "../src/core/literal.js";

test("a message shows the beginning of a long text, and eight fields of an object", () => {
  expect(literalText("x".repeat(101))).toBe(`"${"x".repeat(100)}…"`);
  expect(literalText("x".repeat(100))).toBe(`"${"x".repeat(100)}"`);
  const fields = Array.from({ length: 9 }, (_, index) => `f${index}`);
  const shown = fields.slice(0, 8).map((field) => `${field}: 1`);
  expect(literalText(Object.fromEntries(fields.map((field) => [field, 1])))).toBe(
    `{ ${shown.join(", ")}, … }`,
  );
});

test("a message shows three levels of a value that is in itself", () => {
  const circle: Record<string, unknown> = {};
  circle["a"] = circle;
  expect(literalText(circle)).toBe("{ a: { a: { a: { … } } } }");
});
