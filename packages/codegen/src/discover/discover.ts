import { type Dirent, existsSync, readdirSync, readFileSync } from "node:fs";
import { realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { usualOutput } from "../plan/paths.js";
import { settledStamp } from "./stamp.js";

/** A file or folder is there but cannot be read: a lack of rights, or links in a circle. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";

  /** @param path of the file or folder, as it was asked for */
  constructor(
    readonly path: string,
    cause: unknown,
  ) {
    super(`${path} cannot be read: ${reasonOf(cause)}`, { cause });
  }
}

/** Codes of errors that say that something is not there, or is not what it was looked for as. */
const absent: readonly unknown[] = ["ENOENT", "EISDIR", "ENOTDIR"];

/**
 * Returns what is read; undefined when it is not there, as it may have been removed since it was
 * found.
 */
export function ifPresent<Read>(path: string, read: (path: string) => Read): Read | undefined {
  try {
    return read(path);
  } catch (error) {
    if (absent.includes(codeOf(error))) return undefined;
    throw new Unreadable(path, error);
  }
}

export function unlessUnreadable<Read>(read: () => Read): Read | Unreadable {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

const reasons: Readonly<Record<string, string>> = {
  EACCES: "you have no right to",
  EPERM: "you have no right to",
  ELOOP: "it is a link that leads to itself",
  ENAMETOOLONG: "its path is too long",
};

function reasonOf(error: unknown): string {
  const code = String(codeOf(error));
  if (Object.hasOwn(reasons, code)) return `${reasons[code]} (${code})`;
  return error instanceof Error ? error.message : String(error);
}

const ending = /\.workflow\.[jt]sx?$/;

/** Other files with code; not those of tests, which may define what they like. */
const isCode = (name: string): boolean =>
  /\.[cm]?[jt]sx?$/.test(name) && !/\.(?:d|test|spec)\.\w+$/.test(name);

/** Folders that hold no definitions of the app's own. */
const skipped = new Set(["node_modules", "_generated"]);

/** Says whether a folder, relative to the functions folder, may hold definitions. */
function mayHoldDefinitions(folder: string): boolean {
  if (folder === usualOutput) return false;
  return folder.split("/").every((name) => !skipped.has(name) && !name.startsWith("."));
}

export interface UnreadablePath {
  readonly file: string;
  readonly error: Unreadable;
}

/** Finds files by their names, sorted by code unit; without a library, which is quickest. */
export function definitionFiles(functionsDir: string) {
  const files: string[] = [];
  /** The other files with code. */
  const others: string[] = [];
  /** All folders that may hold definitions; the functions folder itself is `""`. */
  const folders = [""];
  /** Links to folders in which there are such files: they are not looked into. */
  const linked: string[] = [];
  /** The files that are links. */
  const links: string[] = [];
  const unreadable: UnreadablePath[] = [];
  const attempt = <Read>(file: string, make: (path: string) => Read): Read | undefined => {
    const path = join(functionsDir, file);
    try {
      return make(path);
    } catch (cause) {
      const error = cause instanceof Unreadable ? cause : new Unreadable(path, cause);
      unreadable.push({ file: file === "" ? "." : file, error });
      return undefined;
    }
  };
  for (const folder of folders) {
    for (const entry of attempt(folder, entriesIfPresent) ?? []) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      const isLink = entry.isSymbolicLink();
      const isNamed = isNamedDefinition(entry) && mayHoldDefinitions(path);
      // A link to nothing is reported too: there should be a definition.
      const isThere = isNamed && isLink ? attempt(path, isFile) : isNamed && entry.isFile();
      if (entry.isDirectory() && mayHoldDefinitions(path)) folders.push(path);
      if (isThere === true) {
        files.push(path);
        if (isLink) links.push(path);
      } else if (entry.isFile() && isCode(entry.name)) others.push(path);
      else if (isLink && mayHoldDefinitions(path) && holdsDefinitions(join(functionsDir, path)))
        linked.push(path);
      else if (isThere === false && isNamed) attempt(path, refuse);
    }
  }
  // What a compiler has made of another one is no second definition.
  const own = new Set(files);
  const isMade = (file: string) => /\.jsx?$/.test(file) && own.has(file.replace(/js(x?)$/, "ts$1"));
  const found = { files: files.filter((file) => !isMade(file)), others, folders, linked, links };
  for (const paths of Object.values(found)) paths.sort();
  return { ...found, unreadable };
}

/** Says whether there is such a file below a link, not following further links. */
function holdsDefinitions(link: string): boolean {
  try {
    return entriesOf(link).some((entry) => {
      const path = join(link, entry.name);
      if (entry.isDirectory() && mayHoldDefinitions(entry.name)) return holdsDefinitions(path);
      if (!isNamedDefinition(entry)) return false;
      return entry.isFile() || (entry.isSymbolicLink() && isFile(path));
    });
  } catch {
    return false;
  }
}

const isNamedDefinition = ({ name }: Dirent): boolean => ending.test(name) && !name.startsWith(".");

/** @throws for a folder, a pipe or a socket with the name of a definition */
function refuse(path: string): never {
  const stats = statSync(path);
  throw new Error(stats.isDirectory() ? "it is a folder" : "it is not a file");
}

const isFile = (path: string): boolean => statSync(path).isFile();

const entriesOf = (folder: string): Dirent[] => readdirSync(folder, { withFileTypes: true });

/** A folder may go while the others are read. */
export const entriesIfPresent = (folder: string): Dirent[] => ifPresent(folder, entriesOf) ?? [];

export interface SourceText {
  /** Relative to the functions folder, with `/`. */
  readonly file: string;
  /** With `\n` line ends. */
  readonly text: string;
  /** The file that it is a link to, relative to the functions folder. Default: it is not a link. */
  readonly origin?: string;
}

/** Finds the files that may hold definitions, in an order that depends on no system or locale. */
export function discover(functionsDir: string): SourceText[] {
  return discoverAll(functionsDir).sources;
}

/** The same; `misnamed` are files with definitions that have another name. */
export function discoverAll(functionsDir: string) {
  const { files, others, linked, links, unreadable } = definitionFiles(functionsDir);
  const read = (file: string, isDefinition = false): SourceText[] => {
    const text = unlessUnreadable(() => readText(`${functionsDir}/${file}`));
    if (text instanceof Unreadable) unreadable.push({ file, error: text });
    // Another workflow may be continued in a file that makes none: `base.step(…)`.
    if (typeof text !== "string" || !(isDefinition || text.includes(define))) return [];
    return [{ file, text, ...(links.includes(file) && { origin: originOf(functionsDir, file) }) }];
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

/** How a file takes hold of `defineWorkflow`, unless it only hands it on by that name. */
const holds = [
  new RegExp(
    String.raw`${begin}import\s+(?!type\b)[^;"'{]*\{[^{}]*\bdefineWorkflow\b[^{}]*\}\s*from\s*["']`,
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

/** Returns where a file that is no definition by its name takes hold of `defineWorkflow`. */
export function placeOfDefine(text: string): number | undefined {
  const places = [...holds.map((each) => text.search(each)), asType(text)].filter((at) => at >= 0);
  return places.length === 0 ? undefined : Math.min(...places);
}

/** Returns where the type of `defineWorkflow` is imported in a file that calls it all the same. */
function asType(text: string): number {
  const found = /\bimport\s+type\s*\{[^}]*\bdefineWorkflow(?:\s+as\s+(\w+))?[^}]*\}\s*from/.exec(
    text,
  );
  const call = found && new RegExp(`(?<![.\\w$])${found[1] ?? define}\\s*\\(`);
  return call?.test(text) === true ? (found?.index ?? -1) : -1;
}

/** Returns what a link leads to, from where TypeScript and the bundler resolve its imports. */
export function originOf(functionsDir: string, file: string): string {
  const path = relative(realpathSync(functionsDir), realpathSync(`${functionsDir}/${file}`));
  return path.split(sep).join("/");
}

/** A file's text as the compiler sees it; undefined if it is not there. @throws Unreadable */
export function readText(path: string): string | undefined {
  return ifPresent(path, (each) => {
    // Most files that are asked for are not there, and an error takes long to make.
    const stats = statSync(each, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    // Whoever reads a pipe waits for what is written to it.
    if (!stats.isFile() && !stats.isDirectory()) throw new Error("it is no file");
    const stamp = settledStamp(each, stats);
    const before = readBefore.get(each);
    if (stamp !== undefined && before?.stamp === stamp) return before.text;
    const text = normalized(readFileSync(each, "utf8"));
    if (stamp !== undefined) readBefore.set(each, { stamp, text });
    return text;
  });
}

/** One command reads most files several times. */
const readBefore = new Map<string, { readonly stamp: string; readonly text: string }>();

/** Returns the stamp that a file had when this process read it. */
export const stampWhenRead = (path: string): string | undefined => readBefore.get(path)?.stamp;

/** The same for a path of the functions folder; of one that ends with a slash, where it leads. */
export function readIn(functionsDir: string, file: string): string | undefined {
  const path = join(functionsDir, file);
  if (!file.endsWith("/")) return readText(path);
  // Of packages that are installed elsewhere, or not at all, there are many.
  return existsSync(path) ? ifPresent(path, () => `${originOf(functionsDir, file)}/`) : undefined;
}

/** The same text, whatever editor saved it. */
export function normalized(text: string): string {
  const unmarked = text.startsWith("\ufeff") ? text.slice(1) : text;
  return unmarked.includes("\r") ? unmarked.replaceAll("\r\n", "\n") : unmarked;
}
