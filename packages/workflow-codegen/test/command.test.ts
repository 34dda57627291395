/** @module-tag large */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { mkdtempSync, rmSync } from "../../../scripts/folders.mjs";

const bin = fileURLToPath(new URL("../bin/workflow-codegen.js", import.meta.url));

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "stepwise-command-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

const command = (cwd: string, ...args: string[]) =>
  spawnSync(process.execPath, [bin, ...args], { cwd, encoding: "utf8" });

test("where @stepwise/codegen is not installed, the command is the one that came along", () => {
  const manifest = new URL("../../codegen/package.json", import.meta.url);
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  expect(command(folder(), "--version")).toMatchObject({ status: 0, stdout: `${version}\n` });
});

test("where an app has a version of its own, the command is that one, with its exit code", () => {
  const cwd = folder();
  const own = join(cwd, "node_modules/@stepwise/codegen");
  mkdirSync(join(own, "bin"), { recursive: true });
  writeFileSync(join(own, "package.json"), '{ "name": "@stepwise/codegen", "type": "module" }');
  writeFileSync(
    join(own, "bin/workflow-codegen.js"),
    'console.log("own", ...process.argv.slice(2)); process.exitCode = 3;',
  );
  expect(command(cwd, "check", "--json")).toMatchObject({
    status: 3,
    stdout: "own check --json\n",
  });
});
