import { randomUUID } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, posix, relative } from "node:path";
import type { GeneratedFile } from "../emit/emit.js";
import { isUntouched } from "../emit/seal.js";
import { readText } from "../discover/discover.js";
import { ifPresent } from "../discover/unreadable.js";
import { isPlanFile, usualOutput } from "../plan/paths.js";
import { oneSideOf, presentFiles } from "./own-files.js";

export interface Written {
  readonly written: string[];
  readonly removed: string[];
  readonly unchanged: string[];
  /** Those of the written and removed ones that were edited by hand. */
  readonly edited: string[];
}

/** What stands in the way of writing. Nothing has been written. */
export class WriteRefused extends Error {
  override readonly name = "WriteRefused";
}

/** The disk did not take a file. Those before it are written, each whole; another run writes the rest. */
export class WriteFailed extends Error {
  override readonly name = "WriteFailed";
}

export interface WriteOptions {
  readonly force?: boolean;
  /**
   * The folders, relative to the functions folder, from which old generated files are removed.
   * Default: those of the files; without any, `_workflows`.
   */
  readonly folders?: readonly string[];
}

/**
 * Brings the output folder to the state of `files`: writes those that differ, and removes the
 * compiler's own files that are no longer among them. It touches no file that it did not make.
 *
 * @param functionsDir absolute path of the app's functions folder
 * @throws WriteRefused if a file of another origin or with edits by hand is in the way, or its folder leads elsewhere
 * @throws WriteFailed
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
    for (const folder of foldersOf(drift.written)) mkdirSync(pathOf(folder), { recursive: true });
    for (const folder of foldersOf([...drift.written, ...drift.removed]))
      removeTemporaries(pathOf(folder));
    // Backwards: the index, which is the first of them, imports the others.
    for (const { path, text } of files.toReversed())
      if (written.has(path)) replace(pathOf(path), text);
    for (const path of drift.removed) {
      rmSync(pathOf(path), { force: true });
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

/** Whether this process has written a file, by its full path, or writes it on the way. */
export const isWrittenHere = (path: string): boolean =>
  lastWritten.has(path) || temporaryName.test(basename(path));

function editedByHand(paths: readonly string[]): string {
  const [first = "", ...others] = paths;
  const which = others.length === 0 ? `${first} was` : `${paths.join(", ")} were`;
  return (
    `${which} edited by hand, so nothing was written: put what the edit is for into the definition, then run ` +
    "`workflow-codegen generate --force`, which writes over it. (If a formatter made the edit, keep it out of " +
    `${posix.dirname(first)}.)`
  );
}

/** What `writeGenerated` would do, without doing it. @throws WriteRefused, but not for edits by hand */
export async function driftOf(
  functionsDir: string,
  files: readonly GeneratedFile[],
  { force = false, folders }: WriteOptions = {},
): Promise<Written> {
  const wantedIn = foldersOf(files.map(({ path }) => path));
  const looked = new Set([...(folders ?? (files.length === 0 ? [usualOutput] : [])), ...wantedIn]);
  for (const folder of looked) refuseFolderElsewhere(functionsDir, folder);
  const { own, foreign } = presentFiles(functionsDir, looked);
  // A plan that is damaged does not look like one any more.
  const isOurs = (path: string) =>
    force && isPlanFile(path) && readText(join(functionsDir, path)) !== undefined;
  const inTheWay = files.find(({ path }) => foreign.has(path) && !isOurs(path));
  if (inTheWay !== undefined) {
    throw new WriteRefused(
      `cannot write ${inTheWay.path}: the file that is there was not made by workflow-codegen; move it away, or rename the workflow`,
    );
  }
  const isStale = ({ path, text }: GeneratedFile) => own.get(path) !== text;
  const wanted = new Set(files.map(({ path }) => path));
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
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return;
  if (ifPresent(folder, (at) => statSync(at).isDirectory()) !== true) {
    throw new WriteRefused(
      `cannot write generated code: ${folder} is no folder; move it away, as the compiler needs a folder of that name`,
    );
  }
  const target = realpathSync(folder);
  const inside = relative(realpathSync(functionsDir), target);
  if (inside !== "" && !inside.startsWith("..") && !isAbsolute(inside)) return;
  throw new WriteRefused(
    `cannot write generated code: ${folder} leads to ${target}, outside the functions folder; make it a folder of its own`,
  );
}

/**
 * A reader sees the old text or the new one, never a part. Synchronously, as the files are small
 * and to wait for each would take longer than to write it.
 */
function replace(path: string, text: string): void {
  const temporary = join(dirname(path), `.workflow-codegen-${randomUUID()}.tmp`);
  try {
    writeFileSync(temporary, text, { flag: "wx" });
    renameSync(temporary, path);
    lastWritten.set(path, text);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

const temporaryName = /^\.workflow-codegen-[0-9a-f-]{36}\.tmp$/;

/** Ms after which nobody needs a temporary file any more. Writing takes less than one. */
const abandonedMs = 60_000;

/** Removes the temporary files of compilers that were killed, but not of one that runs now. */
function removeTemporaries(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!temporaryName.test(name)) continue;
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isFile() === true && Date.now() - found.mtimeMs > abandonedMs)
      rmSync(path, { force: true });
  }
}

/** Removes a folder if it is empty, and those around it, as version control does. */
function removeEmpty(functionsDir: string, folder: string): void {
  try {
    for (let each = folder; each !== "."; each = posix.dirname(each))
      rmdirSync(join(functionsDir, each));
  } catch {
    // There is something in it.
  }
}
