import type { Document } from "../indexed/order.js";
import type { Job } from "./job.js";
import type { Scheduler } from "./scheduler.js";
import { JOBS, type Store, type StoredTable } from "./store.js";

/** All documents of a moment, and what was scheduled. */
export interface Backup {
  readonly tables: readonly (readonly [StoredTable, ReadonlyMap<string, Document>])[];
  readonly jobs: readonly Job[];
}

export function takeBackup(store: Store, { jobs }: Scheduler): Backup {
  const tables = store.tables.map((table) => [table, new Map(table.documents.documents)] as const);
  return { tables, jobs };
}

/** One part of a backup comes back: the documents, or the scheduled functions. */
export function bringBack(
  scheduler: Scheduler,
  { tables, jobs }: Backup,
  older: "documents" | "functions",
): void {
  for (const [{ name, documents }, before] of tables) {
    if ((name === JOBS) !== (older === "functions")) continue;
    for (const id of documents.documents.keys()) if (!before.has(id)) documents.set(id, undefined);
    for (const [id, document] of before) documents.set(id, document);
  }
  if (older === "functions") scheduler.reset(jobs);
}

/** Scheduled functions are in no backup. */
export function dropJobs(store: Store, scheduler: Scheduler): void {
  scheduler.reset();
  for (const { name, documents } of store.tables)
    if (name === JOBS) for (const id of documents.documents.keys()) documents.set(id, undefined);
}
