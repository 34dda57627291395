import { unchangedSince } from "../cache/last-compile.js";
import { existingFolder } from "./functions-folder.js";
import { countsText } from "./counts.js";

/**
 * Answers `generate` when nothing has changed since the last time, before anything is loaded that would take longer than to find
 * that out. Any other command, and any error, is left to the program.
 */
export function answerUnchanged(args: readonly string[], cwd: string): boolean {
  const given = generateOptions(args);
  if (given === undefined) return false;
  const started = performance.now();
  try {
    const last = unchangedSince(existingFolder(cwd, given.dir));
    if (last === undefined) return false;
    process.stdout.write(
      `${countsText(last, performance.now() - started)} Everything is up to date.\n`,
    );
    return true;
  } catch {
    return false;
  }
}

/** The options of a plain `generate`; undefined for anything that needs a closer look. */
function generateOptions(args: readonly string[]): { dir?: string } | undefined {
  const rest = args[0] === "generate" ? args.slice(1) : args;
  if (rest.length === 0) return {};
  const [option, value] = rest;
  return rest.length === 2 && option === "--dir" && value !== undefined && !value.startsWith("-")
    ? { dir: value }
    : undefined;
}
