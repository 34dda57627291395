import { readFileSync, realpathSync, statSync } from "node:fs";
import { relative, sep } from "node:path";
import { definitionFiles } from "./definition-files.js";
import { ifPresent, Unreadable } from "./unreadable.js";

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

/** What discovery finds besides the definitions. */
export interface Discovered {
  readonly sources: SourceText[];
  /** Links to folders with definitions, which are passed over. */
  readonly linked: readonly string[];
  /** Files with definitions that have another name. */
  readonly misnamed: readonly SourceText[];
  /** Files and folders that may hold definitions but cannot be read. */
  readonly unreadable: readonly UnreadablePath[];
}

export interface UnreadablePath {
  /** Relative to the functions folder, with `/`. */
  readonly file: string;
  readonly error: Unreadable;
}

/** The same, and what is passed over. */
export function discoverAll(functionsDir: string): Discovered {
  const { files, others, linked, links, unreadable: unread } = definitionFiles(functionsDir);
  const unreadable = [...unread];
  const read = (file: string, isDefinition = false): SourceText[] => {
    try {
      const text = readText(`${functionsDir}/${file}`);
      // Another workflow may be continued in a file that makes none: `base.step(…)`.
      if (text === undefined || !(isDefinition || text.includes(define))) return [];
      if (!links.includes(file)) return [{ file, text }];
      return [{ file, text, origin: origin(functionsDir, file) }];
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      unreadable.push({ file, error });
      return [];
    }
  };
  const misnamed = others
    .flatMap((file) => read(file))
    .filter(({ text }) => placeOfDefine(text) !== undefined);
  const sources = files.flatMap((file) => read(file, true));
  return { sources, linked, misnamed, unreadable };
}

const define = "defineWorkflow";
const from = String.raw`["'\x60]@stepwise\/workflow["'\x60]`;
/** Where a statement may begin. */
const begin = String.raw`(?<=(?:^|;|\*\/)[ \t]*)`;

/** How a file takes hold of `defineWorkflow`; one that only hands it on by that name makes no workflow. */
const holds = [
  new RegExp(
    String.raw`${begin}import\s+(?!type\b)[^;"']*\{[^}]*\bdefineWorkflow\b[^}]*\}\s*from\s*["']`,
    "m",
  ),
  new RegExp(String.raw`${begin}import\s+[\w$\s,]*\*\s*as\s+\w+\s+from\s*${from}`, "m"),
  new RegExp(String.raw`${begin}import\s+\w+\s*=\s*require\s*\(\s*${from}`, "m"),
  new RegExp(String.raw`\b(?:import|require)\s*\(\s*${from}`),
  new RegExp(
    String.raw`${begin}export\s*\{[^}]*\bdefineWorkflow\s+as\s+(?!defineWorkflow\b)[^}]*\}\s*from`,
    "m",
  ),
];

/** Where a file that is no definition by its name takes hold of `defineWorkflow`. */
export function placeOfDefine(text: string): number | undefined {
  const places = [...holds.map((each) => text.search(each)), asType(text)].filter((at) => at >= 0);
  return places.length === 0 ? undefined : Math.min(...places);
}

/** Where the type of `defineWorkflow` is imported in a file that calls it all the same. */
function asType(text: string): number {
  const found = /\bimport\s+type\s*\{[^}]*\bdefineWorkflow(?:\s+as\s+(\w+))?[^}]*\}\s*from/.exec(
    text,
  );
  const call = found && new RegExp(`(?<![.\\w$])${found[1] ?? define}\\s*\\(`);
  return call?.test(text) === true ? (found?.index ?? -1) : -1;
}

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

/**
 * A file's text as the compiler sees it; undefined when there is no such file.
 *
 * @throws Unreadable
 */
export function readText(path: string): string | undefined {
  return ifPresent(path, (each) => {
    const stats = statSync(each);
    // Whoever reads a pipe waits for what is written to it.
    if (!stats.isFile() && !stats.isDirectory()) throw new Error("it is no file");
    return normalized(readFileSync(each, "utf8"));
  });
}

/** The same text, whatever editor saved it. */
export function normalized(text: string): string {
  const unmarked = text.startsWith("\ufeff") ? text.slice(1) : text;
  return unmarked.includes("\r") ? unmarked.replaceAll("\r\n", "\n") : unmarked;
}
