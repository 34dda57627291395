import { convexToJson, jsonToConvex, type JSONValue, type Value } from "convex/values";
import { compareDocuments, type Document, fieldAt, isWithin } from "../indexed/order.js";
import type { Field, Range } from "../indexed/order.js";
import { beyond, rangeOf, type Source } from "../indexed/ranges.js";
import type { Usage } from "../usage.js";
import { evaluate } from "./expressions.js";
import { CallError } from "./failure.js";
import type { ReadRange } from "./reads.js";
import type { Store, StoredTable } from "./store.js";
import { NOTHING, type Transaction } from "./transaction.js";

/** A query, as Convex's client serialises it. */
export interface Query {
  readonly source: Source & { readonly order?: "asc" | "desc" | null };
  readonly operators: readonly { readonly filter?: JSONValue; readonly limit?: number }[];
}

export interface PageOptions {
  readonly query: Query;
  readonly cursor: string | null;
  readonly endCursor?: string | null;
  readonly pageSize: number;
  readonly maximumRowsRead?: number | null;
}

const END = "_end_cursor";

/** One query of one transaction: what it finds, and what it has read by then. */
class Scan {
  readonly table: StoredTable;
  readonly index: string;
  readonly range: Range;
  readonly order: "asc" | "desc";
  readonly #fields: readonly Field[];
  readonly #documents: Iterator<Document, void>;
  readonly #filters: readonly JSONValue[];
  readonly #limits: Readonly<Usage>;
  /** [9] From the beginning to the last document given out. */
  #read: ReadRange | undefined;

  constructor(
    readonly transaction: Transaction,
    store: Store,
    component: string,
    { source, operators }: Query,
    limits: Readonly<Usage>,
    after?: readonly (Value | undefined)[],
    upTo?: readonly (Value | undefined)[],
  ) {
    if (source.type === "Search") throw new CallError("Searches are not modelled.", "system");
    const [tableName = "", index = "by_creation_time"] =
      source.type === "FullTableScan" ? [source.tableName] : source.indexName.split(".");
    this.table = store.table(component, tableName);
    this.index = index;
    this.order = source.order ?? "asc";
    let range = rangeOf(source.type === "FullTableScan" ? [] : source.range);
    if (after !== undefined) range = beyond(range, after, this.order);
    if (upTo !== undefined)
      range =
        this.order === "asc"
          ? { ...range, to: [...range.to, { values: upTo, isAfter: true }] }
          : { ...range, from: [...range.from, { values: upTo, isAfter: false }] };
    this.range = range;
    const paths = this.table.fieldsOf(index);
    this.#fields = paths.map(fieldAt);
    this.#filters = operators.flatMap(({ filter }) => (filter === undefined ? [] : [filter]));
    this.#limits = limits;
    this.#documents = this.#inOrder(paths);
    transaction.usage.databaseQueries += 1;
    transaction.check(limits);
  }

  /** The next document that was scanned; undefined at the end of the range. */
  scanned(): Document | undefined {
    const { value } = this.#documents.next();
    this.#read ??= this.#begin();
    if (value === undefined) {
      Object.assign(this.#read, this.range);
      return undefined;
    }
    const values = this.keysOf(value);
    if (this.order === "asc") this.#read.to = [{ values, isAfter: true }];
    else this.#read.from = [{ values, isAfter: false }];
    this.transaction.saw(value, this.#limits);
    return value;
  }

  /** [9] A filter narrows nothing: all that was scanned was read. */
  fits(document: Document): boolean {
    return this.#filters.every((filter) => evaluate(filter, document) === true);
  }

  keysOf(document: Document): (Value | undefined)[] {
    return this.#fields.map((field) => field(document));
  }

  #begin(): ReadRange {
    const read = { from: this.range.from, to: this.range.to };
    if (this.transaction.isRecording) this.transaction.reads.range(this.table, this.index, read);
    return read;
  }

  /** What is published of the range, and over it what the transaction has written, in order. */
  *#inOrder(paths: readonly string[]): Generator<Document, void> {
    const { range, order } = this;
    const index = this.table.documents.index(paths);
    const places = index.positions(range);
    const changed = this.transaction.changesOf(this.table);
    // The transaction may write while it reads.
    const changes = changed.size === 0 ? NOTHING : new Map(changed);
    const sign = order === "asc" ? 1 : -1;
    const own = [...changes.values()]
      .filter((document) => document !== undefined && isWithin(document, this.#fields, range))
      .map((document) => document as Document)
      .sort((a, b) => sign * compareDocuments(this.#fields, a, b));
    let next = 0;
    let at = order === "asc" ? places.from : places.to - 1;
    for (; at >= places.from && at < places.to; at += sign) {
      const document = index.at(at)!;
      if (changes.has(document._id)) continue;
      for (; next < own.length; next += 1) {
        if (sign * compareDocuments(this.#fields, own[next]!, document) > 0) break;
        yield own[next]!;
      }
      yield document;
    }
    yield* own.slice(next);
  }
}

/** The documents that a query finds, one by one, as they are asked for. */
export function* results(
  transaction: Transaction,
  store: Store,
  component: string,
  query: Query,
  limits: Readonly<Usage>,
): Generator<Document, void> {
  const scan = new Scan(transaction, store, component, query, limits);
  const most = query.operators.find(({ limit }) => limit !== undefined)?.limit ?? Infinity;
  for (let given = 0; given < most;) {
    const document = scan.scanned();
    if (document === undefined) return;
    if (!scan.fits(document)) continue;
    given += 1;
    yield document;
  }
}

export interface Page {
  readonly documents: readonly Document[];
  readonly isDone: boolean;
  readonly continueCursor: string;
}

/** [9] A page: from the cursor to the last document scanned, or to the end that was given. */
export function page(
  transaction: Transaction,
  store: Store,
  component: string,
  options: PageOptions,
  limits: Readonly<Usage>,
): Page {
  const { query, cursor, endCursor, pageSize, maximumRowsRead } = options;
  if (cursor === END) return { documents: [], isDone: true, continueCursor: END };
  const after = cursor === null ? undefined : keysIn(cursor);
  const hasEnd = typeof endCursor === "string";
  const upTo = hasEnd && endCursor !== END ? keysIn(endCursor) : undefined;
  const scan = new Scan(transaction, store, component, query, limits, after, upTo);
  const documents: Document[] = [];
  let last: Document | undefined;
  const mostRows = hasEnd ? Infinity : (maximumRowsRead ?? Infinity);
  const mostDocuments = hasEnd ? Infinity : pageSize;
  for (let rows = 0; documents.length < mostDocuments && rows < mostRows; rows += 1) {
    const document = scan.scanned();
    if (document === undefined)
      return { documents, isDone: upTo === undefined, continueCursor: endCursor ?? END };
    last = document;
    if (scan.fits(document)) documents.push(document);
  }
  const continueCursor = last === undefined ? (cursor ?? END) : cursorOf(scan.keysOf(last));
  return { documents, isDone: false, continueCursor };
}

function cursorOf(keys: readonly (Value | undefined)[]): string {
  return JSON.stringify(keys.map((key) => (key === undefined ? [] : [convexToJson(key)])));
}

function keysIn(cursor: string): (Value | undefined)[] {
  const keys = JSON.parse(cursor) as [JSONValue?][];
  return keys.map(([key]) => (key === undefined ? undefined : jsonToConvex(key)));
}
