import type { Call, Entry, FunctionType } from "./call.js";
import { add, noUsage, type Usage } from "./usage.js";

export type CallFilter = (call: Call) => boolean;

/** Sums over calls. */
export interface Totals extends Usage {
  /** Entered by the scheduler, a client or an action: what a deployment bills as a call. */
  rootExecutions: number;
  /** Every function that ran, nested ones too. */
  executions: number;
  failures: number;
}

/** All calls of one function that were entered in one way. */
export interface FunctionRow {
  readonly component: string;
  readonly name: string;
  readonly type: FunctionType;
  readonly how: Entry;
  n: number;
  failures: number;
  /** What the function itself used, without what it called. */
  usage: Usage;
}

export function totals(calls: readonly Call[], filter: CallFilter = () => true): Totals {
  const sum: Totals = { ...noUsage(), rootExecutions: 0, executions: 0, failures: 0 };
  for (const call of calls) {
    if (!filter(call)) continue;
    sum.executions += 1;
    if (call.how !== "nested") sum.rootExecutions += 1;
    if (call.failed) sum.failures += 1;
    // What was used by the calls themselves adds up to what all of them used: nothing twice.
    add(sum, call.self);
  }
  return sum;
}

export function byFunction(calls: readonly Call[], filter: CallFilter = () => true): FunctionRow[] {
  const rows = new Map<string, FunctionRow>();
  for (const call of calls) {
    if (!filter(call)) continue;
    const { component, name, type, how } = call;
    const key = [component, name, how].join("\n");
    const row = rows.get(key) ?? {
      component,
      name,
      type,
      how,
      n: 0,
      failures: 0,
      usage: noUsage(),
    };
    rows.set(key, row);
    row.n += 1;
    if (call.failed) row.failures += 1;
    add(row.usage, call.self);
  }
  // By code units, so that the order is the same under every locale.
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
