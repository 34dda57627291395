import { readdirSync, statSync, type Dirent } from "node:fs";
import { join } from "node:path";
import { outputFolder } from "../plan/paths.js";

/** The ending of a file that may hold definitions. */
const ending = ".workflow.ts";

/** Folders that hold no definitions of the app's own. */
const passedOver = new Set(["node_modules", "_generated"]);

/** Whether a folder, relative to the functions folder and with `/`, may hold definitions. */
export function mayHoldDefinitions(folder: string): boolean {
  if (folder === outputFolder) return false;
  return folder.split("/").every((name) => !passedOver.has(name) && !name.startsWith("."));
}

/** What there is in the functions folder, relative to it and with `/`, sorted by code unit. */
export interface DefinitionFiles {
  readonly files: string[];
  /** All folders that may hold definitions; the functions folder itself is `""`. */
  readonly folders: string[];
  /** Links to folders in which there are such files: they are not looked into. */
  readonly linked: string[];
}

/**
 * Finds files by their name. Synchronously, as reading a few hundred names one after the other is quicker than any way to wait for
 * them, and without a library, as loading one would take longer than the whole of it.
 */
export function definitionFiles(functionsDir: string): DefinitionFiles {
  const files: string[] = [];
  const folders = [""];
  const linked: string[] = [];
  for (const folder of folders) {
    for (const entry of entriesOf(join(functionsDir, folder))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && mayHoldDefinitions(path)) folders.push(path);
      else if (isDefinitionFile(entry, `${functionsDir}/${path}`)) files.push(path);
      else if (entry.isSymbolicLink() && mayHoldDefinitions(path)) {
        if (holdsDefinitions(`${functionsDir}/${path}`)) linked.push(path);
      }
    }
  }
  return { files: files.sort(), folders: folders.sort(), linked: linked.sort() };
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
