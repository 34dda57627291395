import type { AppTest } from "./app-test.js";

/** Documents to insert before a run. */
export interface SeedTable {
  readonly table: string;
  /** Each may have a label as its `_id`, by which later ones and the input name it: `$id:label`. */
  readonly documents: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Inserts documents, in their order.
 *
 * @returns the value with the ids of the documents in the place of their labels
 * @throws when a document does not fit its table, or a label is unknown or given twice
 */
export async function withSeed(
  t: AppTest,
  value: unknown,
  seed: readonly SeedTable[],
): Promise<unknown> {
  const ids = new Map<string, string>();
  for (const { table, documents } of seed) {
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
  return withIds(value, ids, "The input");
}

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
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withIds(each, ids, what)]),
  );
}

/** What stands before a label where the id of its document belongs. */
const ID = "$id:";
