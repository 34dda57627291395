import { readdirSync, statSync, type Dirent } from "node:fs";
import { join } from "node:path";
import { usualOutput } from "../plan/paths.js";
import { ifPresent, Unreadable } from "./unreadable.js";

/** The ending of a file that may hold definitions. */
const ending = ".workflow.ts";

/** Other files with code; not those of tests, which may define what they like. */
const isCode = (name: string): boolean =>
  /\.[cm]?[jt]sx?$/.test(name) && !/\.(?:d|test|spec)\.\w+$/.test(name);

/** Folders that hold no definitions of the app's own. */
const passedOver = new Set(["node_modules", "_generated"]);

/**
 * Whether a folder, relative to the functions folder and with `/`, may hold definitions. Another output folder than the usual one is one like
 * any other: what is generated has no such names, and an app may have its definitions beside it.
 */
export function mayHoldDefinitions(folder: string): boolean {
  if (folder === usualOutput) return false;
  return folder.split("/").every((name) => !passedOver.has(name) && !name.startsWith("."));
}

/** What there is in the functions folder, relative to it and with `/`, sorted by code unit. */
export interface DefinitionFiles {
  readonly files: string[];
  /** The other files with code in those folders. */
  readonly others: string[];
  /** All folders that may hold definitions; the functions folder itself is `""`. */
  readonly folders: string[];
  /** Links to folders in which there are such files: they are not looked into. */
  readonly linked: string[];
  /** Those of the files that are links. */
  readonly links: string[];
  /** Folders, and files of such names, that cannot be read. */
  readonly unreadable: { readonly file: string; readonly error: Unreadable }[];
}

/**
 * Finds files by their name. Synchronously, as reading a few hundred names one after the other is quicker than any way to wait for
 * them, and without a library, as loading one would take longer than the whole of it.
 */
export function definitionFiles(functionsDir: string): DefinitionFiles {
  const files: string[] = [];
  const others: string[] = [];
  const folders = [""];
  const linked: string[] = [];
  const links: string[] = [];
  const unreadable: DefinitionFiles["unreadable"] = [];
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
  const found = { files, others, folders, linked, links };
  for (const paths of Object.values(found)) paths.sort();
  return { ...found, unreadable };
}

/** Whether there is such a file below a link, not looking behind further ones, nor where nothing can be read. */
function holdsDefinitions(link: string): boolean {
  try {
    const folders = [link];
    for (const folder of folders) {
      for (const entry of entriesOf(folder)) {
        const path = join(folder, entry.name);
        if (entry.isDirectory() && mayHoldDefinitions(entry.name)) folders.push(path);
        else if (!isNamedDefinition(entry)) continue;
        else if (entry.isFile() || (entry.isSymbolicLink() && isFile(path))) return true;
      }
    }
    return false;
  } catch {
    return false;
  }
}

const isNamedDefinition = ({ name }: Dirent): boolean =>
  name.endsWith(ending) && !name.startsWith(".");

/** @throws for a folder, a pipe or a socket with the name of a definition */
function refuse(path: string): never {
  const stats = statSync(path);
  throw new Error(stats.isDirectory() ? "it is a folder" : "it is not a file");
}

const isFile = (path: string): boolean => statSync(path).isFile();

const entriesOf = (folder: string): Dirent[] => readdirSync(folder, { withFileTypes: true });

/** A folder may go while the others are read. */
const entriesIfPresent = (folder: string): Dirent[] => ifPresent(folder, entriesOf) ?? [];
