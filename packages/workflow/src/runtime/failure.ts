import { isNonRetryableError } from "@stepwise/workpool/core";
import { ConvexError, type Value } from "convex/values";
import type { ErrorKind, StepError } from "../definition/step-error.js";

/** What went wrong, before it is known where: a `StepError` without its place. */
export type Problem = Pick<StepError, "message" | "kind" | "data">;

/** An error is written into documents, and into those of every parent above. */
const MAX_MESSAGE_LENGTH = 8_000;

const MARKER = "~stepwise";

/** A failure that the run time itself found. It keeps its kind across nested calls, where classes do not survive. */
export class Failure extends ConvexError<{ [MARKER]: Problem }> {
  constructor(kind: ErrorKind, message: string, data?: Value) {
    super({ [MARKER]: { kind, message, ...(data === undefined ? {} : { data }) } });
    this.message = message;
  }
}

/** What was thrown, as a problem that can be stored: whatever it was, it stays readable. */
export function describeThrown(thrown: unknown): Problem {
  if (thrown instanceof ConvexError) {
    const data = thrown.data as Value;
    if (isMarked(data)) return data[MARKER];
    if (isNonRetryableError(thrown)) return nonRetryable(thrown.data);
    const message = typeof data === "string" ? data : cleaned(thrown.message);
    return { kind: "thrown", message: shortened(message), data };
  }
  if (thrown instanceof Error)
    return { kind: "thrown", message: shortened(cleaned(thrown.message)) };
  return { kind: "thrown", message: shortened(`Thrown: ${readable(thrown)}`) };
}

function isMarked(data: Value): data is { [MARKER]: Problem } {
  return typeof data === "object" && data !== null && MARKER in data;
}

function nonRetryable({ message, data }: { message: string; data: Value }): Problem {
  return { kind: "nonRetryable", message: shortened(message), ...(data === null ? {} : { data }) };
}

/** An error of a function that was called carries the platform's prefix and the stack in its message. */
function cleaned(message: string): string {
  return message.replace(/^(?:Uncaught )?(?:\w*Error: )?/, "").replace(/\n\s+at [\s\S]*$/, "");
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH
    ? message
    : `${message.slice(0, MAX_MESSAGE_LENGTH)} … (${message.length} characters)`;
}

function readable(thrown: unknown): string {
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return String(thrown);
  }
}
