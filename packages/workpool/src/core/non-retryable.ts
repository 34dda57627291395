import { ConvexError, type Value } from "convex/values";

const MARKER = "~nonRetryable";

/**
 * Thrown by a function that shall not be tried again, whatever its retry behavior. It is known by its data, not by its class, so it
 * survives nested calls and serialisation.
 */
export class NonRetryableError extends ConvexError<{
  [MARKER]: true;
  message: string;
  data: Value;
}> {
  /**
   * @param message what went wrong.
   * @param data kept as the error's data, as that of a `ConvexError` is. Default: null.
   */
  constructor(message: string, data: Value = null) {
    super({ [MARKER]: true, message, data });
    this.name = "NonRetryableError";
    this.message = message;
  }
}

/**
 * Whether it was thrown as a {@link NonRetryableError}, here or in a function that was called. Told by what it holds: another copy of
 * this package, or of `convex`, may have made it.
 */
export function isNonRetryableError(error: unknown): error is NonRetryableError {
  if (!(error instanceof Error) || !("data" in error)) return false;
  return typeof error.data === "object" && error.data !== null && MARKER in error.data;
}

/** What an error says: of a {@link NonRetryableError} the message it was made with, of any other its own. */
export function messageOf(error: unknown): string {
  if (isNonRetryableError(error)) return error.data.message;
  return error instanceof Error ? error.message : String(error);
}
