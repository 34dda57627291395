import { readFile } from "node:fs/promises";
import { suggestion } from "../diagnostics/nearest.js";
import { isRecord } from "../json.js";
import type { AppTest, BackEnd } from "./back-end.js";

/** A file to put into the app's storage before the run; its id becomes a field of the input. */
export interface StoredFile {
  /** The field, `.` between the names of nested ones. */
  readonly field: string;
  readonly path: string;
}

/** Stores files, and puts their ids into the input. @throws if one cannot be read */
export async function withStoredFiles(t: AppTest, input: unknown, files: readonly StoredFile[]) {
  let filled = input;
  for (const { field, path } of files) {
    const content = await readGiven(path, `The file for "${field}"`);
    const id = await t.run(async (ctx) => await ctx.storage.store(new Blob([content])));
    filled = withField(filled, field.split("."), id, field);
  }
  return filled;
}

/** A file that the user gave the path of. @throws if `what` it is cannot be read */
export async function readGiven(path: string, what: string) {
  if (path === "") throw new Error(`${what} cannot be read: its path is empty.`);
  return await readFile(path).catch((error: unknown) => {
    throw new Error(`${what} cannot be read: ${whyUnreadable(path, error)}`);
  });
}

function whyUnreadable(path: string, error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return `there is no ${path}.`;
  if (code === "EISDIR") return `${path} is a folder.`;
  if (code === "EACCES" || code === "EPERM") return `${path} may not be read.`;
  return error instanceof Error ? error.message : String(error);
}

export interface SeedTable {
  readonly table: string;
  /** Each may have a label as its `_id`, by which later ones and the input name it: `$id:label`. */
  readonly documents: readonly Readonly<Record<string, unknown>>[];
}

/** Inserts documents, and puts their ids in place of their labels. @throws if one does not fit */
export async function withSeed(
  { t, tables }: Pick<BackEnd, "t" | "tables">,
  input: unknown,
  seed: readonly SeedTable[],
) {
  const ids = new Map<string, string>();
  for (const { table, documents } of seed) {
    if (tables?.includes(table) === false) {
      const hint = suggestion(table, tables, "tables");
      throw new Error(
        `The schema has no table ${JSON.stringify(table)}, which the seed names. ${hint}`,
      );
    }
    for (const [index, { _id: label, ...fields }] of documents.entries()) {
      const what = `The seeded document ${index + 1} of "${table}"`;
      if (label !== undefined && (typeof label !== "string" || ids.has(label)))
        throw new Error(`${what} has an _id that is no text, or another document's`);
      const filled = withIds(fields, ids, what) as Record<string, unknown>;
      const id = await t
        .run(async (ctx) => await ctx.db.insert(table, filled))
        .catch((cause: unknown) => {
          throw new Error(`${what} cannot be inserted`, { cause });
        });
      if (typeof label === "string") ids.set(label, id);
    }
  }
  return { input: withIds(input, ids, "The input"), ids };
}

/** What stands before the label of a document where its id belongs. */
const ID = "$id:";

function withIds(value: unknown, ids: ReadonlyMap<string, string>, what: string): unknown {
  if (typeof value === "string" && value.startsWith(ID)) {
    const label = value.slice(ID.length);
    const id = ids.get(label);
    if (id !== undefined) return id;
    throw new Error(
      `${what} names the document "${label}", which the seed does not hold before it.`,
    );
  }
  if (Array.isArray(value)) return value.map((each) => withIds(each, ids, what));
  if (!isRecord(value) || value instanceof ArrayBuffer) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withIds(each, ids, what)]),
  );
}

function withField(input: unknown, names: string[], value: unknown, field: string): unknown {
  const [name, ...rest] = names;
  if (name === undefined) return value;
  if (input !== undefined && !isRecord(input)) {
    throw new Error(`The file for "${field}" has no place in the input: there is no object there.`);
  }
  return { ...input, [name]: withField(input?.[name], rest, value, field) };
}
