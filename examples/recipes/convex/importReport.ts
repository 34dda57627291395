import type { Settled } from "@stepwise/workflow";
import type { Infer } from "convex/values";
import type { vReport } from "./schema";

export type Report = Infer<typeof vReport>;

/** Enough to see what is wrong. */
const MAX_PROBLEMS = 20;

export const emptyReport: Report = { imported: 0, failed: 0, problems: [] };

/** The report after one more record. */
export function withRecord(report: Report, record: Settled<unknown>): Report {
  return mergeReports(
    report,
    record.ok
      ? { imported: 1, failed: 0, problems: [] }
      : { imported: 0, failed: 1, problems: [record.error.message] },
  );
}

export function mergeReports(one: Report, other: Report): Report {
  return {
    imported: one.imported + other.imported,
    failed: one.failed + other.failed,
    problems: [...one.problems, ...other.problems].slice(0, MAX_PROBLEMS),
  };
}
