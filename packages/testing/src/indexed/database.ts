import { jsonToConvex, type JSONValue, type Value } from "convex/values";
import { compareDocuments, type Document, type Field, isWithin, type Range } from "./order.js";
import { beyond, rangeOf, type Source } from "./ranges.js";
import { Table } from "./table.js";

interface Query {
  readonly source: Source;
  readonly operators: readonly object[];
}

/** What convex-test makes of a query, together with all documents in its range, in order. */
interface Resolved {
  readonly sortedDocs: Document[];
  readonly filterFn: (document: Document) => boolean;
  readonly limit: number | null;
  readonly fieldPathsToSortBy: readonly string[];
  readonly order: "asc" | "desc";
}

interface PageOptions {
  readonly query: Query;
  readonly cursor: string | null;
  readonly endCursor?: string | null;
  readonly pageSize: number;
  readonly maximumRowsRead?: number | null;
}

/** The pending writes of one transaction, nested or not: null is a deletion. */
type Level = Readonly<Record<string, Document | null>>;

/**
 * The part of convex-test's `DatabaseFake` that is used or replaced. There is one for the app and
 * one for each component.
 */
export interface Database {
  readonly _documents: Record<string, Document>;
  readonly _writes: readonly Level[];
  _nextQueryId: number;
  startTransaction(): void;
  commit(commitTs?: bigint | null): void;
  rollbackWrites(): void;
  _addWrite(id: string, document: Document | null): void;
  _validate(table: string, document: object): void;
  _iterateDocs(table: string, callback: (document: Document) => void): void;
  _resolveQuerySource(query: Query): Resolved;
  _evaluateQuery(query: Query): Iterator<Document>;
  startQuery(query: Query): number;
  queryNext(queryId: number): { value: Document | null; done: boolean };
  paginate(options: PageOptions): unknown;
  stashWrites(): readonly Level[];
  restoreWrites(stashed: readonly Level[]): void;
}

/** A stale snapshot may lack so many commits at most, … */
const MAX_LAG = 100;
/** … and none from longer ago than this, in ms: on a deployment it is a recent one. */
const MAX_LAG_MS = 1_000;

/** Documents by id as they were at some time; undefined where there was none. */
type Images = ReadonlyMap<string, Document | undefined>;

/**
 * Pending documents of one table, as far as they are in a range and in its order, and the ids of
 * all those written.
 */
interface Pending {
  readonly ids: ReadonlySet<string>;
  readonly documents: readonly Document[];
}

/**
 * Replaces the methods of `database` with which convex-test looks through and sorts all of a
 * table's documents for every query, by ones over sorted indexes. The results are the same. Two
 * things are not kept that convex-test keeps for ever: the results of a query that were read, and,
 * once its transaction is over, those that were not.
 *
 * What an index range may be, filters, search and pages stay convex-test's own.
 *
 * @param lag how many of the newest commits a stale snapshot lacks; asked for each. convex-test's
 *   lacks none.
 */
export function indexDatabase(database: Database, lag?: () => number): void {
  const original: Database = Object.getPrototypeOf(database);
  const tables = new Map<string, Table>();
  const written = new WeakMap<Level, Map<string, Set<string>>>();
  const results = new Map<number, Iterator<Document>>();
  const commits: { readonly at: number; readonly before: Images }[] = [];
  const hidden: Images[] = [];
  let depth = 0;

  const tableOf = (name: string): Table => {
    const existing = tables.get(name);
    if (existing !== undefined) return existing;
    const table = new Table();
    tables.set(name, table);
    return table;
  };

  for (const [id, document] of Object.entries(database._documents))
    tableOf(tableNameOf(id)).set(id, document);

  /** Returns what the open transactions have written to a table, by id, the innermost last. */
  const writesTo = (table: string): Map<string, Document | null> => {
    const writes = new Map<string, Document | null>();
    for (const level of database._writes)
      for (const id of written.get(level)?.get(table) ?? []) writes.set(id, level[id] ?? null);
    return writes;
  };

  const pendingIn = (
    table: string,
    fields: readonly Field[],
    range: Range,
    order: 1 | -1,
  ): Pending => {
    const writes = writesTo(table);
    const documents = [...writes.values()]
      .filter((document) => document !== null)
      .filter((document) => isWithin(document, fields, range))
      .sort((a, b) => order * compareDocuments(fields, a, b));
    return { ids: new Set(writes.keys()), documents };
  };

  /**
   * Returns what convex-test makes of a query, without any documents. It checks the range as well.
   */
  const resolve = (query: Query): Resolved =>
    original._resolveQuerySource.call(withMethods(database, { _iterateDocs: () => {} }), query);

  /**
   * All documents in a query's range, in order. What is written after the call does not change
   * them.
   */
  const inRange = (
    source: Exclude<Source, { type: "Search" }>,
    { fieldPathsToSortBy, order }: Resolved,
    cursor?: string | null,
  ): Iterator<Document> => {
    const [name, filters] =
      source.type === "FullTableScan"
        ? [source.tableName, []]
        : [source.indexName.split(".")[0]!, source.range];
    // What tells any two documents apart, as convex-test takes it for its cursors.
    const paths = fieldPathsToSortBy.includes("_id")
      ? fieldPathsToSortBy
      : [...fieldPathsToSortBy, "_id"];
    const index = tableOf(name).index(paths);
    const bounds = rangeOf(filters);
    const range = cursor ? beyond(bounds, keysOf(cursor, paths.length), order) : bounds;
    const direction = order === "asc" ? 1 : -1;
    const pending = pendingIn(name, index.fields, range, direction);
    // Committed documents move only when the outermost transaction is committed, and then all
    // queries are over.
    const { from, to } = index.positions(range);
    const [first, end] = direction === 1 ? [from, to] : [to - 1, from - 1];
    return (function* merged() {
      let next = 0;
      for (let position = first; position !== end; position += direction) {
        const document = index.at(position)!;
        if (pending.ids.has(document._id)) continue;
        for (; next < pending.documents.length; next += 1) {
          const other = pending.documents[next]!;
          if (direction * compareDocuments(index.fields, other, document) > 0) break;
          yield other;
        }
        yield document;
      }
      yield* pending.documents.slice(next);
    })();
  };

  const resultsOf = (query: Query): Iterator<Document> => {
    const { source } = query;
    // The order of a search's results is that of the documents.
    if (source.type === "Search") return original._evaluateQuery.call(database, query);
    const resolved = resolve(query);
    const { filterFn, limit } = resolved;
    const found = filtered(inRange(source, resolved), filterFn);
    return limit === null ? found : take(found, limit);
  };

  /** The documents that a page is made of: those after the cursor, and no more than it can need. */
  const pageSource = (options: PageOptions, query: Query): Resolved => {
    const { source } = query;
    if (source.type === "Search") return original._resolveQuerySource.call(database, query);
    const resolved = resolve(query);
    if (options.cursor === "_end_cursor") return resolved;
    const found = inRange(source, resolved, options.cursor);
    return { ...resolved, sortedDocs: [...iterable(take(found, mostRowsOf(options)))] };
  };

  /**
   * convex-test throws for every part of a union that a value is not, and catches that; the traces
   * take longer than all else.
   */
  const isValid = (table: string, document: object): boolean => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    try {
      original._validate.call(database, table, document);
      return true;
    } catch {
      return false;
    } finally {
      Error.stackTraceLimit = limit;
    }
  };

  /** Has documents be others, or none. @returns what they were. */
  const put = (documents: Images): Images => {
    const before = new Map<string, Document | undefined>();
    for (const [id, document] of documents) {
      before.set(id, database._documents[id]);
      if (document === undefined) delete database._documents[id];
      else database._documents[id] = document;
      tableOf(tableNameOf(id)).set(id, document);
    }
    return before;
  };

  /** Keeps what documents are before a commit writes them, for stale snapshots. */
  const keep = (ids: readonly string[]): void => {
    const before = new Map(ids.map((id) => [id, database._documents[id]]));
    commits.push({ at: Date.now(), before });
    if (commits.length > MAX_LAG) commits.shift();
  };

  const ended = (): void => {
    depth -= 1;
    if (depth === 0) results.clear();
  };

  const replaced: Partial<Database> = {
    startTransaction() {
      original.startTransaction.call(database);
      depth += 1;
    },
    commit(commitTs) {
      const ids = database._writes.length === 1 ? Object.keys(database._writes[0]!) : [];
      if (lag !== undefined && ids.length > 0) keep(ids);
      original.commit.call(database, commitTs);
      for (const id of ids) tableOf(tableNameOf(id)).set(id, database._documents[id]);
      ended();
    },
    rollbackWrites() {
      original.rollbackWrites.call(database);
      ended();
    },
    _addWrite(id, document) {
      original._addWrite.call(database, id, document);
      const level = database._writes.at(-1)!;
      const byTable = written.get(level) ?? new Map<string, Set<string>>();
      written.set(level, byTable);
      const table = tableNameOf(id);
      byTable.set(table, (byTable.get(table) ?? new Set()).add(id));
    },
    _validate(table, document) {
      if (!isValid(table, document)) original._validate.call(database, table, document);
    },
    _iterateDocs(table, callback) {
      const writes = writesTo(table);
      const committed = tableOf(table).documents;
      for (const [id, document] of committed) {
        const now = writes.has(id) ? writes.get(id)! : document;
        if (now !== null) callback(now);
      }
      for (const [id, document] of writes)
        if (document !== null && !committed.has(id)) callback(document);
    },
    startQuery(query) {
      const found = resultsOf(query);
      const id = database._nextQueryId;
      database._nextQueryId += 1;
      results.set(id, found);
      return id;
    },
    queryNext(queryId) {
      const found = results.get(queryId);
      if (found === undefined) throw new Error("Bad queryId");
      const { value, done = false } = found.next();
      return done ? { value: null, done } : { value, done };
    },
    paginate(options) {
      const page = withMethods(database, {
        _resolveQuerySource: (query) => pageSource(options, query),
      });
      return original.paginate.call(page, options);
    },
    stashWrites() {
      const recent = commits.filter(({ at }) => at >= Date.now() - MAX_LAG_MS).reverse();
      for (const { before } of recent.slice(0, lag?.() ?? 0)) hidden.push(put(before));
      return original.stashWrites.call(database);
    },
    restoreWrites(stashed) {
      for (let last = hidden.pop(); last !== undefined; last = hidden.pop()) put(last);
      original.restoreWrites.call(database, stashed);
    },
  };
  Object.assign(database, replaced);
}

function withMethods(database: Database, methods: Partial<Database>): Database {
  return Object.assign(Object.create(database) as Database, methods);
}

/** The values in one of convex-test's cursors; those that it lacks count as undefined. */
function keysOf(cursor: string, length: number): (Value | undefined)[] {
  const keys = JSON.parse(cursor) as (string | null)[];
  return Array.from({ length }, (_, at) => {
    const key = keys[at] ?? null;
    return key === null ? undefined : jsonToConvex(JSON.parse(key) as JSONValue);
  });
}

/**
 * Returns how many documents a page may look at, and one more: whether there is one decides whether
 * the page is the last.
 */
function mostRowsOf({ query, endCursor, pageSize, maximumRowsRead }: PageOptions): number {
  const mayEndEarly = !endCursor && query.operators.every((operator) => !("filter" in operator));
  const rows = mayEndEarly && !Number.isNaN(pageSize) ? Math.max(1, Math.ceil(pageSize)) : Infinity;
  return Math.min(rows, maximumRowsRead || Infinity) + 1;
}

function tableNameOf(id: string): string {
  return id.replace(/^[0-9]+/, "");
}

function* filtered(
  documents: Iterator<Document>,
  isIn: (document: Document) => boolean,
): Generator<Document> {
  for (const document of iterable(documents)) if (isIn(document)) yield document;
}

function* take(documents: Iterator<Document>, most: number): Generator<Document> {
  for (let taken = 0; taken < most; taken += 1) {
    const { value, done } = documents.next();
    if (done === true) return;
    yield value;
  }
}

function iterable<Item>(iterator: Iterator<Item>): Iterable<Item> {
  return { [Symbol.iterator]: () => iterator };
}
