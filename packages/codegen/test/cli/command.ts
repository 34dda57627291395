import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, vi } from "vitest";
import { mkdtemp, rm } from "../../../../scripts/folders.mjs";
import { runProgram } from "../../src/cli/program.js";
import type { Terminal } from "../../src/cli/terminal.js";

let folder = "";

/** Gives each test of a file an app's folder of its own. */
export function useApp(): void {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "stepwise-cli-"));
    vi.stubEnv("CI", "");
    return async () => {
      vi.unstubAllEnvs();
      await rm(folder, { recursive: true });
    };
  });
}

/** The folder of the app of this test, empty at first. */
export function app(): string {
  // Nothing is written into the folder that the tests are run in.
  if (folder === "") throw new Error("There is an app only after `useApp()`");
  return folder;
}

/** Runs a command in the folder of the app. */
export async function workflowCodegen(
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: "", err: "" };
  const terminal: Terminal = {
    cwd: app(),
    color: false,
    stdout: { write: (text) => void (printed.out += text) },
    stderr: { write: (text) => void (printed.err += text) },
    exitCode: 0,
  };
  await runProgram(terminal, args);
  return { code: terminal.exitCode, ...printed };
}
