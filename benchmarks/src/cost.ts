import type { Totals } from "@stepwise/testing";
import type { ChainRun } from "./back-end.js";

/** What one step, or one work, takes. */
export interface Cost {
  readonly rootExecutions: number;
  /** Those until the work had ended, without what the engine does then until it rests. */
  readonly rootToEnd?: number | undefined;
  readonly executions: number;
  readonly documentsRead: number;
  readonly documentsWritten: number;
  readonly kbRead: number;
  /**
   * Virtual ms in which nothing of the app's own ran, of a work those in which a slot was free;
   * undefined where that is not looked at.
   */
  readonly waitMs?: number | undefined;
}

/**
 * What each of the steps takes by which one chain is longer than another: start and end cancel out.
 */
export function costOfStep(longer: ChainRun, shorter: ChainRun, steps: number, ms = 0): Cost {
  const each = (of: (run: ChainRun) => number) => (of(longer) - of(shorter)) / steps;
  return {
    rootExecutions: each((run) => run.totals.rootExecutions),
    executions: each((run) => run.totals.executions),
    documentsRead: each((run) => run.totals.documentsRead),
    documentsWritten: each((run) => run.totals.documentsWritten),
    kbRead: each((run) => run.totals.bytesRead / 1024),
    waitMs: each((run) => run.virtualMs) - ms,
  };
}

/** What each of some works takes. */
export function costOfWork(totals: Totals, works: number): Cost {
  return {
    rootExecutions: totals.rootExecutions / works,
    executions: totals.executions / works,
    documentsRead: totals.documentsRead / works,
    documentsWritten: totals.documentsWritten / works,
    kbRead: totals.bytesRead / 1024 / works,
  };
}

/** What one thing takes beyond another. */
export function difference(one: Cost, other: Cost): Cost {
  return {
    rootExecutions: one.rootExecutions - other.rootExecutions,
    executions: one.executions - other.executions,
    documentsRead: one.documentsRead - other.documentsRead,
    documentsWritten: one.documentsWritten - other.documentsWritten,
    kbRead: one.kbRead - other.kbRead,
    rootToEnd: beyond(one.rootToEnd, other.rootToEnd),
    waitMs: beyond(one.waitMs, other.waitMs),
  };
}

function beyond(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one - other;
}
