import type { TransactionMetrics } from "convex/server";

/** What transactions read, wrote and scheduled, as convex-test accounts for it. */
export interface Usage {
  documentsRead: number;
  bytesRead: number;
  documentsWritten: number;
  bytesWritten: number;
  databaseQueries: number;
  functionsScheduled: number;
  scheduledFunctionArgsBytes: number;
}

const READS = ["documentsRead", "bytesRead", "databaseQueries"] as const;
const WRITES = [
  "documentsWritten",
  "bytesWritten",
  "functionsScheduled",
  "scheduledFunctionArgsBytes",
] as const;
const KEYS = [...READS, ...WRITES];

export function noUsage(): Usage {
  return {
    documentsRead: 0,
    bytesRead: 0,
    documentsWritten: 0,
    bytesWritten: 0,
    databaseQueries: 0,
    functionsScheduled: 0,
    scheduledFunctionArgsBytes: 0,
  };
}

/** What the running transaction has used so far, everything above and below this call included. */
export function usageOf(metrics: TransactionMetrics): Usage {
  const usage = noUsage();
  for (const key of KEYS) usage[key] = metrics[key].used;
  return usage;
}

/** Adds `more` to `usage` in place. */
export function add(usage: Usage, more: Usage): void {
  for (const key of KEYS) usage[key] += more[key];
}

export function difference(after: Usage, before: Usage): Usage {
  const usage = noUsage();
  for (const key of KEYS) usage[key] = after[key] - before[key];
  return usage;
}

/** Takes back the writes, in place. The reads stay: a transaction that was rolled back did read. */
export function undoWrites(usage: Usage): void {
  for (const key of WRITES) usage[key] = 0;
}
