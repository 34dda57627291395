// Runs the tests, and then checks that each promise of docs/semantics.md has a test. `npm test`
// runs those that are not tagged `large`; the program `verify.mjs` runs all of them.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtempSync, rmSync } from "./folders.mjs";

/** @returns how many tests have passed and failed, and whether each promise has one. */
export async function runTests(flags = []) {
  const scratch = mkdtempSync(join(tmpdir(), "stepwise-tests-"));
  const report = join(scratch, "tests.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const vitest = spawn("npx", ["vitest", "run", ...reporters, ...flags], { stdio: "inherit" });
  const [status] = await once(vitest, "close");
  let passed = 0;
  let failed = 0;
  try {
    const told = JSON.parse(readFileSync(report, "utf8"));
    passed = told.numPassedTests;
    failed = told.numFailedTests;
    // A file that does not even load has no tests to fail, nor has an unhandled error outside of
    // them.
    if (status !== 0 && failed === 0) failed = Math.max(1, told.numFailedTestSuites);
  } catch {
    failed = 1;
  }
  const promises = spawnSync("node", ["scripts/promises.mjs", report], { encoding: "utf8" });
  if (promises.status !== 0) console.log(promises.stderr);
  rmSync(scratch, { recursive: true });
  return { passed, failed, promises: promises.status === 0 };
}

if (process.argv[1] === import.meta.filename) {
  const { failed, promises } = await runTests([
    "--config=vitest.small.config.ts",
    "--tags-filter=!large",
  ]);
  if (failed === 0 && promises)
    console.log("Each promise has a test that passed. `npm run verify` runs what CI does.");
  else process.exitCode = 1;
}
