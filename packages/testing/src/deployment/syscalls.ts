import {
  compareValues,
  convexToJson,
  jsonToConvex,
  type JSONValue,
  type Value,
} from "convex/values";
import { compare, type Document } from "../indexed/order.js";
import { valueOf } from "../indexed/ranges.js";
import { add, type Usage } from "../usage.js";
import { CallError } from "./failure.js";
import { type Address, handleOf, targetOf } from "./functions.js";
import type { Backend } from "./backend.js";
import type { Frame } from "./isolate.js";
import type { Job } from "./job.js";
import { page, type PageOptions, type Query, results } from "./scan.js";
import { JOBS, jsonOf, type StoredTable } from "./store.js";
import { Transaction } from "./transaction.js";

/** Arguments of system calls, of which each has some. */
interface Args extends Address {
  readonly id: string;
  readonly idString: string;
  readonly table: string;
  readonly value: JSONValue;
  readonly query: Query;
  readonly queryId: number;
  readonly udfType: "query" | "mutation" | "snapshotQuery";
  readonly args: JSONValue;
  /** In seconds since the epoch. */
  readonly ts: number;
  readonly transactionLimits?: Partial<Usage>;
}

type Answer = string | Promise<string>;
type SystemCall = (backend: Backend, frame: Frame, of: Transaction, args: Args) => Answer;

const MOST_DEEP = 8;
const MOST_ARGS_BYTES = 4 * 2 ** 20;

/** System calls that are answered at once. */
export function answer(backend: Backend, frame: Frame, operation: string, json: string): string {
  const args = JSON.parse(json) as Args;
  const { store } = backend;
  switch (operation) {
    case "1.0/queryStream": {
      const queryId = frame.queries.size;
      const { transaction, path, limits } = frame;
      const found = results(transaction!, store, path.component, args.query, limits);
      frame.queries.set(queryId, found);
      return JSON.stringify({ queryId });
    }
    case "1.0/queryCleanup":
      return "{}";
    case "1.0/db/normalizeId": {
      const table = store.tableOf(args.idString);
      const fits = table?.name === args.table && table.component === frame.path.component;
      return JSON.stringify({ id: fits ? args.idString : null });
    }
    case "1.0/getSnapshotTs":
      return JSON.stringify(convexToJson(frame.transaction!.snapshot.ts));
    default:
      throw new Error(`The system call ${operation} is not modelled.`);
  }
}

/** System calls inside a transaction. */
export async function answerInTransaction(
  backend: Backend,
  frame: Frame,
  transaction: Transaction,
  operation: string,
  json: string,
): Promise<string> {
  transaction.isForgetful = backend.faults.forgets?.() ?? false;
  const known = SYSTEM_CALLS[operation] ?? ANYWHERE[operation];
  if (known === undefined) throw new Error(`The system call ${operation} is not modelled.`);
  return await known(backend, frame, transaction, JSON.parse(json) as Args);
}

const SYSTEM_CALLS: Readonly<Record<string, SystemCall>> = {
  "1.0/get": (backend, frame, transaction, { id }) => {
    const table = backend.store.tableOf(id);
    if (table === undefined || table.component !== frame.path.component) return "null";
    const document = transaction.get(table, id, frame.limits);
    return document === undefined ? "null" : jsonOf(document);
  },
  "1.0/queryStreamNext": (_backend, frame, _transaction, { queryId }) => {
    const { value } = frame.queries.get(queryId)!.next();
    if (value === undefined) return '{"value":null,"done":true}';
    return `{"value":${jsonOf(value)},"done":false}`;
  },
  "1.0/queryPage": (backend, frame, transaction, args) => {
    const { component } = frame.path;
    if (component !== "") throw new CallError("paginate() is only supported in the app.");
    // The options of a page are the arguments of this one call.
    const options = args as unknown as PageOptions;
    const found = page(transaction, backend.store, component, options, frame.limits);
    const { documents, isDone, continueCursor } = found;
    const said = JSON.stringify({ isDone, continueCursor, splitCursor: null, pageStatus: null });
    return `{"page":[${documents.map(jsonOf).join()}],${said.slice(1)}`;
  },
  "1.0/count": (backend, frame, transaction, { table: name }) => {
    const table = backend.store.table(frame.path.component, name);
    transaction.usage.databaseQueries += 1;
    if (transaction.isRecording) transaction.reads.range(table, "by_id", { from: [], to: [] });
    let count = table.documents.documents.size;
    for (const [id, next] of transaction.changesOf(table))
      count += Number(next !== undefined) - Number(table.documents.documents.has(id));
    return String(count);
  },
  "1.0/insert": (backend, frame, transaction, { table: name, value }) => {
    const table = backend.store.table(frame.path.component, name);
    const fields = jsonToConvex(value) as object;
    return JSON.stringify({ _id: insert(backend, transaction, table, fields, frame.limits) });
  },
  "1.0/shallowMerge": (backend, frame, transaction, { id, value }) => {
    const { table, document } = existing(backend, frame, transaction, id);
    const next: Record<string, unknown> = { ...document };
    // [10] What changes nothing writes nothing.
    let isChanged = false;
    for (const [field, json] of Object.entries(value as Record<string, JSONValue>)) {
      const to = valueOf(json);
      if (compare(document[field] as Value | undefined, to) === 0) continue;
      isChanged = true;
      if (to === undefined) delete next[field];
      else next[field] = to;
    }
    // It has the id and the time of creation of the one that it replaces.
    if (isChanged) transaction.put(table, id, next as Document, frame.limits);
    return "{}";
  },
  "1.0/replace": (backend, frame, transaction, { id, value }) => {
    const { table, document } = existing(backend, frame, transaction, id);
    const { _id, _creationTime } = document;
    const next: Document = { ...(jsonToConvex(value) as object), _id, _creationTime };
    // [10] What changes nothing writes nothing.
    if (compareValues(asValue(next), asValue(document)) !== 0)
      transaction.put(table, id, next, frame.limits);
    return "{}";
  },
  "1.0/remove": (backend, frame, transaction, { id }) => {
    const { table } = existing(backend, frame, transaction, id);
    transaction.put(table, id, undefined, frame.limits);
    return "{}";
  },
  "1.0/getTransactionMetrics": (_backend, { limits }, { usage }) => {
    const of = (kind: keyof Usage) => ({
      used: usage[kind],
      remaining: Math.max(0, limits[kind] - usage[kind]),
    });
    const kinds = Object.keys(usage) as (keyof Usage)[];
    return JSON.stringify(Object.fromEntries(kinds.map((kind) => [kind, of(kind)])));
  },
  "1.0/runUdf": nested,
  "1.0/schedule": (backend, frame, transaction, args) =>
    JSON.stringify(schedule(backend, frame, transaction, args)),
  "1.0/cancel_job": (backend, frame, transaction, { id }) => {
    cancel(backend, frame, transaction, id);
    return "null";
  },
};

/** System calls that an action has too. */
export const ANYWHERE: Readonly<
  Record<string, (backend: Backend, frame: Frame, of: unknown, args: Args) => string>
> = {
  "1.0/getFunctionMetadata": (_backend, { path: { component, name } }) =>
    JSON.stringify({ name, componentPath: component }),
  "1.0/getDeploymentMetadata": (backend) =>
    JSON.stringify({ name: "simulated", region: null, class: backend.of.name }),
  "1.0/getRequestMetadata": (_backend, { job }) =>
    JSON.stringify({
      ip: null,
      userAgent: null,
      requestId: "",
      scheduledFunctionId: job?.id ?? null,
      authToken: null,
    }),
  "1.0/getUserIdentity": () => "null",
  "1.0/createFunctionHandle": (backend, { path }, _transaction, args) => {
    const target = targetOf(path.component, args);
    backend.functions.get(target);
    return JSON.stringify(handleOf(target));
  },
};

/** [11] Reads only the point of its own new id. */
function insert(
  { draws }: Backend,
  transaction: Transaction,
  table: StoredTable,
  fields: object,
  limits: Readonly<Usage>,
): string {
  const _id = draws.id(table.number);
  transaction.reads.point(table, _id);
  const document = { ...fields, _creationTime: transaction.creationTime(), _id };
  transaction.put(table, _id, document as Document, limits);
  return _id;
}

/** [10] What writes a document reads it first. */
function existing({ store }: Backend, frame: Frame, transaction: Transaction, id: string) {
  const table = store.tableOf(id);
  const isOwn = table !== undefined && table.component === frame.path.component;
  const document = isOwn ? transaction.get(table, id, frame.limits) : undefined;
  if (table === undefined || document === undefined)
    throw new CallError(`Update on nonexistent document ID ${id}.`);
  return { table, document };
}

// A document's fields are Convex values; its type says less.
const asValue = (document: Document) => document as unknown as Value;

/** [26] [28] In the same transaction; what throws is rolled back. */
async function nested(
  backend: Backend,
  frame: Frame,
  transaction: Transaction,
  { udfType, args, transactionLimits = {}, ...address }: Args,
): Promise<string> {
  if (frame.depth >= MOST_DEEP) throw new CallError("Calls are nested too deep.");
  const target = targetOf(frame.path.component, address);
  const isStale = udfType === "snapshotQuery";
  // [7] A fresh read set, and limits that begin anew.
  const within = isStale
    ? new Transaction(backend.staleSnapshot(transaction), transaction.firstCreation, true)
    : transaction;
  const limits = { ...frame.limits };
  for (const kind of Object.keys(transactionLimits) as (keyof Usage)[])
    limits[kind] = Math.min(limits[kind], within.usage[kind] + (transactionLimits[kind] ?? 0));
  const { mark } = transaction;
  transaction.nestedCalls += 1;
  try {
    return await backend.invoke(
      {
        ...frame,
        path: target,
        type: udfType === "mutation" ? "mutation" : "query",
        transaction: within,
        limits,
        depth: frame.depth + 1,
        globals: new Map(),
        queries: new Map(),
        line: Promise.resolve(),
      },
      JSON.stringify(args),
    );
  } catch (error) {
    if (!isStale) transaction.rollBackTo(mark);
    throw error;
  } finally {
    if (isStale) add(transaction.staleUsage, within.usage);
  }
}

/** [32] A new row, so that scheduling conflicts with nothing. */
export function schedule(
  backend: Backend,
  { path, job: by, limits }: Frame,
  transaction: Transaction,
  { args, ts, ...address }: Args,
): string {
  const { store } = backend;
  const target = targetOf(path.component, address);
  backend.functions.get(target);
  const json = JSON.stringify(args);
  if (json.length > MOST_ARGS_BYTES) throw new CallError("The arguments are too large.");
  const { usage } = transaction;
  usage.functionsScheduled += 1;
  usage.scheduledFunctionArgsBytes += json.length;
  // [42] Whoever schedules from within a scheduled function reads its row.
  const row = by === undefined ? undefined : rowOf(transaction, by);
  // [41] What a canceled one schedules is canceled.
  const kind = row?.state.kind === "canceled" ? "canceled" : "pending";
  const table = store.table(path.component, JOBS);
  const dueAt = Math.max(ts * 1_000, backend.wall());
  const { name } = target;
  const fields = { name, args: [jsonToConvex(args)], scheduledTime: ts * 1_000, state: { kind } };
  const id = insert(backend, transaction, table, fields, limits);
  if (kind === "pending")
    transaction.jobs.set(id, { id, table, target, args: json, dueAt, systemErrors: 0 });
  transaction.check(limits);
  return id;
}

/** [41] */
export function cancel(
  backend: Backend,
  { path, job: by, type }: Frame,
  transaction: Transaction,
  id: string,
): void {
  // [43]
  if (by?.id === id && type === "mutation") {
    if (!backend.of.selfCancelFails) return;
    throw new CallError("A scheduled mutation cannot cancel itself.");
  }
  const table = backend.store.table(path.component, JOBS);
  const row = rowOf(transaction, { table, id });
  if (row?.state.kind === "pending" || row?.state.kind === "inProgress")
    transaction.put(table, id, { ...row, state: { kind: "canceled" } });
}

/** A row of `_scheduled_functions`. */
export type JobRow = Document & {
  readonly state: { readonly kind: "pending" | "inProgress" | "success" | "failed" | "canceled" };
};

/** [32] Without the arguments, so it counts for no limit of the user's. */
export function rowOf(
  transaction: Transaction,
  { table, id }: Pick<Job, "table" | "id">,
): JobRow | undefined {
  transaction.reads.point(table, id);
  // Nobody else writes to that table.
  return transaction.current(table, id) as JobRow | undefined;
}
