import { join } from "node:path";
import { expect, test } from "vitest";
import { compile, compileSources } from "../../src/compile.js";
import { workflowPlanText } from "../../src/emit/index-file.js";
import { PlanUnreadable } from "../../src/plan/parts.js";
import { readPlanFile } from "../../src/plan/read.js";
import { appPlan, workflow as schema } from "../../src/plan/schema.js";
import { planVersion } from "../../src/plan/constants.js";
import { toWritten } from "../../src/plan/write.js";
import { fixtures, foldersIn } from "../golden.js";

const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");

test.each(features)(
  "of %s is written what the schema has, in its order, and nothing else",
  { tags: ["large"] },
  async (feature) => {
    const { plan } = await compile({ functionsDir: join(fixtures, feature, "convex") });
    const written = toWritten(plan);
    const bySchema = plan.workflows.map((each) =>
      schema.parse({ ...each, input: each.input.hash }),
    );
    const hashed = bySchema.map((each, index) => ({
      ...each,
      hash: written.workflows[index]?.hash,
    }));
    expect(JSON.stringify(written.workflows)).toBe(JSON.stringify(hashed));
    const { workflows: _workflows, removed: _removed, ...app } = written;
    expect(JSON.stringify(appPlan.parse(app))).toBe(JSON.stringify(app));
  },
);

const workflowWith = (node: object) => ({
  name: "a",
  file: "a.workflow.ts",
  input: "",
  options: {},
  nodes: [{ name: "b", kind: "step", stages: [], options: {}, hash: "", ...node }],
  hash: "",
});

test.each([
  ["a workflow whose name is a path", { removed: { workflow: "../../evil", stages: [] } }],
  ["a stage whose name is code", { removed: { workflow: "a", stages: ["x = 1; evil()//"] } }],
  ...["class", "entry", "reference", "await", "then", "input"].map((stage): [string, object] => [
    `a stage whose function would be named ${stage}`,
    { removed: { workflow: "a", stages: ["kept", stage] } },
  ]),
  ...["index", "Schema", "class"].map((workflow): [string, object] => [
    `a workflow whose file would be ${workflow}.ts`,
    { removed: { workflow, stages: [] } },
  ]),
  ["a stage that leads out of an object", { removed: { workflow: "a", stages: ["a..b"] } }],
  [
    "the storage name of a node that is gone",
    { removed: { workflow: "a", stages: [], nodes: [{ name: "a b", hash: "" }] } },
  ],
  ["a storage name that is code", { workflow: workflowWith({ storage: "x: evil()//" }) }],
  ["a storage name that is a path", { workflow: workflowWith({ storage: "a.b" }) }],
  ["an output folder that leads elsewhere", { config: { output: "x/../../elsewhere" } }],
  ["a workflow that is no object", { workflow: 3 }],
  ["a list that is none", { removed: { workflow: "a", stages: { length: 1e9 } } }],
  ["a name that is too long for a file", { removed: { workflow: "a".repeat(65), stages: [] } }],
])("a plan that was tampered with is not read: %s", (_what, change) => {
  const text = JSON.stringify({
    generatedBy: "workflow-codegen",
    version: planVersion,
    ...change,
  });
  const path = "config" in change ? "plan.json" : "a.plan.json";
  expect(() => readPlanFile(text, path)).toThrow("was changed by hand");
});

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const within = (options: string) =>
  `{ "generatedBy": "workflow-codegen", "version": ${planVersion}, "workflow": { "options": ${options} } }`;

test.each([
  ["a field that every object has", within('{ "__proto__": { "x": 1 } }'), 'a field "__proto__"'],
  ["a constructor", within('{ "constructor": 1 }'), 'a field "constructor"'],
  ["lists inside each other", within(nested(100_000)), "nested more than 4000 deep"],
  ["a list without end", within(`[${"1,".repeat(200_000)}1]`), "a list of 200001 items"],
  ["an endless text", within(JSON.stringify("x".repeat(2_000_000))), "2000000 characters"],
  ["what is no object", "[]", "is not a plan that workflow-codegen has written"],
  ["no JSON", "{", "is not JSON"],
  ["another version", '{ "generatedBy": "workflow-codegen", "version": 1 }', "version 1"],
])("a hostile plan is refused in one line: %s", { tags: ["large"] }, (_what, text, why) => {
  const read = () => readPlanFile(text, "_workflows/a.plan.json");
  expect(read).toThrow(PlanUnreadable);
  expect(read).toThrow(why);
  try {
    read();
  } catch (error) {
    expect((error as Error).message).not.toContain("\n");
  }
});

test("a plan is read again whose fields have names of members that every object has", async () => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
const inner = z.object({ constructor: z.string() });
export const flow = defineWorkflow({ input: z.object({ constructor: inner, toString: inner }) })
  .step("only", { query: () => 1 });`;
  const { files } = await compileSources([{ file: "flow.workflow.ts", text }]);
  const written = files.find(({ path }) => path.endsWith("flow.plan.json"));
  const read = readPlanFile(written?.text ?? "", "_workflows/flow.plan.json");
  expect(JSON.stringify(read)).toContain('"name":"constructor","of":');
});

test("the plan of one workflow cannot stand under the name of another", async () => {
  const { plan } = await compile({ functionsDir: join(fixtures, "steps", "convex") });
  const written = toWritten(plan);
  const text = workflowPlanText(written, written.workflows[0], undefined);
  expect(() => readPlanFile(text, "_workflows/evil.plan.json")).toThrow("is not the plan of");
});
