import { ConvexError, type Value } from "convex/values";
import { atMostYear, type Duration, durationMs } from "../rules.js";

const MARKER = "~retryAfter";

/**
 * Thrown by the action of a step that may be tried again: says when. Its data marks it, also when it
 * comes out of a nested call.
 */
export class RetryAfter extends ConvexError<{ [MARKER]: number; message: string; data: Value }> {
  /**
   * @param after how long from now, or the time itself; at most a year.
   * @param message default: says the time.
   * @param data kept as the error's data, as that of a `ConvexError` is. Default: null.
   * @throws if it is neither a duration nor a date.
   */
  constructor(after: Duration | Date, message?: string, data: Value = null) {
    const at = timeOf(after);
    const text = message ?? `Asked to be tried again at ${new Date(at).toISOString()}`;
    super({ [MARKER]: at, message: text, data });
    this.name = "RetryAfter";
    this.message = text;
  }
}

function timeOf(after: Duration | Date): number {
  const what = "The time of a RetryAfter";
  if (!(after instanceof Date)) return Date.now() + durationMs(after, what);
  if (Number.isNaN(after.getTime())) throw new Error(`${what} is an invalid date`);
  return Date.now() + atMostYear(after.getTime() - Date.now(), what, after.toISOString());
}

/** What was thrown as a {@link RetryAfter}, even by another copy of this package. */
export function askedBy(thrown: unknown): { at: number; message: string; data: Value } | undefined {
  if (!(thrown instanceof ConvexError)) return undefined;
  const { [MARKER]: at, message, data } = Object(thrown.data) as RetryAfter["data"];
  return typeof at === "number" ? { at, message, data } : undefined;
}
