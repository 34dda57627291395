import {
  isNonRetryableError,
  shortened as shortenedTo,
  textOf as messageText,
  tryTo,
  withCauses,
  withData,
} from "@stepwise/workpool/core";
import { ConvexError, type Value } from "convex/values";
import type { ErrorKind, StepError } from "../definition/context.js";
import { askedBy } from "./retry-after.js";

export type Problem = Pick<StepError, "message" | "kind" | "data">;

/** An error is written into the documents of its run and of every parent above. */
const MAX_MESSAGE_LENGTH = 8_000;
/** With its causes, the data must not be nested more deeply than a document can be. */
const MOST = { message: MAX_MESSAGE_LENGTH, bytes: 64 * 1024, depth: 6 };

const MARKER = "~stepwise";

/** A failure that the run time found. It keeps its kind across nested calls. */
export class Failure extends ConvexError<{ [MARKER]: Problem }> {
  constructor(kind: ErrorKind, message: string, data?: Value) {
    super({ [MARKER]: problemOf(kind, message, data) });
    this.message = message;
  }

  /** Anything that was thrown, as a failure: it keeps its kind. @param where begins the message. */
  static from(thrown: unknown, where = ""): Failure {
    const { kind, message, data } = describeThrown(thrown);
    return new Failure(kind, where + message, data);
  }
}

/** Anything that was thrown, as a readable problem that can be stored. It never throws itself. */
export function describeThrown(thrown: unknown): Problem {
  return (
    tryTo(() => described(thrown), undefined) ??
    problemOf("thrown", "Thrown: an object that cannot be read")
  );
}

function described(thrown: unknown): Problem {
  if (!(thrown instanceof Error)) return problemOf("thrown", `Thrown: ${readable(thrown)}`);
  if (!(thrown instanceof ConvexError))
    return problemOf("thrown", withCauses(cleaned(thrown.message), thrown));
  const data = thrown.data as Value;
  if (isMarked(data)) return data[MARKER];
  const asked = askedBy(thrown);
  if (asked !== undefined) return problemOf("thrown", asked.message, asked.data ?? undefined);
  if (isNonRetryableError(thrown)) {
    const { message, data: given } = thrown.data;
    return problemOf("nonRetryable", messageText(message), given ?? undefined);
  }
  return problemOf("thrown", typeof data === "string" ? data : cleaned(thrown.message), data);
}

function isMarked(data: Value): data is { [MARKER]: Problem } {
  return typeof data === "object" && data !== null && MARKER in data;
}

/** A problem that fits into a document. Its message says if data was dropped. */
function problemOf(kind: ErrorKind, message: string, data?: Value): Problem {
  return { kind, ...withData(message, data, MOST) };
}

/** A message without the platform's prefix and stack. It may be no text. */
export function cleaned(message: unknown): string {
  if (typeof message !== "string") return readable(message);
  if (!message.startsWith("Uncaught ")) return message;
  return message.replace(/^Uncaught (?:\w*Error: )?/, "").replace(/\n\s+at [\s\S]*$/, "");
}

export const shortened = (message: string): string => shortenedTo(message, MAX_MESSAGE_LENGTH);

function readable(thrown: unknown): string {
  try {
    return textOf(thrown);
  } catch {
    return `[unreadable ${typeof thrown}]`;
  }
}

/** Returns JSON, with what JSON lacks as code has it. @param above what it is part of. */
function textOf(value: unknown, above: readonly unknown[] = []): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? String(value);
  if (above.includes(value)) return "[cyclic]";
  const inside = (each: unknown) => textOf(each, [...above, value]);
  if (Array.isArray(value)) return `[${value.map(inside).join(",")}]`;
  if (value instanceof Map) return `Map ${inside([...value])}`;
  if (value instanceof Set) return `Set ${inside([...value])}`;
  if (value instanceof Error) return String(value);
  if ("toJSON" in value) return JSON.stringify(value) ?? String(value);
  const fields = Object.entries(value).map(
    ([key, field]) => `${JSON.stringify(key)}:${inside(field)}`,
  );
  return `{${fields.join(",")}}`;
}
