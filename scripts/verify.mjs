// Everything that has to hold before a change lands, one check after the other; the last line counts checks and tests.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const packages = ["testing", "workpool", "workflow", "codegen"];
const scratch = mkdtempSync(join(tmpdir(), "stepwise-verify-"));
const report = join(scratch, "tests.json");

const checks = [
  ["build", "npx", "turbo", "run", "build", "--output-logs=errors-only"],
  ["format", "npx", "prettier", "--check", "."],
  ["lint", "npx", "oxlint", "--deny-warnings"],
  ["lint with ESLint, as an app does", "npm", "run", "lint", "--workspace=examples/recipes"],
  ["the run time's test app compiles", "node", "scripts/test-app.mjs"],
  ["types", "npx", "turbo", "run", "types", "--output-logs=errors-only"],
  ["generated files up to date", "node", "scripts/generated.mjs", "--check"],
  ["modules of the examples up to date", "node", "scripts/app-api.mjs", "--check"],
  ["component types up to date", "node", "scripts/component-api.mjs", "--check"],
  ...packages.map((name) => [
    `package ${name}: publint`,
    "npx",
    "publint",
    "--strict",
    `packages/${name}`,
  ]),
  // Components and their apps are ESM only, and resolve as bundlers do.
  ...packages.map((name) => [
    `package ${name}: types of its exports`,
    "npx",
    "attw",
    "--pack",
    `packages/${name}`,
    "--profile",
    "esm-only",
  ]),
];

let passed = 0;
let failed = 0;
const count = (ok, title) => {
  if (ok) passed++;
  else failed++;
  console.log(`${ok ? "ok    " : "FAILED"} ${title}`);
};

for (const [title, command, ...args] of checks) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) console.log(`${stdout}${stderr}`);
  count(status === 0, title);
}

const tests = spawnSync(
  "npx",
  ["vitest", "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
  { stdio: "inherit" },
);
try {
  const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(
    readFileSync(report, "utf8"),
  );
  passed += numPassedTests;
  failed += numFailedTests;
  // A file that does not even load has no tests to fail, nor has an unhandled error outside of them.
  if (tests.status !== 0 && numFailedTests === 0) failed += Math.max(1, numFailedTestSuites);
} catch {
  failed++;
}
const promises = spawnSync("node", ["scripts/promises.mjs", report], { encoding: "utf8" });
if (promises.status !== 0) console.log(promises.stderr);
count(promises.status === 0, "each promise of docs/promises.md has a test that passed");
rmSync(scratch, { recursive: true });

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
