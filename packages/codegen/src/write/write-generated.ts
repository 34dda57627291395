import { randomUUID } from "node:crypto";
import { mkdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join, relative, isAbsolute } from "node:path";
import type { GeneratedFile } from "../emit/emit.js";
import { isUntouched } from "../emit/seal.js";
import { outputFolder } from "../plan/paths.js";
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

export interface WriteOptions {
  /** Whether edits by hand are written over. Default: they are refused. */
  readonly force?: boolean;
}

/**
 * Brings `_workflows/` to the state of `files`: writes those that differ, and removes the compiler's own files that are no longer
 * among them. A file that the compiler did not make is never touched.
 *
 * @param functionsDir absolute path of the app's functions folder
 * @throws WriteRefused when a file of another origin, or one that was edited by hand, is in the way, or the folder leads elsewhere
 */
export async function writeGenerated(
  functionsDir: string,
  files: readonly GeneratedFile[],
  { force = false }: WriteOptions = {},
): Promise<Written> {
  const drift = await driftOf(functionsDir, files);
  if (drift.edited.length > 0 && !force) throw new WriteRefused(editedByHand(drift.edited));
  const stale = files.filter(({ path }) => drift.written.includes(path));
  if (stale.length > 0) await mkdir(join(functionsDir, outputFolder), { recursive: true });
  // Backwards: the index, which is the first of them, imports the others.
  for (const { path, text } of stale.toReversed()) await replace(join(functionsDir, path), text);
  for (const path of drift.removed) await rm(join(functionsDir, path), { force: true });
  return drift;
}

function editedByHand(paths: readonly string[]): string {
  const [first, ...others] = paths;
  const which = others.length === 0 ? `${first} was` : `${paths.join(", ")} were`;
  return (
    `${which} edited by hand, so nothing was written: put what the edit is for into the definition, then run ` +
    "`workflow-codegen generate --force`, which writes over it. (If a formatter made the edit, keep it out of _workflows.)"
  );
}

/**
 * What `writeGenerated` would do, without doing it.
 *
 * @throws WriteRefused as `writeGenerated` does, but not for edits by hand
 */
export async function driftOf(
  functionsDir: string,
  files: readonly GeneratedFile[],
): Promise<Written> {
  await refuseFolderElsewhere(functionsDir);
  const { own, foreign } = presentFiles(functionsDir);
  const inTheWay = files.find(({ path }) => foreign.has(path));
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
    return text !== undefined && oneSideOf(text) === text && !isUntouched(path, text);
  };
  return {
    written,
    removed,
    unchanged: files.filter((file) => !isStale(file)).map(({ path }) => path),
    edited: [...written, ...removed].filter(isEdited),
  };
}

/** A link could lead the compiler to write anywhere. */
async function refuseFolderElsewhere(functionsDir: string): Promise<void> {
  const folder = join(functionsDir, outputFolder);
  const target = await realpath(folder).catch(() => undefined);
  if (target === undefined) return;
  const inside = relative(await realpath(functionsDir), target);
  if (inside !== "" && !inside.startsWith("..") && !isAbsolute(inside)) return;
  throw new WriteRefused(
    `cannot write generated code: ${folder} leads to ${target}, outside the functions folder; make it a folder of its own`,
  );
}

/** A reader sees the old text or the new one, never a part: the new one is written beside it and takes its place. */
async function replace(path: string, text: string): Promise<void> {
  const folder = join(path, "..");
  const temporary = join(folder, `.${randomUUID()}.tmp`);
  try {
    await writeFile(temporary, text, { flag: "wx" });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
