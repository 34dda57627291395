import { expect, test } from "vitest";
import { compileSources, type CompileResult } from "../../src/compile.js";
import type { WrittenPlan } from "../../src/plan/schema.js";
import { toWritten } from "../../src/plan/write.js";

const definition = (name: string, nodes: string, options = "") =>
  `export const ${name} = defineWorkflow({ input: z.object({})${options} })${nodes};\n`;

async function compiled(text: string, before?: WrittenPlan): Promise<CompileResult> {
  const imports = `import { defineWorkflow } from "@stepwise/workflow";\nimport { z } from "zod";\n`;
  const result = await compileSources([{ file: "a.workflow.ts", text: imports + text }], before);
  expect(result.diagnostics).toEqual([]);
  return result;
}

const planOf = async (text: string, before?: WrittenPlan) =>
  toWritten((await compiled(text, before)).plan);

const fileOf = ({ files }: CompileResult, name: string) =>
  files.find(({ path }) => path === `_workflows/${name}`)?.text;

/** The exports of a generated file, each with what it is made by. */
function exportsOf(text = ""): string[] {
  const found = text.matchAll(/export const (\w+): \w+ =\s+own\.(\w+)\(\s*("[\w.]+")?/g);
  return [...found].map(([, name, made, stage = ""]) => `${name}: ${made} ${stage}`.trim());
}

const a = '.step("a", { action: () => 1 })';
const b = '.step("b", { action: () => 2 })';
const c = '.step("c", { action: () => 3 })';
const loop = (body: string) =>
  `.loop("turn", { initial: () => 1, body: (c) => c${body}, until: () => true, maxIterations: 3 })`;

test(
  "[S117] an action that is gone leaves its functions behind, which end the runs that are at it",
  { tags: ["large"] },
  async () => {
    const before = await planOf(definition("flow", a + b + loop(c)));
    const result = await compiled(definition("flow", b), before);
    expect(exportsOf(fileOf(result, "flow.ts"))).toEqual([
      "reference: reference",
      'b: action "b"',
      'bDone: completion "b"',
      'a: removed "a"',
      'aDone: removedCompletion "a"',
      'turnC: removed "turn.c"',
      'turnCDone: removedCompletion "turn.c"',
      "entry: entry",
    ]);
  },
);

test("they stay in every later compilation too, and go when the action comes back", async () => {
  const then = await planOf(definition("flow", a + b));
  const later = await planOf(definition("flow", b), then);
  const again = await planOf(definition("flow", b), later);
  expect(again).toEqual(later);
  expect(again.removed).toMatchObject([
    { workflow: "flow", stages: ["a"], nodes: [{ name: "a" }] },
  ]);
  const back = await planOf(definition("flow", a + b), again);
  expect(back.removed).toBeUndefined();
  expect(back).toEqual(then);
});

test("an action under whose name is something else now leaves what has a name of its own", async () => {
  const before = await planOf(definition("flow", a + b));
  const mutation = a.replace("action", "mutation");
  const result = await compiled(definition("flow", mutation + b), before);
  const exported = exportsOf(fileOf(result, "flow.ts"));
  expect(exported).toContain('a: mutation "a"');
  expect(exported).toContain('aDone: replacedCompletion "a"');
  expect(exported).not.toContain('a: removed "a"');
});

test("[S118] a workflow that is gone leaves a file which ends its runs, and is not in the index", async () => {
  const before = await planOf(
    definition("flow", a) + definition("old", a + loop(b)) + definition("idle", '.sleep("s", 5)'),
  );
  const result = await compiled(definition("flow", a), before);
  expect(exportsOf(fileOf(result, "old.ts"))).toEqual([
    'a: removed "a"',
    'aDone: removedCompletion "a"',
    'turnB: removed "turn.b"',
    'turnBDone: removedCompletion "turn.b"',
    "entry: entry",
  ]);
  expect(fileOf(result, "old.ts")).toContain(
    'removedWorkflow(components.workflow, "old", { format: 1 })',
  );
  expect(exportsOf(fileOf(result, "idle.ts"))).toEqual(["entry: entry"]);
  expect(fileOf(result, "workflows.ts")).not.toMatch(/old|idle/);
});

test("all workflows can be gone", async () => {
  const before = await planOf(definition("flow", a));
  const { files } = await compileSources([], before);
  expect(files.map(({ path }) => path)).toEqual([
    "_workflows/index.ts",
    "_workflows/workflows.ts",
    "_workflows/.gitattributes",
    "_workflows/plan.json",
    "_workflows/flow.plan.json",
    "_workflows/flow.ts",
  ]);
});

test("a workflow whose name has only another case now leaves no file: it would be the same one", async () => {
  const before = await planOf(definition("flow", a));
  const { files } = await compiled(definition("Flow", a), before);
  expect(files.map(({ path }) => path)).toEqual([
    "_workflows/index.ts",
    "_workflows/workflows.ts",
    "_workflows/.gitattributes",
    "_workflows/plan.json",
    "_workflows/Flow.plan.json",
    "_workflows/Flow.ts",
  ]);
});

test("what stays for runs in flight takes its name from nothing, and gives its name to no local", async () => {
  const before = await planOf(definition("flow", '.step("toEnd", { action: () => 1 })'));
  const text = fileOf(await compiled(definition("flow", a), before), "flow.ts");
  expect(text).toContain("export const toEnd: StepAction = own.removed");
  expect(text).toContain("function toEnd_(run: Run)");
});

test("where two stages that are gone would have functions of one name, each has its own; none has that of a global of the input", async () => {
  const first = await planOf(definition("flow", a + '.step("turnC", { action: () => 1 })'));
  const second = await planOf(definition("flow", a + loop(c)), first);
  const gone = await compileSources([], second);
  expect(exportsOf(fileOf(gone, "flow.ts"))).toEqual([
    'a: removed "a"',
    'aDone: removedCompletion "a"',
    'turnC2: removed "turn.c2"',
    'turnC2Done: removedCompletion "turn.c2"',
    'turnC: removed "turnC"',
    'turnCDone: removedCompletion "turnC"',
    "entry: entry",
  ]);
  const hiding = await planOf(definition("flow", a + '.step("Date", { action: () => 1 })'));
  const dated = definition("flow", a).replace("{}", "{ at: z.number().max(Date.now()) }");
  const names = exportsOf(fileOf(await compiled(dated, hiding), "flow.ts"));
  expect(names).toContain('DateDone: removedCompletion "Date"');
  expect(names).not.toContain('Date: removed "Date"');
});

test("[S117] a compensation that is gone leaves only what ends it: none of its source", async () => {
  const undone = (undo: string) => `.step("a", { query: () => 1, compensate: { ${undo} } })`;
  const before = await planOf(
    definition("flow", undone("action: () => 'the secret way'") + b) +
      definition("old", undone("mutation: () => 'the secret way'")),
  );
  expect(JSON.stringify(before)).not.toContain("secret");
  const result = await compiled(definition("flow", b), before);
  expect(result.files.filter(({ path }) => /secret|left/.test(path))).toEqual([]);
  expect(result.files.filter(({ text }) => text.includes("secret"))).toEqual([]);
  expect(exportsOf(fileOf(result, "flow.ts"))).toEqual([
    "reference: reference",
    'b: action "b"',
    'bDone: completion "b"',
    'aCompensate: removed "a.compensate"',
    'aCompensateDone: removedCompletion "a.compensate"',
    "entry: entry",
  ]);
  expect(exportsOf(fileOf(result, "old.ts"))).toEqual(["entry: entry"]);
});
