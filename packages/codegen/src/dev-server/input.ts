import { readFile } from "node:fs/promises";
import type { AppTest } from "./app-test.js";

/** A file to put into the app's storage before the run; its id becomes a field of the input. */
export interface StoredFile {
  /** The field, `.` between the names of nested ones. */
  readonly field: string;
  readonly path: string;
}

/**
 * Stores files, and gives the input with their ids in it.
 *
 * @throws when a file cannot be read, or a field lies inside of something that is no object
 */
export async function withStoredFiles(
  t: AppTest,
  input: unknown,
  files: readonly StoredFile[],
): Promise<unknown> {
  let filled = input;
  for (const { field, path } of files) {
    const content = await readBlob(field, path);
    const id = await t.run(async (ctx) => await ctx.storage.store(content));
    filled = withField(filled, field.split("."), id, field);
  }
  return filled;
}

async function readBlob(field: string, path: string): Promise<Blob> {
  const content = await readFile(path).catch((error: unknown) => whyUnreadable(path, error));
  if (typeof content !== "string") return new Blob([content]);
  throw new Error(`The file for "${field}" cannot be read: ${content}`);
}

/** In a sentence why a file cannot be read, for somebody who gave its path. */
export function whyUnreadable(path: string, error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return `there is no ${path}.`;
  if (code === "EISDIR") return `${path} is a folder.`;
  if (code === "EACCES" || code === "EPERM") return `${path} may not be read.`;
  return error instanceof Error ? error.message : String(error);
}

function withField(input: unknown, names: string[], value: unknown, field: string): unknown {
  const [name, ...rest] = names;
  if (name === undefined) return value;
  if (input !== undefined && !isRecord(input)) {
    throw new Error(`The file for "${field}" has no place in the input: there is no object there.`);
  }
  return { ...input, [name]: withField(input?.[name], rest, value, field) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
