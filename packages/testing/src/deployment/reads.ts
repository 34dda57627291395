import { type Bound, type Field, fieldAt, isWithin } from "../indexed/order.js";
import type { Document } from "../indexed/order.js";
import type { StoredTable } from "./store.js";

/** [8] An interval of an index's keys. What a query has read grows as it is read. */
export interface ReadRange {
  from: readonly Bound[];
  to: readonly Bound[];
}

interface TableReads {
  /** Points of `by_id`, each a document that was found or was not. */
  readonly ids: Set<string>;
  /** By the name of the index. */
  readonly ranges: Map<string, ReadRange[]>;
}

/** What a transaction has read. */
export class ReadSet {
  readonly #tables = new Map<StoredTable, TableReads>();

  point(table: StoredTable, id: string): void {
    this.#of(table).ids.add(id);
  }

  range(table: StoredTable, index: string, range: ReadRange): void {
    const { ranges } = this.#of(table);
    const known = ranges.get(index);
    if (known === undefined) ranges.set(index, [range]);
    else known.push(range);
  }

  /** [15] The index by which it has read over a document's old or new place. */
  touchedBy(
    table: StoredTable,
    id: string,
    documents: readonly (Document | undefined)[],
  ): string | undefined {
    const reads = this.#tables.get(table);
    if (reads === undefined) return undefined;
    if (reads.ids.has(id)) return "by_id";
    for (const [index, ranges] of reads.ranges) {
      const fields = compiled(table.fieldsOf(index));
      for (const document of documents)
        if (document !== undefined && ranges.some((range) => isWithin(document, fields, range)))
          return index;
    }
    return undefined;
  }

  #of(table: StoredTable): TableReads {
    let reads = this.#tables.get(table);
    if (reads === undefined)
      this.#tables.set(table, (reads = { ids: new Set(), ranges: new Map() }));
    return reads;
  }
}

const known = new WeakMap<readonly string[], readonly Field[]>();

function compiled(paths: readonly string[]): readonly Field[] {
  let fields = known.get(paths);
  if (fields === undefined) known.set(paths, (fields = paths.map(fieldAt)));
  return fields;
}
