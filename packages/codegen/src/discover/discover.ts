import { readFileSync, realpathSync } from "node:fs";
import { relative, sep } from "node:path";
import { definitionFiles } from "./definition-files.js";

/** A file that may hold definitions. */
export interface SourceText {
  /** Relative to the functions folder, with `/`. */
  readonly file: string;
  /** With `\n` line ends. */
  readonly text: string;
  /** The file that it is a link to, relative to the functions folder. Default: it is none. */
  readonly origin?: string;
}

/**
 * Finds the files that may hold definitions, by their name and their text alone, in an order that does not depend on the
 * file system or the locale.
 *
 * @param functionsDir absolute path of the app's functions folder
 */
export function discover(functionsDir: string): SourceText[] {
  return discoverAll(functionsDir).sources;
}

/** The same, and what is passed over: links to folders with definitions, and files with definitions that have another name. */
export function discoverAll(functionsDir: string): {
  readonly sources: SourceText[];
  readonly linked: readonly string[];
  readonly misnamed: readonly SourceText[];
} {
  const { files, others, linked, links } = definitionFiles(functionsDir);
  const defining = (paths: readonly string[]): SourceText[] =>
    paths
      .flatMap((file) => {
        const text = readText(`${functionsDir}/${file}`);
        if (text === undefined) return [];
        return [
          links.includes(file)
            ? { file, text, origin: origin(functionsDir, file) }
            : { file, text },
        ];
      })
      .filter(({ text }) => text.includes("defineWorkflow"));
  const misnamed = defining(others).filter(({ text }) => importOfDefine.test(text));
  return { sources: defining(files), linked, misnamed };
}

/** `import { defineWorkflow } from "@stepwise/workflow"`; what only hands it on is no definition. */
export const importOfDefine =
  /^import\s+\{[^}]*\bdefineWorkflow\b[^}]*\}\s*from\s*["']@stepwise\/workflow["']/m;

/** What a link leads to, from where TypeScript and the bundler resolve its imports. */
function origin(functionsDir: string, file: string): string {
  const path = relative(realpathSync(functionsDir), realpathSync(`${functionsDir}/${file}`));
  return path.split(sep).join("/");
}

/** Whether two looks found the same files with the same texts. */
export function isSame(before: readonly SourceText[], now: readonly SourceText[]): boolean {
  return (
    before.length === now.length &&
    before.every(
      ({ file, text, origin }, index) =>
        file === now[index]?.file && text === now[index].text && origin === now[index].origin,
    )
  );
}

/** A file's text as the compiler sees it; undefined when there is no such file. */
export function readText(path: string): string | undefined {
  try {
    return normalized(readFileSync(path, "utf8"));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // It may have been removed, or replaced by a folder, since it was found.
    if (code === "ENOENT" || code === "EISDIR" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** The same text, whatever editor saved it. */
export function normalized(text: string): string {
  const unmarked = text.startsWith("\ufeff") ? text.slice(1) : text;
  return unmarked.includes("\r") ? unmarked.replaceAll("\r\n", "\n") : unmarked;
}
