import { randomUUID } from "node:crypto";
import { mkdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join, relative, isAbsolute } from "node:path";
import type { GeneratedFile } from "../emit/emit.js";
import { outputFolder } from "../plan/paths.js";
import { presentFiles } from "./own-files.js";

export interface Written {
  readonly written: string[];
  readonly removed: string[];
  readonly unchanged: string[];
}

/** What stands in the way of writing. Nothing has been written. */
export class WriteRefused extends Error {
  override readonly name = "WriteRefused";
}

/**
 * Brings `_workflows/` to the state of `files`: writes those that differ, and removes the compiler's own files that are no longer
 * among them. A file that the compiler did not make is never touched.
 *
 * @param functionsDir absolute path of the app's functions folder
 * @throws WriteRefused when a file of another origin is in the way, or the folder leads elsewhere
 */
export async function writeGenerated(
  functionsDir: string,
  files: readonly GeneratedFile[],
): Promise<Written> {
  const drift = await driftOf(functionsDir, files);
  const stale = files.filter(({ path }) => drift.written.includes(path));
  if (stale.length > 0) await mkdir(join(functionsDir, outputFolder), { recursive: true });
  for (const { path, text } of stale) await replace(join(functionsDir, path), text);
  for (const path of drift.removed) await rm(join(functionsDir, path), { force: true });
  return drift;
}

/**
 * What `writeGenerated` would do, without doing it.
 *
 * @throws WriteRefused as `writeGenerated` does
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
  return {
    written: files.filter(isStale).map(({ path }) => path),
    removed: [...own.keys()].filter((path) => !wanted.has(path)),
    unchanged: files.filter((file) => !isStale(file)).map(({ path }) => path),
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
