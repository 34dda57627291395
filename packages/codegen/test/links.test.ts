import { mkdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { mkdtemp, rm } from "../../../scripts/folders.mjs";
import { compile } from "../src/compile.js";
import { unchangedSince } from "../src/cache/last-compile.js";
import { filesIn } from "./golden.js";
import { generate } from "../src/cli/generate.js";

const MAIL = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

export const mail = defineWorkflow({ input: z.object({}) }).step("send", { action: () => 1 });
`;

let app = "";
let functionsDir = "";
beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-links-"));
  functionsDir = join(app, "convex");
  await mkdir(functionsDir);
  await mkdir(join(app, "shared/deep"), { recursive: true });
  await writeFile(join(app, "shared/deep/mail.workflow.ts"), MAIL);
  return () => rm(app, { recursive: true });
});

test("a link to a folder with definitions, however deep, is reported; in a circle too", async () => {
  await symlink("../shared", join(functionsDir, "flows"));
  await symlink("..", join(app, "shared/deep/up"));
  const { diagnostics, ok, plan } = await compile({ functionsDir });
  expect(diagnostics).toMatchObject([
    { code: "SW1902", severity: "warning", place: { file: "flows", line: 1, column: 1 } },
  ]);
  // Nothing is compiled of it, and nothing else is held up by it.
  expect({ ok, workflows: plan.workflows }).toEqual({ ok: true, workflows: [] });
});

test(
  "a link to a folder without definitions is none of the compiler's business; one to a file is followed",
  { tags: ["large"] },
  async () => {
    await mkdir(join(app, "pictures"));
    await symlink("../pictures", join(functionsDir, "pictures"));
    await symlink("../shared", join(functionsDir, "node_modules"));
    await symlink("../shared/deep/mail.workflow.ts", join(functionsDir, "mail.workflow.ts"));
    const { diagnostics, plan } = await compile({ functionsDir });
    expect(diagnostics).toEqual([]);
    expect(plan.workflows.map(({ name }) => name)).toEqual(["mail"]);
  },
);

test("a workspace is where the link to it leads, whatever its folder is called", async () => {
  for (const folder of ["node_modules/@acme", "packages/lib/src"])
    await mkdir(join(app, folder), { recursive: true });
  await symlink("../../packages/lib", join(app, "node_modules/@acme/flows"));
  await writeFile(join(app, "packages/lib/package.json"), '{ "name": "@acme/flows" }');
  const lib = 'import { mail } from "../../../convex/mail.workflow";\nexport const all = [mail];';
  await writeFile(join(app, "packages/lib/src/index.ts"), lib);
  const text = `import { all } from "@acme/flows";\nexport const names = [...all];\n${MAIL}`;
  await writeFile(join(functionsDir, "mail.workflow.ts"), text);
  const { diagnostics } = await compile({ functionsDir });
  expect(diagnostics.map(({ code }) => code)).toEqual(["SW1504"]);
  expect(diagnostics[0]?.message).toContain(
    "mail.workflow.ts -> ../packages/lib/src/index.ts -> mail.workflow.ts",
  );
});

test("one that is made later is seen although no definition has changed", async () => {
  await writeFile(join(app, "package.json"), "{}");
  await writeFile(join(functionsDir, "mail.workflow.ts"), MAIL);
  const silent = { write: () => {} };
  const terminal = { cwd: app, color: false, stdout: silent, stderr: silent, exitCode: 0 };
  await generate({}, terminal);
  expect(Object.keys(await filesIn(functionsDir))).toContain("_workflows/mail.ts");
  expect(unchangedSince(functionsDir)).toBeDefined();
  await symlink("../shared", join(functionsDir, "flows"));
  expect(unchangedSince(functionsDir)).toBeUndefined();
});

test("definitions in a file of another name are reported, and hold up nothing; also when the file is made later", async () => {
  await writeFile(join(app, "package.json"), "{}");
  await writeFile(join(functionsDir, "mail.workflow.ts"), MAIL);
  const silent = { write: () => {} };
  const terminal = { cwd: app, color: false, stdout: silent, stderr: silent, exitCode: 0 };
  await generate({}, terminal);
  expect(unchangedSince(functionsDir)).toBeDefined();
  await writeFile(join(functionsDir, "mails.workflows.ts"), MAIL);
  expect(unchangedSince(functionsDir)).toBeUndefined();
  const { diagnostics, ok, plan } = await compile({ functionsDir });
  expect(diagnostics).toMatchObject([
    {
      code: "SW1905",
      severity: "warning",
      place: { file: "mails.workflows.ts", line: 1, column: 1 },
      hint: expect.stringContaining("to a file such as mails.workflow.ts"),
    },
  ]);
  expect({ ok, workflows: plan.workflows.map(({ name }) => name) }).toEqual({
    ok: true,
    workflows: ["mail"],
  });
});

test("what the input of a linked definition imports is imported from beside the file itself", async () => {
  const linked = MAIL.replace("z.object({})", "z.object({ to: address })");
  const text = `import { address } from "./schemas";\n${linked}`;
  await writeFile(join(app, "shared/deep/mail.workflow.ts"), text);
  await symlink("../shared/deep/mail.workflow.ts", join(functionsDir, "mail.workflow.ts"));
  const { diagnostics, files } = await compile({ functionsDir });
  expect(diagnostics).toEqual([]);
  const mail = files.find(({ path }) => path === "_workflows/mail.ts")?.text;
  expect(mail).toContain('import { address } from "../../shared/deep/schemas";');
  expect(mail).toContain('import { mail as definition } from "../mail.workflow";');
});
