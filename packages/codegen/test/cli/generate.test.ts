import { appendFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rm } from "../../../../scripts/folders.mjs";
import { filesIn, fixtures } from "../golden.js";
import { runProgram } from "../../src/cli/program.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

const seconds = (text: string) => text.replace(/\d+(\.\d)? m?s/, "0 ms");

test(
  "generate is what happens without a command, and says what it wrote and what is missing",
  { tags: ["large"] },
  async () => {
    await cp(join(fixtures, "placement", "convex"), join(app(), "convex"), { recursive: true });
    const first = await workflowCodegen();
    expect(first.code).toBe(0);
    expect(seconds(first.out)).toBe(`wrote convex/_workflows/index.ts
wrote convex/_workflows/workflows.ts
wrote convex/_workflows/.gitattributes
wrote convex/_workflows/plan.json
wrote convex/_workflows/invoice.plan.json
wrote convex/_workflows/invoice.ts
wrote convex/_workflows/sendMail.plan.json
wrote convex/_workflows/sendMail.ts
2 workflows, 2 nodes, in 0 ms.
Generated code imports convex/_generated, which does not exist yet: npx convex dev writes it, and npx workflow-codegen init a first version. workflow-codegen run does not need it.
`);
    const second = await workflowCodegen("generate");
    expect(seconds(second.out)).toBe("2 workflows, 2 nodes, in 0 ms. Everything is up to date.\n");
  },
);

test("nodes inside of others are counted too", async () => {
  await mkdir(join(app(), "convex"), { recursive: true });
  await writeFile(
    join(app(), "convex/poll.workflow.ts"),
    `import { defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
export const poll = defineWorkflow({ input: v.object({}) }).loop("rounds", {
  initial: () => 0,
  body: (b) => b.sleep("pause", "1m").step("next", { query: () => 1 }),
  until: () => true,
  maxIterations: 2,
});
`,
  );
  expect((await workflowCodegen()).out).toContain("1 workflow, 3 nodes, in ");
});

test("a file that was edited by hand stays as it is, until --force is given", async () => {
  await cp(join(fixtures, "placement", "convex"), join(app(), "convex"), { recursive: true });
  await workflowCodegen();
  const invoice = join(app(), "convex/_workflows/invoice.ts");
  const generated = await readFile(invoice, "utf8");
  await writeFile(invoice, `${generated}// mine\n`);
  await expect(workflowCodegen()).rejects.toMatchObject({
    name: "WriteRefused",
    message: expect.stringMatching(/^_workflows\/invoice\.ts was edited by hand/),
  });
  expect(await readFile(invoice, "utf8")).toBe(`${generated}// mine\n`);
  expect((await workflowCodegen("--force")).out).toContain("wrote convex/_workflows/invoice.ts\n");
  expect(await readFile(invoice, "utf8")).toBe(generated);
});

test("beside such a file, errors do not say that the rest is written", async () => {
  await cp(join(fixtures, "placement", "convex"), join(app(), "convex"), { recursive: true });
  await workflowCodegen();
  await appendFile(join(app(), "convex/_workflows/invoice.ts"), "// mine\n");
  await writeFile(join(app(), "convex/user.workflow.ts"), workflow("user", twice));
  let err = "";
  const stderr = { write: (text: string) => void (err += text) };
  const terminal = {
    cwd: app(),
    color: false,
    stdout: process.stdout,
    stderr,
    exitCode: 0 as const,
  };
  await expect(runProgram(terminal, [])).rejects.toThrow("so nothing was written");
  expect(err).toContain("1 error. Nothing was written.\n");
});

test("errors go to stderr, the exit code is 1, and nothing is written", async () => {
  await cp(join(fixtures, "errors", "duplicate-nodes", "convex"), join(app(), "convex"), {
    recursive: true,
  });
  const { code, out, err } = await workflowCodegen();
  expect(code).toBe(1);
  expect(out).toBe("");
  expect(err).toContain(
    'convex/a.workflow.ts:7:9 error SW1006: workflow "twice" has two nodes named "save"',
  );
  expect(err).toMatch(/1 error\. Nothing was written\.\n$/);
  expect(Object.keys(await filesIn(join(app(), "convex")))).toEqual(["a.workflow.ts"]);
});

test("[S12] --json gives problems and what was written as data, with the exit codes that there are without it", async () => {
  const convex = join(app(), "convex");
  await cp(join(fixtures, "placement", "convex"), convex, { recursive: true });
  const first = await workflowCodegen("--json");
  expect({ ...first, out: JSON.parse(first.out) }).toEqual({
    code: 0,
    err: "",
    out: {
      ok: true,
      problems: [],
      written: [
        "_workflows/index.ts",
        "_workflows/workflows.ts",
        "_workflows/.gitattributes",
        "_workflows/plan.json",
        "_workflows/invoice.plan.json",
        "_workflows/invoice.ts",
        "_workflows/sendMail.plan.json",
        "_workflows/sendMail.ts",
      ],
      removed: [],
      tombstones: [],
      changes: [],
      workflows: 2,
      nodes: 2,
    },
  });
  const second = await workflowCodegen("generate", "--json");
  expect(JSON.parse(second.out)).toMatchObject({ ok: true, written: [], removed: [] });

  await writeFile(join(convex, "_workflows/invoice.ts"), "// mine\n");
  const refused = await workflowCodegen("--json");
  expect(refused).toMatchObject({ code: 1, err: "" });
  expect(JSON.parse(refused.out)).toMatchObject({
    ok: false,
    written: [],
    refused: expect.stringMatching(/^cannot write _workflows\/invoice\.ts: /),
  });

  await cp(join(fixtures, "errors", "duplicate-nodes", "convex"), convex, { recursive: true });
  const broken = await workflowCodegen("--json");
  expect(broken).toMatchObject({ code: 1, err: "" });
  const { problems, ...rest } = JSON.parse(broken.out);
  expect(rest).toMatchObject({ ok: false, written: [], removed: [] });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({
    code: "SW1006",
    severity: "error",
    place: { file: "a.workflow.ts", line: 7, column: 9 },
    hint: expect.any(String),
  });
  expect(problems[0]).not.toHaveProperty("frame");
  await expect(workflowCodegen("--watch", "--json")).rejects.toThrow("do not go together");
  await expect(workflowCodegen("--watch", "--against", "x")).rejects.toThrow("do not go together");
});

test("the functions folder is --dir, else that of convex.json", async () => {
  await cp(join(fixtures, "reads", "convex"), join(app(), "backend"), { recursive: true });
  expect((await workflowCodegen("--dir", "backend")).out).toContain(
    "wrote backend/_workflows/forms.ts",
  );
  await writeFile(join(app(), "convex.json"), '{ "functions": "backend/" }');
  expect((await workflowCodegen()).out).toContain("1 workflow, 8 nodes");
});

test("a missing folder and an unreadable convex.json are said in one sentence", async () => {
  await expect(workflowCodegen()).rejects.toThrow("There is no functions folder at convex.");
  for (const [text, why] of [
    ["{", "it must be a JSON object"],
    ["[]", "it must be a JSON object"],
    ['{ "functions": "" }', 'its "functions" is "", and must be the path of a folder'],
    ['{ "functions": 1 }', 'its "functions" is 1, and must be the path of a folder'],
  ] as const) {
    await writeFile(join(app(), "convex.json"), text);
    await expect(workflowCodegen()).rejects.toThrow(`convex.json cannot be read: ${why}.`);
  }
});

test.each(["generate", "init"])(
  "%s in the functions folder says where to run it",
  async (command) => {
    await writeFile(join(app(), "package.json"), "{}");
    await writeFile(join(app(), "convex.json"), '{ "functions": "src/convex" }');
    const inside = join(app(), "src/convex/mail");
    await mkdir(inside, { recursive: true });
    const terminal = { cwd: inside, color: false, stdout: process.stdout, stderr: process.stderr };
    await expect(runProgram({ ...terminal, exitCode: 0 }, [command])).rejects.toThrow(
      `${inside} is in the functions folder of an app: run this in ${app()}.`,
    );
  },
);

test("a command that is not there is said to be so, with the nearest one", async () => {
  await expect(workflowCodegen("generat")).rejects.toThrow(
    'There is no command "generat". Did you mean "generate"?',
  );
  await expect(workflowCodegen("deploy", "--dir", "convex")).rejects.toThrow(
    'There is no command "deploy". There are: generate, dev, init, check,',
  );
});

test("an app without workflows is no error", async () => {
  await mkdir(join(app(), "convex"));
  expect(await workflowCodegen()).toEqual({
    code: 0,
    out: "No workflow found: none of convex/**/*.workflow.ts calls defineWorkflow(). Run workflow-codegen init to add a first one.\n",
    err: "",
  });
});

const workflow = (
  name: string,
  nodes: string,
) => `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
${name === "user" ? 'import { broken } from "./broken.workflow";' : ""}
export const ${name} = defineWorkflow({ input: z.object({}) })${nodes};
`;
const only = '.step("only", { query: () => 1 })';
const twice = '.step("only", { query: () => 1 }).step("only", { query: () => 2 })';

test("a new workflow with an error takes nothing from the others, and neither does who starts it", async () => {
  const convex = join(app(), "convex");
  const save = (name: string, nodes: string) =>
    writeFile(join(convex, `${name}.workflow.ts`), workflow(name, nodes));
  await mkdir(convex);
  await save("sound", only);
  await save("broken", twice);
  await save("user", '.parent("kids", { children: () => [child(broken, {})] })');
  const first = await workflowCodegen();
  expect(first.code).toBe(1);
  expect(first.err).toMatch(/SW1006[^]*1 error\. Only what is without errors is written\./);
  expect(first.out).toContain("wrote convex/_workflows/sound.ts");
  const again = await workflowCodegen();
  expect(again).toMatchObject({ code: 1, err: first.err });
  expect(seconds(again.out)).toBe("1 workflow, 1 node, in 0 ms.\n");
  const made = await filesIn(join(convex, "_workflows"));
  expect(Object.keys(made)).not.toContain("broken.ts");
  expect(Object.keys(made)).not.toContain("user.ts");
  expect(made["index.ts"]).not.toMatch(/broken|user/);
  await save("added", only);
  expect((await workflowCodegen()).out).toContain("wrote convex/_workflows/added.ts");
  // What may be deployed stays as it is, with all that is beside it.
  await save("sound", twice);
  await save("later", only);
  const before = await filesIn(join(convex, "_workflows"));
  const refused = await workflowCodegen();
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringMatching(/Nothing was written\.\n$/),
  ]);
  expect(await filesIn(join(convex, "_workflows"))).toEqual(before);
  await rm(join(convex, "sound.workflow.ts"));
  expect((await workflowCodegen()).err).toMatch(/Nothing was written\.\n$/);
  await save("sound", only);
  await save("broken", only);
  expect((await workflowCodegen()).code).toBe(0);
  expect(Object.keys(await filesIn(join(convex, "_workflows")))).toContain("user.ts");
});
