import { DEFAULT_RETRY_BEHAVIOR } from "@stepwise/workpool/core";

const usual = { ...DEFAULT_RETRY_BEHAVIOR, maxBackoffMs: Infinity };

/** The longest that the jitter makes a wait, as a factor. */
const maxJitter = 1.5;

/** A literal `retry`, as it is used; none is one attempt. */
export function retryOf(value: unknown): typeof usual {
  if (value === true) return usual;
  if (typeof value !== "object" || value === null) return { ...usual, maxAttempts: 1 };
  return { ...usual, ...value };
}

/** The longest that all waits together can be, in ms. */
export function longestWaits({ maxAttempts, initialBackoffMs, base, maxBackoffMs }: typeof usual) {
  let total = 0;
  for (let attempt = 1; attempt < maxAttempts; attempt++)
    total += Math.min(initialBackoffMs * base ** (attempt - 1) * maxJitter, maxBackoffMs);
  return total;
}
