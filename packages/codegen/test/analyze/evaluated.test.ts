import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { calledWith, some } from "../../src/analyze/called-with.js";
import { bareSource } from "../../src/analyze/descendants.js";
import { Compiler } from "../../src/compile.js";
import { ts } from "../../src/typescript.js";

/* What the compiler works out of expressions is what JavaScript makes of them. */

test.each([
  "2 ** 3 * 10",
  "7 - 2",
  "7 / 2",
  "7 % 4",
  "5 | 2",
  "6 & 3",
  "6 ^ 3",
  "1 << 4",
  "256 >> 2",
  "256 >>> 3",
  "-(-5)",
  "+5",
  "`${1 + 1}m`",
  '1 + "0m"',
])("the time of a sleep is known: %s", async (expression) => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) }).sleep("rest", ${expression});`;
  const sources = [{ file: "a.workflow.ts", text }];
  const { plan, diagnostics } = await new Compiler().compileSources(sources);
  expect(diagnostics).toEqual([]);
  const { duration } = plan.workflows[0]?.nodes[0]?.options ?? {};
  expect(duration).toBe(runInNewContext(expression));
});

function parsed(text: string) {
  const [statement] = bareSource("a.ts", `(${text})`)?.statements ?? [];
  const inner = statement && ts.isExpressionStatement(statement) ? statement.expression : undefined;
  return inner && ts.isParenthesizedExpression(inner) ? inner.expression : expect.fail();
}

test.each([
  "(x) => 5",
  "(x) => null",
  "(x) => true",
  "(x) => false",
  "(x) => void 0",
  "(x) => undefined",
  "(x) => {}",
  "(x) => { return; }",
  "(x) => x",
  "(x = 1) => x",
  "(x) => x ?? 'none'",
  "(x) => x || 'none'",
  "(x) => 0 || x",
  "(x) => 'a' || x",
  "(x) => x && 1",
  "(x) => 'a' && x",
  "(x) => !x",
  "(x) => typeof x",
  "(x) => x?.length",
  "(x) => (x == null ? 1 : 2)",
  "(x) => (x === null ? 1 : 2)",
  "(x) => (x !== undefined ? 1 : 2)",
  "(x) => { if (x === null) return 1; else { const y = x; return y; } }",
  "(x) => { const { y = 3 } = { y: x }; return y; }",
  "(x) => { const [y] = [1, 2]; return y; }",
  "(x) => String(x)",
  "(x) => Array.isArray(x)",
  "Boolean",
])("what a function makes of a missing value is seen: %s", (text) => {
  const made = runInNewContext(text) as (value: unknown) => unknown;
  for (const value of [undefined, null])
    expect(calledWith(parsed(text), value)?.value).toBe(made(value));
});

test.each([
  ["(x) => x", some],
  ["(x) => x ?? 1", some],
  ["(x) => [x]", some],
  ["(x) => `${x}`", some],
  ["(x) => (x == null ? 1 : 2)", 2],
  ["(x) => x || 1", undefined],
  ["(x) => (x === 1 ? 1 : 2)", undefined],
  ["(x) => String(x)", undefined],
  ["(x) => other(x)", undefined],
  ["async (x) => 1", undefined],
])("of any other value only what is sure is seen: %s", (text, expected) => {
  expect(calledWith(parsed(text), some)?.value).toBe(expected);
});
