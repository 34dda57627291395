import { type Infer, v } from "convex/values";

/** How many attempts ended in which way. */
export const vCounts = v.object({
  succeeded: v.number(),
  /** Failed for good. */
  failed: v.number(),
  /** Failed, and to be tried again. */
  retries: v.number(),
  canceled: v.number(),
});
export type Counts = Infer<typeof vCounts>;
export type Counted = keyof Counts;

export const NOTHING_COUNTED: Counts = { succeeded: 0, failed: 0, retries: 0, canceled: 0 };

export function addCounts(a: Counts, b: Counts): Counts {
  return {
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    retries: a.retries + b.retries,
    canceled: a.canceled + b.canceled,
  };
}

/** What was added to `before` to make it `after`. Never negative: a slot that `maxParallelism` removed took its counts along. */
export function countsSince(before: Counts, after: Counts): Counts {
  const since = (what: Counted) => Math.max(0, after[what] - before[what]);
  return {
    succeeded: since("succeeded"),
    failed: since("failed"),
    retries: since("retries"),
    canceled: since("canceled"),
  };
}

export function anythingIn(counts: Counts): boolean {
  return Object.values(counts).some((count) => count > 0);
}
