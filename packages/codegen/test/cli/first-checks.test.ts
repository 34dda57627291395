/** @module-tag large */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { mkdtempSync, rmSync } from "../../../../scripts/folders.mjs";
import { generate } from "../../src/cli/generate.js";
import { init } from "../../src/cli/init.js";

const repository = fileURLToPath(new URL("../../../..", import.meta.url));

/** In the workspace, so that the packages are found as in an app. */
function newFolder(): string {
  const root = join(repository, "packages/codegen/node_modules/.cache/stepwise-test");
  mkdirSync(root, { recursive: true });
  const folder = mkdtempSync(join(root, "first-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const firstTest = `import { testKit } from "@stepwise/workflow/test";
import { convexTest } from "convex-test";
import { expect, test, vi } from "vitest";
import { components } from "./convex/_generated/api";
import { workflows } from "./convex/_workflows/index";

test("it greets", async () => {
  vi.useFakeTimers();
  const t = convexTest({ modules: import.meta.glob("./convex/**/*.{ts,js}") });
  const kit = testKit(t, vi);
  const runId = await kit.start(workflows.hello, { name: "Ada" });
  expect(await kit.runToEnd(workflows.hello, runId)).toMatchObject({ state: "completed", output: "HELLO, ADA!" });
  expect(components.workflow).toBeDefined();
});
`;

test("before the first deployment, tsc and a test of the first workflow pass", async () => {
  const cwd = newFolder();
  const said: string[] = [];
  const terminal = {
    cwd,
    color: false,
    stdout: { write: (text: string) => said.push(text) },
    stderr: { write: (text: string) => said.push(text) },
    exitCode: 0,
  };
  expect(init({}, terminal)).toBe(0);
  expect(await generate({}, terminal), said.join("")).toBe(0);
  expect(said.join("")).not.toContain("does not exist yet");
  writeFileSync(join(cwd, "hello.test.ts"), firstTest);
  const condition = "@convex-dev/component-source";
  writeFileSync(
    join(cwd, "vitest.config.js"),
    `const conditions = ["${condition}"];
export default { resolve: { conditions }, ssr: { resolve: { conditions } } };`,
  );
  const run = (program: string, ...args: string[]) =>
    spawnSync(join(repository, "node_modules/.bin", program), args, { cwd, encoding: "utf8" });
  const types = run("tsc", "--project", "convex", "--customConditions", condition, "--noEmit");
  expect(types.stdout).toBe("");
  expect(types.status).toBe(0);
  // No time decides: the machine may be busy.
  const tested = run("vitest", "run", "--root", cwd, "--maxWorkers=1", "--testTimeout=0");
  expect(tested.status, `${tested.stdout}${tested.stderr}`).toBe(0);
});
