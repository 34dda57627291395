import { v, type Infer } from "convex/values";

/** How often and how soon a failed action is tried again. */
export const vRetryBehavior = v.object({
  /** How often it runs at most, the first time included. */
  maxAttempts: v.number(),
  /** The wait before the second attempt, in ms. */
  initialBackoffMs: v.number(),
  /** The factor by which the wait grows from one attempt to the next. */
  base: v.number(),
  /** No wait is longer than this, in ms. Default: a year. */
  maxBackoffMs: v.optional(v.number()),
});
export type RetryBehavior = Infer<typeof vRetryBehavior>;

/** The scheduler takes times up to five years ahead, and a backoff that grows without bound soon leaves them behind. */
const LONGEST_BACKOFF_MS = 365 * 24 * 60 * 60 * 1000;

/** What `retry: true` means. */
export const DEFAULT_RETRY_BEHAVIOR: RetryBehavior = {
  maxAttempts: 5,
  initialBackoffMs: 250,
  base: 2,
};

/**
 * The wait in ms between an attempt that failed and the next: `initialBackoffMs · base^(attempt−1)` times a random factor in
 * [0.5, 1.5), so that works that failed together do not come back together.
 * @param attempt the attempt that failed, from 1.
 */
export function retryDelayMs(retry: RetryBehavior, attempt: number): number {
  const backoff = retry.initialBackoffMs * retry.base ** (attempt - 1) * (0.5 + Math.random());
  return Math.min(backoff, retry.maxBackoffMs ?? LONGEST_BACKOFF_MS);
}

/** @throws where no attempt or no wait could be made of it. */
export function checkRetryBehavior(retry: RetryBehavior): void {
  const { maxAttempts, initialBackoffMs, base, maxBackoffMs = 0 } = retry;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
    throw new Error(`retry.maxAttempts is ${maxAttempts}: it must be a whole number from 1`);
  const waits = { initialBackoffMs, base, maxBackoffMs };
  for (const [field, value] of Object.entries(waits))
    if (!Number.isFinite(value) || value < 0)
      throw new Error(`retry.${field} is ${value}: it must be a finite number from 0`);
}
