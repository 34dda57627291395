import { ConvexError, type Value } from "convex/values";
import { ANY, checkAllGiven, type Kinds, TEXT } from "./given.js";
import { literalText } from "./literal.js";
import { textOf, tryTo, wellFormed } from "./result.js";
import { YEAR_MS } from "./times.js";

const MARKER = "~retryAfter";

/** What a {@link RetryAfter} says in addition to the time. */
export interface RetryAfterOptions<Limit extends string = string> {
  /**
   * A limit of the work. Nothing of it starts until then, or nothing of the work's key if it has
   * keys. The attempt does not count, so it is tried again whatever `retry` says. Default: none.
   */
  readonly holds?: Limit;
  /** Default: says the time. */
  readonly message?: string;
  /** Kept as the error's data, as that of a `ConvexError` is. Default: null. */
  readonly data?: Value;
}

// A message may be anything that was thrown.
const OPTIONS: Kinds = { holds: TEXT, message: ANY, data: ANY };

interface Marked {
  [MARKER]: number;
  message: string;
  data: Value;
  holds?: string;
}

/** Thrown by an action that may be tried again: says when. Its data marks it, also across calls. */
export class RetryAfter<Limit extends string = string> extends ConvexError<
  Marked & Record<string, Value>
> {
  /**
   * @param after how many ms from now, or the time itself.
   * @param options a text is the message.
   * @throws if it is neither a number from 0 nor a date, or an option is none.
   */
  constructor(
    after: number | Date,
    options: string | RetryAfterOptions<Limit> = {},
    given: Value = null,
  ) {
    const at = timeOfRetry(after);
    if (typeof options !== "string") checkAllGiven("A RetryAfter", options, OPTIONS);
    const how = typeof options === "string" ? { message: options, data: given } : options;
    const text = textOf(how.message ?? `Asked to be tried again at ${new Date(at).toISOString()}`);
    const marked = { [MARKER]: at, message: text, data: how.data ?? given };
    super({ ...marked, ...(how.holds === undefined ? {} : { holds: how.holds }) });
    this.name = "RetryAfter";
    this.message = text;
  }
}

function timeOfRetry(after: number | Date): number {
  const ms: unknown = after instanceof Date ? after.getTime() - Date.now() : after;
  const at = typeof ms === "number" ? Date.now() + ms : NaN;
  const isPast = !(after instanceof Date) && after < 0;
  // A date tells no later time than its own last one.
  if (!Number.isNaN(new Date(at).getTime()) && !isPast) return at;
  throw new Error(
    `The time of a RetryAfter is ${after instanceof Date ? "an invalid date" : `${literalText(after)}: it must be a number of ms from 0, or a date`}`,
  );
}

/** Returns what was thrown as a {@link RetryAfter}, even by another copy of this package. */
export function askedBy(
  thrown: unknown,
): { at: number; message: string; data: Value; holds: string | undefined } | undefined {
  const marked: unknown = tryTo(() => thrown instanceof ConvexError && thrown.data, undefined);
  const { [MARKER]: at, message, data, holds } = Object(marked) as Marked;
  if (typeof at !== "number") return undefined;
  return {
    at,
    message: wellFormed(message),
    data,
    holds: typeof holds === "string" ? holds : undefined,
  };
}

/** The part of a response of `fetch` that says when to call again. */
export interface Answered {
  readonly headers: { get(name: string): string | null };
  readonly status: number;
}

/**
 * Returns how many ms from now the header `Retry-After` of a response asks to wait: it holds
 * seconds, or an HTTP date. Undefined if there is none that can be read.
 */
export function retryAfterMs({ headers }: Pick<Answered, "headers">): number | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, Math.ceil(ms)), YEAR_MS);
}

/**
 * Makes the error to throw for a response that refuses the call for now, such as 429 or 503. Its
 * header `Retry-After` says when to call again.
 * @param options.otherwise how many ms from now, without that header. Default: 10,000.
 * @example
 * const response = await fetch(url, { signal });
 * if (response.status === 429) throw retryAfter(response, { holds: "openai" });
 */
export function retryAfter<Limit extends string = string>(
  response: Answered,
  { otherwise = 10_000, ...options }: RetryAfterOptions<Limit> & { otherwise?: number } = {},
): RetryAfter<Limit> {
  const message = `Answered with status ${response.status}`;
  return new RetryAfter(retryAfterMs(response) ?? otherwise, { message, ...options });
}
