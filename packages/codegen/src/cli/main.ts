import { parseArgs } from "node:util";
import { unchangedSince, type LastCompile } from "../cache/last-compile.js";
import { countsText } from "./counts.js";
import { displayPath, functionsFolder } from "./functions-folder.js";

// Whoever reads the output may have seen enough of it, as `head` does; that is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    if (stream === process.stdout)
      process.stderr.write(`The output cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}

const folder = workingFolder();
const words = process.argv.slice(2);
const asked = questionIn(words);
// Everything else, commands and libraries alike, is loaded only when there is something to do.
if (folder !== undefined && !(asked !== undefined && (await answerUnchanged(asked, folder))))
  await (await import("./act.js")).act(words, asked);

/** Undefined, which is said, when it has been removed since the shell went into it. */
function workingFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    process.stderr.write(
      "The folder in which workflow-codegen was started is not there any more: go into the folder of your app, and run it again.\n",
    );
    process.exitCode = 1;
    return undefined;
  }
}

/** Answers `generate` and `check` if nothing has changed, before anything slow is loaded. */
async function answerUnchanged(asked: Question, cwd: string): Promise<boolean> {
  const started = performance.now();
  let functionsDir: string;
  let last: LastCompile | undefined;
  try {
    functionsDir = functionsFolder(cwd, asked.dir);
    last = unchangedSince(functionsDir);
  } catch {
    // The program meets the same error, and reports it.
    return false;
  }
  if (last === undefined) return false;
  const { json } = asked;
  const { diagnostics, changes } = last;
  const terminal = async () => (await import("./terminal.js")).processTerminal();
  // Warnings are shown every time.
  if (diagnostics.length > 0 && !json) {
    const { printDiagnostics } = await import("./problems.js");
    printDiagnostics(diagnostics, displayPath(cwd, functionsDir), await terminal());
  }
  if (asked.command === "check") {
    const { printUnchanged } = await import("./report.js");
    process.exitCode = printUnchanged(last, { functionsDir, json }, await terminal());
    return true;
  }
  if (changes.some(({ compatibility }) => compatibility !== "safe"))
    (await import("./report.js")).printUnsafeChanges(last, await terminal());
  const counts = countsText(last, performance.now() - started);
  process.stdout.write(`${counts} Everything is up to date.\n`);
  return true;
}

export interface Question {
  readonly command: "generate" | "check";
  readonly dir: string | undefined;
  readonly json: boolean;
}

/** A plain `generate` or `check`; undefined for anything that needs a closer look. */
function questionIn(args: readonly string[]): Question | undefined {
  const options = { dir: { type: "string" }, json: { type: "boolean" } } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [command = "generate", ...others] = positionals;
    const { dir, json = false } = values;
    const isPlain = command === "check" || (command === "generate" && !json);
    return isPlain && others.length === 0 ? { command, dir, json } : undefined;
  } catch {
    return undefined;
  }
}
