import * as fs from "node:fs";
import { basename, dirname, isAbsolute, join, posix, relative } from "node:path";
import { ifPresent, readText } from "../discover/discover.js";
import { stampOf } from "../discover/stamp.js";
import { isPlanFile, usualOutput } from "../plan/paths.js";
import { randomUUID } from "node:crypto";
import type { GeneratedFile } from "../emit/emit.js";
import { isUntouched } from "../emit/index-file.js";
import { oneSideOf, presentFiles } from "./present-files.js";

export interface Written {
  readonly written: string[];
  readonly removed: string[];
  readonly unchanged: string[];
  /** The written and removed files that had been edited by hand. */
  readonly edited: string[];
}

/** Why nothing was written. */
export class WriteRefused extends Error {
  override readonly name = "WriteRefused";
}

/** The disk did not take a file. Those before it are written; another run writes the rest. */
export class WriteFailed extends Error {
  override readonly name = "WriteFailed";
}

export interface WriteOptions {
  readonly force?: boolean;
  /** The folders from which old generated files are removed. Default: those of the files. */
  readonly folders?: readonly string[];
}

/**
 * Writes the files that differ and removes the compiler's own that are no longer wanted.
 * @throws WriteRefused if a file that it did not make, or that was edited, is in the way
 */
export async function writeGenerated(
  functionsDir: string,
  files: readonly GeneratedFile[],
  options: WriteOptions = {},
): Promise<Written> {
  const { force = false } = options;
  const drift = await driftOf(functionsDir, files, options);
  if (drift.edited.length > 0 && !force) throw new WriteRefused(editedByHand(drift.edited));
  const pathOf = (path: string) => join(functionsDir, path);
  const written = new Set(drift.written);
  try {
    for (const folder of foldersOf(drift.written))
      fs.mkdirSync(pathOf(folder), { recursive: true });
    for (const folder of foldersOf([...drift.written, ...drift.removed]))
      removeTemporaries(pathOf(folder));
    // Backwards: the index, which is the first of them, imports the others.
    for (const file of files.toReversed())
      if (written.has(file.path)) replace(pathOf(file.path), file.text);
    for (const path of drift.removed) {
      fs.rmSync(pathOf(path), { force: true });
      lastWritten.delete(pathOf(path));
    }
    const stillUsed = foldersOf(files.map(({ path }) => path));
    for (const folder of foldersOf(drift.removed))
      if (!stillUsed.has(folder)) removeEmpty(functionsDir, folder);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new WriteFailed(`cannot write generated code: ${why}`, { cause });
  }
  return drift;
}

const foldersOf = (paths: readonly string[]): Set<string> =>
  new Set(paths.map((path) => posix.dirname(path)));

/** What this process has written, by full path: nobody has edited that by hand. */
const lastWritten = new Map<string, string>();

/** Says whether this process has written a file, by its full path, or writes it on the way. */
export const isWrittenHere = (path: string): boolean =>
  lastWritten.has(path) || temporaryName.test(basename(path));

function editedByHand(paths: readonly string[]): string {
  const [first = "", ...others] = paths;
  return (
    `${paths.join(", ")} ${others.length === 0 ? "was" : "were"} edited by hand, so nothing was written: put what the edit is for into the definition, then run ` +
    "`workflow-codegen generate --force`, which writes over it. (If a formatter made the edit, keep it out of " +
    `${posix.dirname(first)}.)`
  );
}

/** Returns what `writeGenerated` would do. @throws WriteRefused, but not for edits by hand */
export async function driftOf(
  functionsDir: string,
  files: readonly GeneratedFile[],
  { force = false, folders }: WriteOptions = {},
): Promise<Written> {
  const wanted = new Set(files.map(({ path }) => path));
  const isThere = ({ path, there }: GeneratedFile) =>
    there !== undefined && stampOf(`${functionsDir}/${path}`) === there.stamp;
  const same = new Set(files.filter(isThere).map(({ path }) => path));
  const others = folders ?? (files.length === 0 ? [usualOutput] : []);
  const searched = new Set([...others, ...foldersOf([...wanted])]);
  for (const folder of searched) refuseFolderElsewhere(functionsDir, folder);
  const { own, foreign } = presentFiles(functionsDir, searched, (path) => !same.has(path));
  // A plan that is damaged does not look like one any more, nor does a file that was emptied.
  const isOurs = (path: string) => {
    const text = ifPresent(join(functionsDir, path), (at) =>
      fs.statSync(at).isFile() ? readText(at) : undefined,
    );
    return text?.trim() === "" || (force && isPlanFile(path) && text !== undefined);
  };
  const inTheWay = files.find(({ path }) => foreign.has(path) && !isOurs(path));
  if (inTheWay !== undefined) {
    const why = "the file that is there was not made by workflow-codegen";
    const hint = "move it away, or rename the workflow";
    throw new WriteRefused(`cannot write ${inTheWay.path}: ${why}; ${hint}`);
  }
  const isStale = (file: GeneratedFile) => !same.has(file.path) && own.get(file.path) !== file.text;
  const written = files.filter(isStale).map(({ path }) => path);
  const removed = [...own.keys()].filter((path) => !wanted.has(path));
  const isEdited = (path: string) => {
    const text = own.get(path);
    if (text === undefined || text === lastWritten.get(join(functionsDir, path))) return false;
    return oneSideOf(text) === text && !isUntouched(path, text);
  };
  return {
    written,
    removed,
    unchanged: files.filter((file) => !isStale(file)).map(({ path }) => path),
    edited: [...written, ...removed].filter(isEdited),
  };
}

/** A link could lead the compiler to write anywhere, also one to a folder around the output. */
function refuseFolderElsewhere(functionsDir: string, path: string): void {
  const above = posix.dirname(path);
  if (above !== ".") refuseFolderElsewhere(functionsDir, above);
  const folder = join(functionsDir, path);
  if (fs.lstatSync(folder, { throwIfNoEntry: false }) === undefined) return;
  const refuse = (why: string): never => {
    throw new WriteRefused(`cannot write generated code: ${folder} ${why}`);
  };
  if (ifPresent(folder, (at) => fs.statSync(at).isDirectory()) !== true)
    refuse("is no folder; move it away, as the compiler needs a folder of that name");
  const target = fs.realpathSync(folder);
  const inside = relative(fs.realpathSync(functionsDir), target);
  if (inside !== "" && !inside.startsWith("..") && !isAbsolute(inside)) return;
  refuse(`leads to ${target}, outside the functions folder; make it a folder of its own`);
}

/** A reader sees the old text or the new one, never a part. */
function replace(path: string, text: string): void {
  const temporary = join(dirname(path), `.workflow-codegen-${randomUUID()}.tmp`);
  try {
    fs.writeFileSync(temporary, text, { flag: "wx" });
    fs.renameSync(temporary, path);
    lastWritten.set(path, text);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

const temporaryName = /^\.workflow-codegen-[0-9a-f-]{36}\.tmp$/;

/** Ms after which nobody needs a temporary file any more. Writing takes less than one. */
const abandonedMs = 60_000;

/** Removes the temporary files of compilers that were killed, but not of one that runs now. */
function removeTemporaries(folder: string): void {
  for (const name of fs.readdirSync(folder)) {
    if (!temporaryName.test(name)) continue;
    const path = join(folder, name);
    const found = fs.lstatSync(path, { throwIfNoEntry: false });
    if (found?.isFile() === true && Date.now() - found.mtimeMs > abandonedMs)
      fs.rmSync(path, { force: true });
  }
}

/** Removes a folder if it is empty, and those around it, as version control does. */
function removeEmpty(functionsDir: string, folder: string): void {
  try {
    for (let each = folder; each !== "."; each = posix.dirname(each))
      fs.rmdirSync(join(functionsDir, each));
  } catch {
    // There is something in it.
  }
}
