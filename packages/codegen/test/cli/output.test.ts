/** @module-tag large */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { rm } from "../../../../scripts/folders.mjs";
import { unchangedSince } from "../../src/cache/last-compile.js";
import { filesIn, fixtures } from "../golden.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

/* Where generated code stands is up to the app's config. */

const functionsDir = () => join(app(), "convex");
const inFunctions = (path: string) => join(functionsDir(), path);
const paths = async (folder = "") => Object.keys(await filesIn(inFunctions(folder))).sort();
const config = (options: string) =>
  writeFile(
    inFunctions("stepwise.config.ts"),
    `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig(${options});\n`,
  );
const moveTo = (output: string) => config(`{ output: "${output}" }`);
beforeEach(async () => {
  await writeFile(join(app(), "package.json"), "{}");
  await cp(join(fixtures, "steps", "convex"), functionsDir(), { recursive: true });
  await workflowCodegen();
});

const generated = [
  ".gitattributes",
  "index.ts",
  "plan.json",
  "workflows.ts",
  ...["answer", "fulfilOrder", "ping"].flatMap((name) => [`${name}.plan.json`, `${name}.ts`]),
].sort();

/** Moves generated code as the diagnostic says: the former folder is deleted first. */
async function moved(output: string, from = "_workflows"): Promise<void> {
  await rm(inFunctions(from), { recursive: true });
  await moveTo(output);
}

test(
  "another output folder is refused while generated code stands in the former one, and says what to do",
  { tags: ["large"] },
  async () => {
    const before = await paths("_workflows");
    expect(before).toEqual(generated);
    await moveTo("generated/workflows");
    for (const command of [["generate"], ["check"], ["check", "--drop"], ["generate", "--force"]]) {
      const { code, err } = await workflowCodegen(...command);
      expect(code).toBe(1);
      expect(err).toMatch(
        /stepwise\.config\.ts:2:\d+ error SW1603: the output folder is "generated\/workflows", but generated code stands in "_workflows"/,
      );
      expect(err).toContain(
        'keep `output: "_workflows"`; to move it, wait until no run is in flight',
      );
    }
    expect(await paths("_workflows")).toEqual(before);
    await moved("generated/workflows");
    expect(await workflowCodegen()).toMatchObject({ code: 0, err: "" });
    expect(await paths("generated/workflows")).toEqual(generated);
    expect(unchangedSince(functionsDir())).toBeDefined();
  },
);

test("generated code of a component, which is an app of its own, is none that has moved", async () => {
  const component = inFunctions("mail/_workflows");
  await mkdir(inFunctions("mail"));
  await cp(inFunctions("_workflows"), component, { recursive: true });
  await writeFile(inFunctions("mail/convex.config.ts"), "export {};\n");
  const before = await filesIn(component);
  await moved("flows");
  expect(await workflowCodegen()).toMatchObject({ code: 0, err: "" });
  expect(await filesIn(component)).toEqual(before);
});

test("definitions may stand in the output folder too", async () => {
  await cp(inFunctions("orders.workflow.ts"), inFunctions("flows/orders.workflow.ts"), {
    recursive: true,
  });
  await rm(inFunctions("orders.workflow.ts"));
  await moved("flows");
  expect(await workflowCodegen()).toMatchObject({ code: 0, err: "" });
  expect(await paths("flows")).toEqual([...generated, "orders.workflow.ts"].sort());
  expect(await readFile(inFunctions("flows/ping.ts"), "utf8")).toContain(
    'from "../flows/orders.workflow"',
  );
});

test("a folder of a component is refused, as what is in it is none of the app's", async () => {
  await mkdir(inFunctions("mail/sub"), { recursive: true });
  await moved("mail/sub/flows");
  expect((await workflowCodegen()).code).toBe(0);
  expect(unchangedSince(functionsDir())).toBeDefined();
  await writeFile(inFunctions("mail/convex.config.ts"), "export {};\n");
  expect(unchangedSince(functionsDir())).toBeUndefined();
  const { code, err } = await workflowCodegen();
  expect(code).toBe(1);
  expect(err).toMatch(
    /stepwise\.config\.ts:2:\d+ error SW1603: the output folder "mail\/sub\/flows" is in "mail", which is a component/,
  );
});

test("explain and graph know nothing of where it stands", async () => {
  const told = async () => [await workflowCodegen("explain"), await workflowCodegen("graph")];
  const before = await told();
  await moved("generated/workflows");
  expect(await told()).toEqual(before);
  await workflowCodegen();
  expect(await told()).toEqual(before);
});

test("said or not, the usual folder has the same files, and a workflow's plan is the same in each", async () => {
  const before = await filesIn(inFunctions("_workflows"));
  await moveTo("_workflows");
  await workflowCodegen();
  const after = await filesIn(inFunctions("_workflows"));
  const { "plan.json": plan = "", ...code } = after;
  const { "plan.json": planBefore = "", ...codeBefore } = before;
  expect(code).toEqual(codeBefore);
  const { config: said, ...rest } = JSON.parse(plan) as Record<string, unknown>;
  expect(said).toEqual({ output: "_workflows" });
  expect(rest).toEqual(JSON.parse(planBefore));
  await moved("generated/workflows");
  await workflowCodegen();
  const { "ping.plan.json": ping } = await filesIn(inFunctions("generated/workflows"));
  expect(ping).toBe(before["ping.plan.json"]);
});
