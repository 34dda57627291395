import { unchangedSince } from "../cache/last-compile.js";
import { existingFolder } from "./functions-folder.js";
import { countsText } from "./counts.js";

/**
 * Answers `generate` and `check` when nothing has changed since the last time, before anything is loaded that would take longer than to find
 * that out. Any other command, and any error, is left to the program.
 */
export async function answerUnchanged(args: readonly string[], cwd: string): Promise<boolean> {
  const asked = questionIn(args);
  if (asked === undefined) return false;
  const started = performance.now();
  const found = attempt(() => {
    const functionsDir = existingFolder(cwd, asked.dir);
    const last = unchangedSince(functionsDir);
    return last && { functionsDir, last };
  });
  if (found === undefined) return false;
  const { functionsDir, last } = found;
  if (asked.command === "check") {
    const { printUnchanged } = await import("./findings.js");
    const { processTerminal } = await import("./terminal.js");
    const { json } = asked;
    process.exitCode = printUnchanged(last, { functionsDir, json }, processTerminal());
    return true;
  }
  // Warnings are shown every time.
  const isSafe = last.changes.every(({ compatibility }) => compatibility === "safe");
  if (last.diagnostics.length > 0 || !isSafe) {
    const { printWarnings } = await import("./findings.js");
    const { processTerminal } = await import("./terminal.js");
    printWarnings(last, functionsDir, processTerminal());
  }
  const counts = countsText(last, performance.now() - started);
  process.stdout.write(`${counts} Everything is up to date.\n`);
  return true;
}

function attempt<Found>(find: () => Found): Found | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

interface Question {
  readonly command: "generate" | "check";
  readonly dir?: string;
  readonly json: boolean;
}

/** A plain `generate` or `check`; undefined for anything that needs a closer look. */
function questionIn(args: readonly string[]): Question | undefined {
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
  return { command, ...(dir === undefined ? {} : { dir }), json };
}
