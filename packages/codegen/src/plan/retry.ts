export interface Retry {
  readonly maxAttempts: number;
  readonly initialBackoffMs: number;
  readonly base: number;
  readonly maxBackoffMs?: number;
}

const once: Retry = { maxAttempts: 1, initialBackoffMs: 0, base: 1 };
const usual: Retry = { maxAttempts: 5, initialBackoffMs: 250, base: 2 };

/** The longest that the jitter makes a wait, as a factor. */
const maxJitter = 1.5;

/** A literal `retry`, as it is used; none is one attempt. */
export function retryOf(value: unknown): Retry {
  if (value === true) return usual;
  if (typeof value !== "object" || value === null) return once;
  return { ...usual, ...value };
}

/** The longest that all waits together can be, in ms. */
export function longestWaits({ maxAttempts, initialBackoffMs, base, maxBackoffMs }: Retry): number {
  let total = 0;
  for (let attempt = 1; attempt < maxAttempts; attempt++) {
    const wait = initialBackoffMs * base ** (attempt - 1) * maxJitter;
    total += Math.min(wait, maxBackoffMs ?? Number.POSITIVE_INFINITY);
  }
  return total;
}
