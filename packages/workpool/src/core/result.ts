import { ConvexError, type Infer, v, type Validator, type Value } from "convex/values";
import { isPlain, isPromise, literalText } from "./literal.js";
import { YEAR_MS } from "./times.js";

export const oneOf = <Word extends string>(...words: readonly Word[]) =>
  v.union(...words.map((word) => v.literal(word)));

/** How a work ended. */
export type RunResult<Returns = any> =
  | { kind: "success"; returnValue: Returns }
  /**
   * `errorData` is the data of the `ConvexError` that was thrown, if it was one. If that cannot be
   * kept, as it takes more than 1 MB, `error` says so.
   */
  | { kind: "failed"; error: string; errorData?: any }
  | { kind: "canceled" };

/** Validates the result of a work. @param returns the validator of what its function returns. */
export function vRunResult<Returns extends Validator<any, "required", any>>(returns: Returns) {
  return v.union(
    v.object({ kind: v.literal("success"), returnValue: returns }),
    v.object({
      kind: v.literal("failed"),
      error: v.string(),
      errorData: v.optional(v.any()),
    }),
    v.object({ kind: v.literal("canceled") }),
  );
}

/** Validates the result of a work that may return anything. */
export const vResult = vRunResult(v.any());

export const vResultKind = oneOf("success", "failed", "canceled");

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

/** What `retry: true` means. */
export const DEFAULT_RETRY_BEHAVIOR = { maxAttempts: 5, initialBackoffMs: 250, base: 2 };

/**
 * The wait in ms before the next attempt: `initialBackoffMs · base^(attempt−1)` times a random
 * factor in [0.5, 1.5). @param attempt the attempt that failed, from 1.
 */
export function retryDelayMs(retry: RetryBehavior, attempt: number): number {
  const backoff = retry.initialBackoffMs * retry.base ** (attempt - 1) * (0.5 + Math.random());
  return Math.min(backoff, retry.maxBackoffMs ?? YEAR_MS);
}

/** @throws where no attempt or no wait could be made of it. @param option what messages call it. */
export function checkRetryBehavior(retry: RetryBehavior, option = "retry"): void {
  if (!isPlain(retry)) {
    const must =
      option === "retry" ? "it must be true, false or an object" : "it must be an object";
    throw new Error(`${option} is ${literalText(retry)}: ${must}`);
  }
  const { maxAttempts, initialBackoffMs, base, maxBackoffMs = 0 } = retry;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
    throw new Error(
      `${option}.maxAttempts is ${literalText(maxAttempts)}: it must be a whole number from 1`,
    );
  const waits = { initialBackoffMs, base, maxBackoffMs };
  for (const [field, value] of Object.entries(waits))
    if (!Number.isFinite(value) || value < 0)
      throw new Error(
        `${option}.${field} is ${literalText(value)}: it must be a finite number from 0`,
      );
}

/** The original's, so that its `NonRetryableError` counts as well. */
const MARKER = "__convexWorkpoolNonRetryable";

/** Thrown by a function that must not be retried. Its data marks it, also across nested calls. */
export class NonRetryableError extends ConvexError<{
  [MARKER]: true;
  message: string;
  data?: Value;
}> {
  /** @param data kept as the error's data, as that of a `ConvexError` is. Default: none. */
  constructor(message: string, data: Value = null) {
    const text = textOf(message);
    super({ [MARKER]: true, message: text, ...(data === null ? {} : { data }) });
    this.name = "NonRetryableError";
    this.message = text;
  }
}

/**
 * Says whether it was thrown as a {@link NonRetryableError}, even by another copy of this package.
 */
export function isNonRetryableError(error: unknown): error is NonRetryableError {
  const isMarked = () => error instanceof Error && "data" in error && MARKER in Object(error.data);
  return tryTo(isMarked, false);
}

/** What is thrown may be anything, even what throws when it is read. */
export function tryTo<Result>(read: () => Result, otherwise: Result): Result {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** The text of a message, which JavaScript lets be anything, such as another error. */
export const textOf = (message: unknown): string =>
  typeof message === "string" ? message : messageOf(message);

/** An error's message with those of its causes; of a {@link NonRetryableError}, as it was made. */
export function wholeMessageOf(error: unknown): string {
  const read = () => {
    if (isNonRetryableError(error)) return error.data.message;
    if (isPromise(error)) return literalText(error);
    return error instanceof Error ? withCauses(error.message, error) : String(error);
  };
  return wellFormed(String(tryTo(read, "an error that cannot be read")));
}

/** The same, or the beginning of it, so that it can be stored. */
export const messageOf = (error: unknown): string =>
  shortened(wholeMessageOf(error), LONGEST_MESSAGE);

/** A message is written into documents, beside others. */
export const LONGEST_MESSAGE = 64_000;

/**
 * The beginning of a text that is too long. One that is shortened is not shortened again.
 * @param most how many characters it may have. @param tail follows it, and is kept whole.
 */
export function shortened(text: string, most: number, tail = ""): string {
  if (text.length + tail.length <= most) return wellFormed(text + tail);
  const end = ` … (${text.length} characters)${tail}`;
  return wellFormed(text.slice(0, most - end.length) + end);
}

/** What a message says of a text that has one. */
export const HALF_PAIR =
  "half a surrogate pair, as of an emoji that was cut in two: cut it by [...text], not by its units";

/** A text without half surrogate pairs, which a strict JSON parser of the back end refuses. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\uFFFD");

/** How many causes a message tells of: a chain of causes may be a circle. */
const MAX_CAUSES = 5;

/** A message with those of the error's causes: `fetch failed: connect ECONNREFUSED ::1:80`. */
export function withCauses(message: string, error: Error): string {
  let text = message;
  try {
    let { cause } = error;
    for (let told = 0; told < MAX_CAUSES && cause != null; told++) {
      const said = saidBy(cause);
      if (!text.includes(said)) text += `: ${said}`;
      cause = Object(cause).cause;
    }
  } catch {
    // A cause may be anything, even what throws when it is read.
  }
  return text;
}

/**
 * Returns what a cause says; of several errors without a message, as of `fetch`, what each says.
 */
function saidBy(cause: unknown): string {
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : "";
  if (cause.message !== "" || !(cause instanceof AggregateError)) return String(cause.message);
  return cause.errors.map(saidBy).join("; ");
}
