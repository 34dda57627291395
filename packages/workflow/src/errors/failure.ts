import { isNonRetryableError } from "@stepwise/workpool/core";
import { ConvexError, convexToJson, getConvexSize, type Value } from "convex/values";
import type { ErrorKind, StepError } from "../definition/step-error.js";
import { misshapeOf } from "../shape.js";

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
  if (unfit !== undefined)
    return { kind, message: shortened(message, ` (${unfit.slice(0, 400)})`) };
  return { kind, message: shortened(message), ...(data === undefined ? {} : { data }) };
}

/** Why data cannot be kept; undefined where it can. */
function unfitness(data: Value): string | undefined {
  try {
    convexToJson(data);
  } catch {
    return "its data is no Convex value";
  }
  const bytes = getConvexSize(data);
  if (bytes > MAX_DATA_BYTES)
    return `its data takes ${bytes} bytes; at most ${MAX_DATA_BYTES} are kept`;
  const misshape = misshapeOf(data, "its data", MAX_DATA_DEPTH);
  return misshape?.isTooLarge === true ? `its data ${misshape.text}` : misshape?.text;
}

/** An error of a function that was called carries the platform's prefix and the stack in its message. Others have a message that is no text. */
export function cleaned(message: unknown): string {
  if (typeof message !== "string") return readable(message);
  if (!message.startsWith("Uncaught ")) return message;
  return message.replace(/^Uncaught (?:\w*Error: )?/, "").replace(/\n\s+at [\s\S]*$/, "");
}

/** @param tail is kept whole. What was shortened once is not shortened again: on its way out of nested calls an error is described anew. */
function shortened(message: string, tail = ""): string {
  if (message.length + tail.length <= MAX_MESSAGE_LENGTH) return message + tail;
  const end = ` … (${message.length} characters)${tail}`;
  return message.slice(0, MAX_MESSAGE_LENGTH - end.length) + end;
}

function readable(thrown: unknown): string {
  try {
    return textOf(thrown);
  } catch {
    return `[unreadable ${typeof thrown}]`;
  }
}

/** As JSON has it, and what JSON does not know as it is called in code. @param above what it is part of. */
function textOf(value: unknown, above: readonly unknown[] = []): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? String(value);
  if (above.includes(value)) return "[cyclic]";
  const inside = (each: unknown) => textOf(each, [...above, value]);
  if (Array.isArray(value)) return `[${value.map(inside).join(",")}]`;
  if (value instanceof Map) return `Map ${inside([...value])}`;
  if (value instanceof Set) return `Set ${inside([...value])}`;
  if (value instanceof Error) return String(value);
  if ("toJSON" in value) return JSON.stringify(value) ?? String(value);
  const fields = Object.entries(value).map(
    ([name, field]) => `${JSON.stringify(name)}:${inside(field)}`,
  );
  return `{${fields.join(",")}}`;
}
