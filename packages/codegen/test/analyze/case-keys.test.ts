import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";
import { toWritten } from "../../src/plan/write.js";

async function compiled(
  cases: string,
  before?: Awaited<ReturnType<typeof compileSources>>,
  options = "",
) {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}), ${options} })
  .branch("way", { on: () => other(), cases: { ${cases} } });`;
  const sources = [{ file: "a.workflow.ts", text }];
  const result = await compileSources(sources, before && toWritten(before.plan));
  expect(result.diagnostics).toEqual([]);
  return result;
}

const names = ({ plan }: Pick<Awaited<ReturnType<typeof compileSources>>, "plan">) =>
  Object.fromEntries(
    plan.workflows[0]?.nodes[0]?.bodies?.map(({ key, storage = key }) => [key, storage]) ?? [],
  );

const cases = (...keys: string[]) => keys.map((key) => `${key}: (b) => b`).join(", ");

test("[S152] generated names of keys are unique, and stay what they are", async () => {
  const keys = [
    '"in progress"',
    '"In-Progress"',
    "inProgress",
    '"?"',
    '"!"',
    "200",
    '"é"',
    '""',
    '"in.progress"',
    "constructor",
    "k".repeat(99),
  ];
  const first = await compiled(cases(...keys));
  const made = names(first);
  expect(made["inProgress"]).toBe("inProgress");
  const stored = Object.values(made).map((name) => name.toLowerCase());
  expect(new Set(stored).size).toBe(keys.length);
  expect(Object.values(made).every((name) => /^[A-Za-z]\w{0,31}$/.test(name))).toBe(true);
  const later = await compiled(cases('"in/progress"', ...keys.toReversed()), first);
  expect(names(later)).toMatchObject(made);
});

test("[S152] keys that are whole numbers come first, as in the object", async () => {
  const { plan } = await compiled(cases("late", "200", "7", '"01"'));
  expect(plan.workflows[0]?.nodes[0]?.bodies?.map(({ key }) => key)).toEqual([
    "7",
    "200",
    "late",
    "01",
  ]);
});

test.each([
  [`'a".b': (b) => b`, "SW1002"],
  [`'"a': (b) => b`, "SW1002"],
  ['"__proto__": (b) => b', "SW1002"],
  ['["__proto__"]: (b) => b', "SW1002"],
  ["[other()]: (b) => b", "SW1203"],
  ["...other()", "SW1203"],
  ["[Kind.Big]: (b) => b", "SW1203"],
])("[S3] a key that cannot be seen, or be in a path, is told: %s", async (written, code) => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
let Kind = { Big: "big" };
export const flow = defineWorkflow({ input: z.object({}) })
  .branch("way", { on: () => other(), cases: { ${written} } });`;
  const { diagnostics } = await compileSources([{ file: "a.workflow.ts", text }]);
  expect(diagnostics.map((each) => each.code)).toEqual([code]);
});

test("[S3] the key of a branch is a field of the output, unless that is reduced", async () => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
const branches = { "$a": (b) => b.sleep("s", 1), "": (b) => b.sleep("t", 1), "a.b": (b) => b.sleep("u", 1) };
export const flow = defineWorkflow({ input: z.object({}) })
  .parallel("all", { branches })
  .parallel("sum", { branches, reduce: { initial: 0, step: () => 0 } });`;
  const { diagnostics } = await compileSources([{ file: "a.workflow.ts", text }]);
  expect(diagnostics.map((each) => [each.code, each.message.includes('"all"')])).toEqual([
    ["SW1002", true],
    ["SW1002", true],
  ]);
});

test("[S116] a case with a dot in its key keeps its results under a new key", async () => {
  const first = await compiled(cases('"a.b"', "c"));
  const { plan } = await compiled(
    cases('"a.c"', "c"),
    first,
    `renamed: { 'way."a.b"': 'way."a.c"' }`,
  );
  expect(names({ plan })).toEqual({ "a.c": "aB", c: "c" });
});
