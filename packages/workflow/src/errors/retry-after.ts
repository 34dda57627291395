import {
  type Answered,
  RetryAfter as Core,
  retryAfterMs,
  type RetryAfterOptions as Options,
} from "@stepwise/workpool/core";
import type { Value } from "convex/values";
import type { Registered } from "../definition/limits.js";
import { atMostYear, type Duration, durationMs } from "../rules.js";

export { askedBy } from "@stepwise/workpool/core";

/** What a {@link RetryAfter} says in addition to the time. */
export type RetryAfterOptions = Options<keyof Registered & string>;

/**
 * Thrown by the action of a step that may be tried again: says when. Its data marks it, also when
 * it comes out of a nested call.
 */
export class RetryAfter extends Core {
  /**
   * @param after how long from now, or the time itself; at most a year.
   * @param options with `holds: "openai"`, a limit of the step starts nothing until then, and the
   *   attempt does not count. A text is the message. Default: a message that says the time.
   * @param data kept as the error's data, as that of a `ConvexError` is. Default: null.
   * @throws if it is neither a duration nor a date.
   */
  constructor(after: Duration | Date, options?: string | RetryAfterOptions, data?: Value) {
    super(new Date(timeOf(after)), options, data);
  }
}

function timeOf(after: Duration | Date): number {
  const what = "The time of a RetryAfter";
  if (!(after instanceof Date)) return Date.now() + durationMs(after, what);
  if (Number.isNaN(after.getTime())) throw new Error(`${what} is an invalid date`);
  return Date.now() + atMostYear(after.getTime() - Date.now(), what, after.toISOString());
}

/**
 * Makes the {@link RetryAfter} to throw for a response of `fetch` that refuses the call for now,
 * such as 429 or 503. Its header `Retry-After` says when to call again.
 * @param options.otherwise how long from now, without that header. Default: `"10s"`.
 * @example
 * const response = await fetch(url, { signal: info.signal });
 * if (response.status === 429) throw retryAfter(response, { holds: "openai" });
 */
export function retryAfter(
  response: Answered,
  { otherwise = "10s", ...options }: RetryAfterOptions & { otherwise?: Duration } = {},
): RetryAfter {
  const message = `Answered with status ${response.status}`;
  return new RetryAfter(retryAfterMs(response) ?? otherwise, { message, ...options });
}
