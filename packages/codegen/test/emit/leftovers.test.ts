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
  const found = text.matchAll(/export const (\w+): \w+ = own\.(\w+)\(\s*("[\w.]+")?/g);
  return [...found].map(([, name, made, stage = ""]) => `${name}: ${made} ${stage}`.trim());
}

const a = '.step("a", { action: () => 1 })';
const b = '.step("b", { action: () => 2 })';
const c = '.step("c", { action: () => 3 })';
const loop = (body: string) =>
  `.loop("turn", { initial: () => 1, body: (c) => c${body}, until: () => true, maxIterations: 3 })`;

test("[S117] an action that is gone leaves its functions behind, which end the runs that are at it", async () => {
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
    "resume: resume",
  ]);
});

test("they are left behind by every later compilation too, and go when the action comes back", async () => {
  const then = await planOf(definition("flow", a + b));
  const later = await planOf(definition("flow", b), then);
  const again = await planOf(definition("flow", b), later);
  expect(again).toEqual(later);
  expect(again.removed).toEqual([{ workflow: "flow", stages: ["a"] }]);
  const back = await planOf(definition("flow", a + b), again);
  expect(back.removed).toBeUndefined();
  expect(back).toEqual(then);
});

test("[S116] where the workflow says what it is called now, they are those of that stage", async () => {
  const before = await planOf(definition("flow", a + loop(c)));
  const now = a.replace('"a"', '"now"') + loop(c).replace("turn", "round");
  const renamed = ', renamed: { a: "now", turn: "round" }';
  const result = await compiled(definition("flow", now, renamed), before);
  const text = fileOf(result, "flow.ts");
  expect(exportsOf(text)).toEqual(
    expect.arrayContaining([
      'a: action "now"',
      'aDone: completion "now"',
      'turnC: action "round.c"',
      'turnCDone: completion "round.c"',
    ]),
  );
  expect(text).not.toContain("removed");
});

test("an action under whose name is something else now leaves what has a name of its own", async () => {
  const before = await planOf(definition("flow", a + b));
  const mutation = a.replace("action", "mutation");
  const result = await compiled(definition("flow", mutation + b), before);
  const exported = exportsOf(fileOf(result, "flow.ts"));
  expect(exported).toContain('a: mutation "a"');
  expect(exported).toContain('aDone: removedCompletion "a"');
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
    "resume: resume",
  ]);
  expect(fileOf(result, "old.ts")).toContain('removedWorkflow(components.workflow, "old")');
  expect(exportsOf(fileOf(result, "idle.ts"))).toEqual(["resume: resume"]);
  expect(fileOf(result, "index.ts")).not.toMatch(/old|idle/);
});

test("all workflows can be gone", async () => {
  const before = await planOf(definition("flow", a));
  const { files } = await compileSources([], before);
  expect(files.map(({ path }) => path)).toEqual([
    "_workflows/index.ts",
    "_workflows/plan.json",
    "_workflows/flow.ts",
  ]);
});

test("a workflow whose name has only another case now leaves no file: it would be the same one", async () => {
  const before = await planOf(definition("flow", a));
  const { files } = await compiled(definition("Flow", a), before);
  expect(files.map(({ path }) => path)).toEqual([
    "_workflows/index.ts",
    "_workflows/plan.json",
    "_workflows/Flow.ts",
  ]);
});

test("what is left behind takes its name from nothing, and gives its name to no local", async () => {
  const before = await planOf(definition("flow", '.step("toEnd", { action: () => 1 })'));
  const text = fileOf(await compiled(definition("flow", a), before), "flow.ts");
  expect(text).toContain("export const toEnd: StepAction = own.removed");
  expect(text).toContain("function toEnd_(run: Run)");
});

test("where two stages that are gone had functions of one name, there is one; none has that of a global of the input", async () => {
  const first = await planOf(definition("flow", a + '.step("turnC", { action: () => 1 })'));
  const second = await planOf(definition("flow", a + loop(c)), first);
  const gone = await compileSources([], second);
  expect(exportsOf(fileOf(gone, "flow.ts"))).toEqual([
    'a: removed "a"',
    'aDone: removedCompletion "a"',
    'turnC: removed "turn.c"',
    'turnCDone: removedCompletion "turn.c"',
    "resume: resume",
  ]);
  const hiding = await planOf(definition("flow", a + '.step("Date", { action: () => 1 })'));
  const dated = definition("flow", a).replace("{}", "{ at: z.number().max(Date.now()) }");
  const names = exportsOf(fileOf(await compiled(dated, hiding), "flow.ts"));
  expect(names).toContain('DateDone: removedCompletion "Date"');
  expect(names).not.toContain('Date: removed "Date"');
});

const undone = (name: string, undo = "mutation: () => null") =>
  `.step("${name}", { query: () => 1, compensate: { ${undo} } })`;

test("[S117] a compensation that is gone is left behind by every later compilation too, and goes when it comes back", async () => {
  const then = await planOf(definition("flow", undone("a") + b));
  const later = await planOf(definition("flow", b), then);
  expect(later.removed).toMatchObject([
    { workflow: "flow", stages: [], undoes: [{ stage: "a.compensate", kind: "mutation" }] },
  ]);
  expect(await planOf(definition("flow", b), later)).toEqual(later);
  const result = await compiled(definition("flow", b), later);
  expect(exportsOf(fileOf(result, "flow.ts"))).toContain('aCompensate: mutation "a.compensate"');
  expect(fileOf(result, "flow.ts")).toContain('own.left("a.compensate", aCompensateLeft);');
  expect(fileOf(result, "flow.left.ts")).toContain("compensate: { mutation: () => null },");
  const back = await compiled(definition("flow", undone("a") + b), later);
  expect(toWritten(back.plan)).toEqual(then);
  expect(fileOf(back, "flow.left.ts")).toBeUndefined();
});

test("a compensation is written out as it was last, not as it was first", async () => {
  const first = await planOf(definition("flow", undone("a", "mutation: () => 1") + b));
  const second = await planOf(definition("flow", undone("a", "mutation: () => 2") + b), first);
  const gone = await compiled(definition("flow", b), second);
  expect(fileOf(gone, "flow.left.ts")).toContain("mutation: () => 2");
});

test("a compensation whose function something else has the name of is not left behind", async () => {
  const before = await planOf(definition("flow", undone("a") + b));
  const now = definition("flow", '.step("aCompensate", { action: () => 1 })');
  const result = await compiled(now, before);
  expect(toWritten(result.plan).removed?.[0]).not.toHaveProperty("undoes");
  expect(fileOf(result, "flow.left.ts")).toBeUndefined();
});

test("[S118] a workflow that is gone leaves its compensations, under names that hide none of its own", async () => {
  const nodes =
    undone("a", "action: internal.x.undo, args: () => ({})") + '.step("own", { action: () => 1 })';
  const head = 'import { internal } from "./_generated/api";\n';
  const before = await planOf(head + definition("flow", nodes) + definition("old", b));
  const result = await compiled(definition("old", b), before);
  const text = fileOf(result, "flow.ts");
  expect(text).toContain('const own_ = removedWorkflow(components.workflow, "flow");');
  expect(text).toContain('own_.left("a.compensate", aCompensateLeft);');
  expect(text).toContain('export const own: StepAction = own_.removed("own");');
  expect(fileOf(result, "flow.left.ts")).toContain('import { internal } from "../_generated/api";');
});

test("a default retry of the app is kept with a compensation, as the app may have another by then", async () => {
  const before = await planOf(definition("flow", undone("a") + b));
  const result = await compiled(definition("flow", b), { ...before, config: { retry: true } });
  expect(fileOf(result, "flow.left.ts")).toContain("options: { retry: true }");
});
