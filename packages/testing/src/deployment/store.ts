import type { GenericSchema, SchemaDefinition } from "convex/server";
import { convexToJson, getConvexSize, type Value } from "convex/values";
import type { Document } from "../indexed/order.js";
import { Table } from "../indexed/table.js";
import { tableNumberOf } from "./random.js";

/** Where each component keeps its scheduled functions. */
export const JOBS = "_scheduled_functions";

const BY_ID = ["_id"];
const BY_CREATION = ["_creationTime", "_id"];

/** One table of one component: what is published of it, and its indexes. */
export class StoredTable {
  readonly documents = new Table();
  readonly path: string;
  readonly #indexes: ReadonlyMap<string, readonly string[]>;

  constructor(
    readonly component: string,
    readonly name: string,
    readonly number: number,
    indexes: Iterable<readonly [string, readonly string[]]> = [],
  ) {
    this.path = component === "" ? name : `${component}/${name}`;
    const own = [...indexes].map(
      ([index, fields]) => [index, [...fields, ...BY_CREATION]] as const,
    );
    this.#indexes = new Map([["by_id", BY_ID], ["by_creation_time", BY_CREATION], ...own]);
  }

  /** [8] The fields of an index: its own, then what tells any two documents apart. */
  fieldsOf(index: string): readonly string[] {
    const fields = this.#indexes.get(index);
    if (fields === undefined) throw new Error(`Index ${this.path}.${index} not found.`);
    return fields;
  }

  get indexCount(): number {
    return this.#indexes.size;
  }
}

/** The part of a schema that is read: which tables there are, with which indexes. */
interface ExportedTable {
  export(): { readonly indexes: readonly ExportedIndex[] };
}
interface ExportedIndex {
  readonly indexDescriptor: string;
  readonly fields: readonly string[];
}
export type Schema = SchemaDefinition<GenericSchema, boolean>;

/** The tables of all components. */
export class Store {
  readonly #tables: StoredTable[] = [];
  readonly #byPath = new Map<string, StoredTable>();

  /** Adds the tables of a component, or those that a deploy has brought. */
  mount(component: string, schema: Schema | undefined): void {
    // `export()` is not in the types of a table.
    const tables = (schema?.tables ?? {}) as unknown as Record<string, ExportedTable>;
    for (const [name, table] of Object.entries(tables))
      this.#add(
        component,
        name,
        table.export().indexes.map(({ indexDescriptor, fields }) => [indexDescriptor, fields]),
      );
    this.#add(component, JOBS);
  }

  /** A table that no schema names has but the two indexes that each has. */
  table(component: string, name: string): StoredTable {
    return this.#byPath.get(`${component}/${name}`) ?? this.#add(component, name);
  }

  /** The table that a document's id names. */
  tableOf(id: string): StoredTable | undefined {
    return this.#tables[tableNumberOf(id)];
  }

  get tables(): readonly StoredTable[] {
    return this.#tables;
  }

  #add(
    component: string,
    name: string,
    indexes: Iterable<readonly [string, readonly string[]]> = [],
  ): StoredTable {
    const existing = this.#byPath.get(`${component}/${name}`);
    if (existing !== undefined) return existing;
    const table = new StoredTable(component, name, this.#tables.length, indexes);
    this.#tables.push(table);
    this.#byPath.set(`${component}/${name}`, table);
    return table;
  }
}

interface Forms {
  json?: string;
  size?: number;
}
/** Documents are never written to, so what is worked out of one stays true. */
const forms = new WeakMap<object, Forms>();

function formsOf(document: object): Forms {
  let known = forms.get(document);
  if (known === undefined) forms.set(document, (known = {}));
  return known;
}

export function jsonOf(document: Document): string {
  const known = formsOf(document);
  // A document's fields are Convex values; its type says less.
  return (known.json ??= JSON.stringify(convexToJson(document as unknown as Value)));
}

export function sizeOf(document: object): number {
  return (formsOf(document).size ??= getConvexSize(document as unknown as Value));
}
