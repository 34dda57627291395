// Plays a test that is named, with a mutation of the sources or without one.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtempSync, rmSync } from "./folders.mjs";
import { NO_MUTATION } from "./guards.mjs";

/** By file and name, whether it passes as the sources are. */
const checked = new Set();

/**
 * Says whether a test fails with a mutation, and only with it.
 * @param test its file, and part of its name. All tests that have that are played.
 * @throws if none has, if one fails without the mutation, or if none was played with it.
 */
export function failsWith(mutation, [file, name]) {
  const key = JSON.stringify([file, name]);
  if (!checked.has(key)) {
    const { passed, failed, says } = played(file, name, NO_MUTATION);
    if (failed > 0 || passed === 0)
      throw new Error(
        `"${name}" in ${file} as the sources are: ${passed} tests passed, ${failed} failed ${says}`,
      );
    checked.add(key);
  }
  const { passed, failed, says } = played(file, name, mutation);
  // What cannot be built or imported plays no test, and so catches nothing.
  if (passed + failed === 0) throw new Error(`"${name}" in ${file} was not played: ${says}`);
  return failed > 0;
}

function played(file, name, mutation) {
  const folder = mkdtempSync(join(tmpdir(), "mutation-"));
  const outputFile = join(folder, "told.json");
  const flags = ["--maxWorkers=1", "--reporter=json", `--outputFile=${outputFile}`];
  try {
    const { stderr } = spawnSync("npx", ["vitest", "run", ...flags, file, "-t", name], {
      env: { ...process.env, SIM_MUTATION: JSON.stringify(mutation) },
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    });
    let told;
    try {
      told = JSON.parse(readFileSync(outputFile, "utf8"));
    } catch {
      return { passed: 0, failed: 0, says: stderr.slice(-1_000) };
    }
    const tests = told.testResults.flatMap(({ assertionResults }) => assertionResults);
    const count = (state) => tests.filter(({ status }) => status === state).length;
    const messages = told.testResults.map(({ message }) => message).filter(Boolean);
    return { passed: count("passed"), failed: count("failed"), says: messages.join("\n") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
