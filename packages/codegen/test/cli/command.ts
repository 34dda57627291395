import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach } from "vitest";
import { mkdtemp, rm } from "../../../../scripts/folders.mjs";
import { runProgram } from "../../src/cli/program.js";
import type { Terminal } from "../../src/cli/terminal.js";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stepwise-cli-"));
  return () => rm(folder, { recursive: true });
});

/** The folder of the app of this test, empty at first. */
export const app = (): string => folder;

/** Runs a command in the folder of the app. */
export async function workflowCodegen(
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: "", err: "" };
  const terminal: Terminal = {
    cwd: folder,
    color: false,
    stdout: { write: (text) => void (printed.out += text) },
    stderr: { write: (text) => void (printed.err += text) },
    exitCode: 0,
  };
  await runProgram(terminal, args);
  return { code: terminal.exitCode, ...printed };
}
