import { join } from "node:path";
import { expect, test } from "vitest";
import { compile } from "../../src/compile.js";
import { readPlan } from "../../src/plan/read.js";
import { workflow as schema, writtenPlan } from "../../src/plan/schema.js";
import { toWritten } from "../../src/plan/write.js";
import { fixtures, foldersIn } from "../golden.js";

const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");

test.each(features)(
  "of %s is written what the schema has, in its order, and nothing else",
  async (feature) => {
    const { plan } = await compile({ functionsDir: join(fixtures, feature, "convex") });
    const written = toWritten(plan);
    const bySchema = plan.workflows.map((each) => schema.parse(each));
    const hashed = bySchema.map((each, index) => ({
      ...each,
      hash: written.workflows[index]?.hash,
    }));
    expect(JSON.stringify(written.workflows)).toBe(JSON.stringify(hashed));
    const text = JSON.stringify(written);
    expect(JSON.stringify(writtenPlan.parse(JSON.parse(text)))).toBe(text);
  },
);

test.each([
  ["a workflow whose name is a path", { removed: [{ workflow: "../../evil", stages: [] }] }],
  ["a stage whose name is code", { removed: [{ workflow: "a", stages: ["x = 1; evil()//"] }] }],
  ["a stage that leads out of an object", { removed: [{ workflow: "a", stages: ["a..b"] }] }],
  [
    "a former folder that leads elsewhere",
    { former: [{ folder: "../elsewhere", workflows: ["a"] }] },
  ],
  [
    "a workflow of a former folder whose name is a path",
    { former: [{ folder: "flows", workflows: ["../a"] }] },
  ],
  ["an output folder that leads elsewhere", { config: { output: "x/../../elsewhere" } }],
])("a plan that was tampered with is not read: %s", async (_what, change) => {
  const { plan } = await compile({ functionsDir: join(fixtures, "steps", "convex") });
  const text = JSON.stringify({ ...toWritten(plan), ...change });
  expect(() => readPlan(text, "plan.json")).toThrow("was changed by hand");
});
