import { readdirSync, statSync, type Dirent } from "node:fs";
import { join } from "node:path";
import { usualOutput } from "../plan/paths.js";

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
  for (const folder of folders) {
    for (const entry of entriesOf(join(functionsDir, folder))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && mayHoldDefinitions(path)) folders.push(path);
      else if (isDefinitionFile(entry, `${functionsDir}/${path}`)) {
        files.push(path);
        if (entry.isSymbolicLink()) links.push(path);
      } else if (entry.isFile() && isCode(entry.name)) others.push(path);
      else if (entry.isSymbolicLink() && mayHoldDefinitions(path)) {
        if (holdsDefinitions(`${functionsDir}/${path}`)) linked.push(path);
      }
    }
  }
  const found = { files, others, folders, linked, links };
  for (const paths of Object.values(found)) paths.sort();
  return found;
}

/** Whether there is such a file below a link, not looking behind further ones. */
function holdsDefinitions(link: string): boolean {
  const folders = [link];
  for (const folder of folders) {
    for (const entry of entriesOf(folder)) {
      if (entry.isDirectory() && mayHoldDefinitions(entry.name))
        folders.push(join(folder, entry.name));
      else if (isDefinitionFile(entry, join(folder, entry.name))) return true;
    }
  }
  return false;
}

/** Links to folders are not followed, but reported: they could lead anywhere, also in a circle. */
function isDefinitionFile(entry: Dirent, path: string): boolean {
  if (!entry.name.endsWith(ending) || entry.name.startsWith(".")) return false;
  if (entry.isFile()) return true;
  return entry.isSymbolicLink() && statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** A folder may go while the others are read. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
