import { unchangedSince, type LastCompile } from "../cache/last-compile.js";
import { countsText } from "./counts.js";
import { functionsFolder } from "./functions-folder.js";

/** Answers `generate` and `check` if nothing has changed, before anything slow is loaded. */
export async function answerUnchanged(args: readonly string[], cwd: string): Promise<boolean> {
  const asked = questionIn(args);
  if (asked === undefined) return false;
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
  const terminal = async () => (await import("./terminal.js")).processTerminal();
  if (asked.command === "check") {
    const { printUnchanged } = await import("./report.js");
    process.exitCode = printUnchanged(last, { functionsDir, json }, await terminal());
    return true;
  }
  // Warnings are shown every time.
  const isSafe = last.changes.every(({ compatibility }) => compatibility === "safe");
  if (last.diagnostics.length > 0 || !isSafe)
    (await import("./report.js")).printWarnings(last, functionsDir, await terminal());
  const counts = countsText(last, performance.now() - started);
  process.stdout.write(`${counts} Everything is up to date.\n`);
  return true;
}

/** A plain `generate` or `check`; undefined for anything that needs a closer look. */
function questionIn(args: readonly string[]) {
  const [first] = args;
  const isNamed = first === "generate" || first === "check";
  const command = isNamed ? first : "generate";
  let dir: string | undefined;
  let json = false;
  for (let at = isNamed ? 1 : 0; at < args.length; at++) {
    const value = args[at + 1];
    if (args[at] === "--json" && command === "check") json = true;
    else if (args[at] === "--dir" && value !== undefined && !value.startsWith("-")) {
      dir = value;
      at++;
    } else return undefined;
  }
  return { command, dir, json };
}
