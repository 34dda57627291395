import { appendFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { compile } from "../../src/compile.js";
import { unchangedSince } from "../../src/cache/last-compile.js";
import { filesIn, fixtures } from "../golden.js";
import { app, workflowCodegen } from "./command.js";

/* Where generated code stands is up to the app's config; here it moves. */

const functionsDir = () => join(app(), "convex");
const inFunctions = (path: string) => join(functionsDir(), path);
const paths = async (folder = "") => Object.keys(await filesIn(inFunctions(folder))).sort();
const config = (options: string) =>
  writeFile(
    inFunctions("stepwise.config.ts"),
    `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig(${options});\n`,
  );
const moveTo = (output: string) => config(`{ output: "${output}" }`);
const edit = async (from: string, to: string) => {
  const path = inFunctions("orders.workflow.ts");
  const text = await readFile(path, "utf8");
  expect(text).toContain(from);
  await writeFile(path, text.replaceAll(from, to));
};

beforeEach(async () => {
  await writeFile(join(app(), "package.json"), "{}");
  await cp(join(fixtures, "steps", "convex"), functionsDir(), { recursive: true });
  await workflowCodegen();
});

const forwarding = ["answer.ts", "fulfilOrder.ts", "ping.ts"];
const generated = [...forwarding, "index.ts", "plan.json"].sort();

test("generated code moves, and leaves what forwards to it", async () => {
  expect(await paths("_workflows")).toEqual(generated);
  await moveTo("generated/workflows");
  const { code, out } = await workflowCodegen();
  expect(code).toBe(0);
  expect(out).toContain("wrote convex/generated/workflows/plan.json\n");
  expect(out).toContain("removed convex/_workflows/plan.json\n");
  expect(out).toContain(
    "kept for runs in flight: _workflows/answer, _workflows/fulfilOrder, _workflows/ping (see check --drop)",
  );
  expect(await paths("generated/workflows")).toEqual(generated);
  expect(await paths("_workflows")).toEqual(forwarding);
  expect(await readFile(inFunctions("_workflows/ping.ts"), "utf8")).toMatch(
    /\nexport \* from "\.\.\/generated\/workflows\/ping";\n$/,
  );
  // As long as nobody drops it, it stays.
  expect((await workflowCodegen()).out).toContain("Everything is up to date.");
  await edit("input.orderId.length", "input.orderId.length + 1");
  await workflowCodegen();
  expect(await paths("_workflows")).toEqual(forwarding);
});

test("when nothing has changed since, that is known, and what is changed in either folder is seen", async () => {
  await moveTo("generated/workflows");
  await workflowCodegen();
  expect(unchangedSince(functionsDir())).toBeDefined();
  const expected = await filesIn(functionsDir());
  for (const path of ["_workflows/ping.ts", "generated/workflows/ping.ts"]) {
    await rm(inFunctions(path));
    expect(unchangedSince(functionsDir())).toBeUndefined();
    await workflowCodegen();
    expect(await filesIn(functionsDir())).toEqual(expected);
    expect(unchangedSince(functionsDir())).toBeDefined();
  }
  await moveTo("flows");
  expect(unchangedSince(functionsDir())).toBeUndefined();
});

test("check says that runs go on, and drops what they go on by when none is in flight any more", async () => {
  await moveTo("generated/workflows");
  const before = await workflowCodegen("check");
  expect(before.code).toBe(1);
  expect(before.out).toContain("out of date convex/_workflows/ping.ts\n");
  expect(before.out).toContain("left over convex/_workflows/index.ts\n");
  expect(before.out).toContain(
    'safe ping: its generated code stands in "generated/workflows" now: runs in flight go on, over forwarding modules in "_workflows", until `check --drop`\n',
  );
  expect((await workflowCodegen("check", "--drop")).out).toContain("Nothing was dropped");
  await workflowCodegen();
  const after = await workflowCodegen("check");
  expect(after).toMatchObject({ code: 0, err: "" });
  expect(after.out).toContain("kept for runs in flight _workflows/ping\n");
  expect(JSON.parse((await workflowCodegen("check", "--json")).out)).toMatchObject({
    ok: true,
    left: [
      { workflow: "answer", stages: [], folder: "_workflows" },
      { workflow: "fulfilOrder", stages: [], folder: "_workflows" },
      { workflow: "ping", stages: [], folder: "_workflows" },
    ],
  });
  const dropped = await workflowCodegen("check", "--drop");
  expect(dropped).toMatchObject({ code: 0 });
  expect(dropped.out).toContain("dropped _workflows/ping\n");
  expect(await paths()).not.toContain("_workflows/ping.ts");
  expect((await workflowCodegen("check", "--drop")).out).toContain("Nothing is left behind");
  // What was dropped does not come back.
  await edit("input.orderId.length", "input.orderId.length + 1");
  await workflowCodegen();
  expect((await paths()).filter((path) => path.startsWith("_workflows"))).toEqual([]);
});

test("with the plan that is deployed, what its runs need is kept, or out of date and made again", async () => {
  await cp(inFunctions("_workflows/plan.json"), join(app(), "deployed.json"));
  await moveTo("flows");
  await workflowCodegen();
  const kept = await workflowCodegen("check", "--drop", "--against", "deployed.json");
  expect(kept.out).toContain("Nothing was dropped: runs of the plan that is deployed may need");
  expect(await paths("_workflows")).toEqual(forwarding);
  await workflowCodegen("check", "--drop");
  const missing = await workflowCodegen("check", "--against", "deployed.json");
  expect(missing.code).toBe(1);
  expect(missing.out).toContain("out of date convex/_workflows/ping.ts");
  expect(missing.out).toContain("run workflow-codegen generate --against deployed.json");
  await workflowCodegen("generate", "--against", "deployed.json");
  expect(await paths("_workflows")).toEqual(forwarding);
  expect((await workflowCodegen("check", "--against", "deployed.json")).code).toBe(0);
});

test("a workflow that is removed with the same edit is found where it was, and ends its runs", async () => {
  await edit("export const ping", "export const pong");
  await moveTo("flows");
  await workflowCodegen();
  expect(await paths("_workflows")).toEqual(forwarding);
  expect(await readFile(inFunctions("flows/ping.ts"), "utf8")).toContain("removedWorkflow(");
});

test("what was edited by hand in the former folder is not removed nor written over, but with --force", async () => {
  await appendFile(inFunctions("_workflows/index.ts"), "// mine\n");
  await appendFile(inFunctions("_workflows/ping.ts"), "// mine\n");
  await moveTo("flows");
  const before = await filesIn(functionsDir());
  await expect(workflowCodegen()).rejects.toThrow(
    "_workflows/ping.ts, _workflows/index.ts were edited by hand, so nothing was written",
  );
  expect(await filesIn(functionsDir())).toEqual(before);
  await workflowCodegen("--force");
  expect(await paths("_workflows")).toEqual(forwarding);
  await appendFile(inFunctions("_workflows/ping.ts"), "// mine\n");
  await expect(workflowCodegen()).rejects.toThrow(
    "(If a formatter made the edit, keep it out of _workflows.)",
  );
});

test("files of others stay in the former folder, and with them the folder", async () => {
  await writeFile(inFunctions("_workflows/mine.ts"), "export {};\n");
  await mkdir(inFunctions("old"));
  await moveTo("flows");
  await workflowCodegen();
  await workflowCodegen("check", "--drop");
  expect(await paths("_workflows")).toEqual(["mine.ts"]);
  await moveTo("generated/deep/flows");
  await workflowCodegen();
  await workflowCodegen("check", "--drop");
  await moveTo("flows");
  await workflowCodegen();
  await workflowCodegen("check", "--drop");
  // Nor do folders stay that were made for it.
  await expect(readFile(inFunctions("generated"))).rejects.toMatchObject({ code: "ENOENT" });
  await expect(readFile(inFunctions("old"))).rejects.toMatchObject({ code: "EISDIR" });
});

test("a compiler that was stopped while it moved goes on from there", async () => {
  const old = await filesIn(inFunctions("_workflows"));
  await moveTo("flows");
  await workflowCodegen();
  const expected = await filesIn(functionsDir());
  // What is written last is not written yet, and nothing is removed.
  for (const path of ["flows/index.ts", "flows/plan.json"]) await rm(inFunctions(path));
  for (const name of ["index.ts", "plan.json"])
    await writeFile(inFunctions(`_workflows/${name}`), old[name] ?? "");
  expect(await workflowCodegen()).toMatchObject({ code: 0, err: "" });
  expect(await filesIn(functionsDir())).toEqual(expected);
  // All is written, and nothing is removed.
  for (const name of ["index.ts", "plan.json"])
    await writeFile(inFunctions(`_workflows/${name}`), old[name] ?? "");
  await workflowCodegen();
  expect(await filesIn(functionsDir())).toEqual(expected);
});

test("what a branch that did not know of the move has added is taken over after a merge", async () => {
  const old = await filesIn(functionsDir());
  await moveTo("flows");
  await workflowCodegen();
  const moved = await filesIn(functionsDir());
  // The other branch has a workflow more, where generated code stood. What it has in its definitions is gone by the merge.
  await writeFile(
    inFunctions("orders.workflow.ts"),
    `${old["orders.workflow.ts"]}
export const pay = defineWorkflow({ input: z.object({}) }).step("paid", { action: () => 1 });
`,
  );
  await rm(inFunctions("stepwise.config.ts"));
  await rm(inFunctions("flows"), { recursive: true });
  await writeFile(inFunctions("_workflows/plan.json"), old["_workflows/plan.json"] ?? "");
  await writeFile(inFunctions("_workflows/index.ts"), old["_workflows/index.ts"] ?? "");
  await workflowCodegen();
  expect(await paths("_workflows")).toContain("pay.ts");
  await mkdir(inFunctions("flows"));
  for (const path of ["orders.workflow.ts", "stepwise.config.ts"])
    await writeFile(inFunctions(path), moved[path] ?? "");
  for (const path of Object.keys(moved))
    if (path.startsWith("flows/")) await writeFile(inFunctions(path), moved[path] ?? "");
  expect(await workflowCodegen()).toMatchObject({ code: 0, err: "" });
  expect(await paths("_workflows")).toEqual([...forwarding, "pay.ts"].sort());
  expect(await readFile(inFunctions("flows/pay.ts"), "utf8")).toContain('own.removed("paid")');
});

test("a former plan that is damaged or missing is told as one in the output folder is", async () => {
  const plan = inFunctions("_workflows/plan.json");
  const text = await readFile(plan, "utf8");
  await writeFile(plan, text.replace('"workflows": [', '"workflows": 3, "was": ['));
  await moveTo("flows");
  const damaged = await workflowCodegen();
  expect(damaged.code).toBe(1);
  expect(damaged.err).toContain("convex/_workflows/plan.json:1:1 error SW1904");
  await rm(plan);
  const missing = await workflowCodegen();
  expect(missing.code).toBe(0);
  expect(missing.err).toContain("convex/_workflows/plan.json:1:1 warning SW1903");
  // Nothing is known of runs, and nothing of it is left.
  expect((await paths()).filter((path) => path.startsWith("_workflows"))).toEqual([]);
});

test("generated code of a component, which is an app of its own, is none that has moved", async () => {
  const component = inFunctions("mail/_workflows");
  await mkdir(inFunctions("mail"));
  await cp(inFunctions("_workflows"), component, { recursive: true });
  await writeFile(inFunctions("mail/convex.config.ts"), "export {};\n");
  const before = await filesIn(component);
  await moveTo("flows");
  await workflowCodegen();
  await workflowCodegen("check", "--drop");
  expect(await filesIn(component)).toEqual(before);
  expect((await compile({ functionsDir: functionsDir() })).plan.former).toEqual([]);
});

test("definitions may stand in the output folder too", async () => {
  await cp(inFunctions("orders.workflow.ts"), inFunctions("flows/orders.workflow.ts"), {
    recursive: true,
  });
  await rm(inFunctions("orders.workflow.ts"));
  await moveTo("flows");
  expect(await workflowCodegen()).toMatchObject({ code: 0, err: "" });
  expect(await paths("flows")).toEqual([...generated, "orders.workflow.ts"].sort());
  expect(await readFile(inFunctions("flows/ping.ts"), "utf8")).toContain(
    'from "../flows/orders.workflow"',
  );
});

test("two folders whose names differ only in case are refused, as they are one on macOS and Windows", async () => {
  await moveTo("flows");
  await workflowCodegen();
  await moveTo("Flows");
  const { code, err } = await workflowCodegen();
  expect(code).toBe(1);
  expect(err).toMatch(
    /convex\/stepwise\.config\.ts:2:\d+ error SW1603: the output folder "Flows" differs from "flows"/,
  );
});

test("a folder of a component is refused, as what is in it is none of the app's", async () => {
  await mkdir(inFunctions("mail/sub"), { recursive: true });
  await moveTo("mail/sub/flows");
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
  await moveTo("generated/workflows");
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
  await moveTo("generated/workflows");
  const moved = await compile({ functionsDir: functionsDir() });
  const text = moved.files.find(({ path }) => path.endsWith("/plan.json"))?.text ?? "";
  expect((JSON.parse(text) as { workflows: unknown }).workflows).toEqual(rest["workflows"]);
});
