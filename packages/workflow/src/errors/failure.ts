import { isNonRetryableError } from "@stepwise/workpool/core";
import { ConvexError, convexToJson, getConvexSize, type Value } from "convex/values";
import type { ErrorKind, StepError } from "../definition/step-error.js";

/** What went wrong, before it is known where: a `StepError` without its place. */
export type Problem = Pick<StepError, "message" | "kind" | "data">;

/** An error is written into documents, and into those of every parent above. */
const MAX_MESSAGE_LENGTH = 8_000;
/** The same of its data. With the causes above it, it must not be nested more deeply than a document may be. */
const MAX_DATA_BYTES = 64 * 1024;
const MAX_DATA_DEPTH = 6;

const MARKER = "~stepwise";

/** A failure that the run time itself found. It keeps its kind across nested calls, where classes do not survive. */
export class Failure extends ConvexError<{ [MARKER]: Problem }> {
  constructor(kind: ErrorKind, message: string, data?: Value) {
    super({ [MARKER]: problemOf(kind, message, data) });
    this.message = message;
  }
}

/** What was thrown, as a problem that can be stored: whatever it was, it stays readable. It never throws itself. */
export function describeThrown(thrown: unknown): Problem {
  if (!(thrown instanceof Error)) return problemOf("thrown", `Thrown: ${readable(thrown)}`);
  if (!(thrown instanceof ConvexError)) return problemOf("thrown", cleaned(thrown.message));
  const data = thrown.data as Value;
  if (isMarked(data)) return data[MARKER];
  if (isNonRetryableError(thrown)) return nonRetryable(thrown.data);
  return problemOf("thrown", typeof data === "string" ? data : cleaned(thrown.message), data);
}

function isMarked(data: Value): data is { [MARKER]: Problem } {
  return typeof data === "object" && data !== null && MARKER in data;
}

function nonRetryable({ message, data }: { message: string; data: Value }): Problem {
  return problemOf("nonRetryable", message, data === null ? undefined : data);
}

/** A problem that fits into a document. Data that does not is left out, and the message says so. */
function problemOf(kind: ErrorKind, message: string, data?: Value): Problem {
  const unfit = data === undefined ? undefined : unfitness(data);
  if (unfit !== undefined) return { kind, message: `${shortened(message)} (its data ${unfit})` };
  return { kind, message: shortened(message), ...(data === undefined ? {} : { data }) };
}

function unfitness(data: Value): string | undefined {
  try {
    convexToJson(data);
  } catch {
    return "is no Convex value";
  }
  const bytes = getConvexSize(data);
  if (bytes > MAX_DATA_BYTES) return `takes ${bytes} bytes; at most ${MAX_DATA_BYTES} are kept`;
  if (depthOf(data) > MAX_DATA_DEPTH) return `is nested more than ${MAX_DATA_DEPTH} deep`;
  return undefined;
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** An error of a function that was called carries the platform's prefix and the stack in its message. Others have a message that is no text. */
function cleaned(message: unknown): string {
  if (typeof message !== "string") return readable(message);
  if (!message.startsWith("Uncaught ")) return message;
  return message.replace(/^Uncaught (?:\w*Error: )?/, "").replace(/\n\s+at [\s\S]*$/, "");
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
    return typeof thrown === "object" ? Object.prototype.toString.call(thrown) : String(thrown);
  }
}
