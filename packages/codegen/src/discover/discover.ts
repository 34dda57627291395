import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { glob } from "tinyglobby";

/** A file that may hold definitions. */
export interface SourceText {
  /** Relative to the functions folder, with `/`. */
  readonly file: string;
  /** With `\n` line ends. */
  readonly text: string;
}

/**
 * Finds the files that may hold definitions, by their name and their text alone, in an order that does not depend on the
 * file system or the locale.
 *
 * @param functionsDir absolute path of the app's functions folder
 */
export async function discover(functionsDir: string): Promise<SourceText[]> {
  const files = await glob("**/*.workflow.ts", {
    cwd: functionsDir,
    ignore: ["**/node_modules/**", "**/_generated/**", "_workflows/**"],
    dot: false,
    followSymbolicLinks: false,
  });
  const sources = await Promise.all(
    files.map(async (path) => ({
      file: path.replaceAll("\\", "/"),
      text: normalized(await readFile(join(functionsDir, path), "utf8")),
    })),
  );
  return sources.filter((source) => source.text.includes("defineWorkflow")).sort(byFile);
}

/** The same text, whatever editor saved it. */
export function normalized(text: string): string {
  return text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
}

function byFile(a: SourceText, b: SourceText): number {
  return a.file < b.file ? -1 : a.file > b.file ? 1 : 0;
}
