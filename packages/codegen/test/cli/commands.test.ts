import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { codes } from "../../src/diagnostics/codes.js";
import { fixtures } from "../golden.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

const packageFolder = fileURLToPath(new URL("../../", import.meta.url));

test.each([
  { words: ["--dir", "backend", "check"], says: /out of date: backend/ },
  { words: ["--dir=backend", "explain", "invoice"], says: /invoice/ },
  { words: ["--format", "dot", "--dir", "backend", "graph"], says: /digraph/ },
  { words: ["--json", "--dir", "backend", "generate"], says: /"ok": true/ },
])("options may stand before the command: $words", { tags: ["large"] }, async ({ words, says }) => {
  await cp(join(fixtures, "placement", "convex"), join(app(), "backend"), { recursive: true });
  const { out, err } = await workflowCodegen(...words);
  expect(out + err).toMatch(says);
});

test("a word that no command has is answered with the nearest one, before or after options", async () => {
  await expect(workflowCodegen("--dir", "backend", "chekc")).rejects.toThrow(
    'There is no command "chekc". Did you mean "check"?',
  );
});

test("the value of an option is no command, though one has its name", async () => {
  await cp(join(fixtures, "placement", "convex"), join(app(), "graph"), { recursive: true });
  expect((await workflowCodegen("--dir", "graph")).out).toContain(
    "wrote graph/_workflows/index.ts",
  );
});

test("a problem names the command that prints its page", async () => {
  await cp(join(fixtures, "errors", "duplicate-nodes", "convex"), join(app(), "convex"), {
    recursive: true,
  });
  const { err } = await workflowCodegen();
  expect(err).toContain("workflow-codegen explain SW1006");
  const { out, code } = await workflowCodegen("explain", "sw1006");
  expect(out).toBe(`${readFileSync(join(packageFolder, "errors/SW1006.md"), "utf8")}`);
  expect(code).toBe(0);
});

test("a code that no problem has is answered with the nearest one", async () => {
  await expect(workflowCodegen("explain", "SW1266")).rejects.toMatchObject({
    name: "UsageError",
    message: expect.stringMatching(/^No problem has the code SW1266\. Did you mean SW1\d\d\d\?$/),
  });
});

test("--json prints the page of a problem as data", async () => {
  const { out: page } = await workflowCodegen("explain", "sw1203");
  const { out } = await workflowCodegen("explain", "sw1203", "--json");
  expect(JSON.parse(out)).toEqual({ code: "SW1203", page: page.trimEnd() });
});

test("the installed package holds the page of each problem", { tags: ["large"] }, () => {
  const { stdout } = spawnSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: packageFolder,
    encoding: "utf8",
  });
  const packed: unknown = JSON.parse(stdout);
  for (const { code } of Object.values(codes))
    expect(JSON.stringify(packed)).toContain(`"errors/${code}.md"`);
});

test("TS7022, which TypeScript reports of a workflow that is its own child, leads to childNamed", async () => {
  expect((await workflowCodegen("explain", "TS7022")).out).toContain('childNamed<number>("folder"');
});
