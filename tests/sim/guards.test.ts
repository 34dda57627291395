import { expect, test } from "vitest";
import { markedGuards, withoutGuard } from "../../scripts/guards.mjs";

const without = (text: string) => withoutGuard(text, "some").replaceAll(/\s+/g, " ");
const UNREAD = '(globalThis[Symbol.for("stepwise.unread")] ?? ((run) => run()))';

test("an `if` that guards is never true", () => {
  expect(without("// guard: some\nif (a || b) c();")).toBe("// guard: some if (false) c();");
});

test("an operand that guards is left out, and the others stay", () => {
  expect(without("if (a || \n// guard: some\n!b(c) || d) return;")).toContain(
    "a || // guard: some false || d",
  );
  expect(without("x = a && \n// guard: some\nb === c;")).toContain("a && // guard: some true;");
  expect(without("x = (\n// guard: some\na === b && c);")).toContain("true && c");
});

test("a statement or a property that guards is left out", () => {
  expect(without("a();\n// guard: some\nawait b();\nc();")).toBe("a(); // guard: some ; c();");
  expect(without("f({\n// guard: some\na: b(),\nc,\n});")).toBe("f({ // guard: some c, });");
});

test("what a `const` or a function has read to guard leaves no trace", () => {
  expect(without("// guard: some\nconst a = await b();")).toContain(
    `= await ${UNREAD}(async () => await b())`,
  );
  expect(without("// guard: some\nasync function a() { return 1; }")).toContain(
    `{ return await ${UNREAD}(async () => { return 1; }); }`,
  );
});

test("what is said after `else` takes the place of what guards", () => {
  expect(without("// guard: some, else 0\nconst a = b ? c : d;")).toContain("const a = 0;");
  expect(without("// guard: some, else a\nreturn b;")).toContain("return a;");
});

test("guards of other names stay", () => {
  expect(without("// guard: other\nif (a) b();")).toBe("// guard: other if (a) b();");
  expect(markedGuards().get("token")).toEqual(["workflow/src/component/settle.ts"]);
});
