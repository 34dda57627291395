import {
  isNonRetryableError,
  textOf as messageText,
  tryTo,
  wellFormed,
  withCauses,
} from "@stepwise/workpool/core";
import { ConvexError, convexToJson, getConvexSize, type Value } from "convex/values";
import type { ErrorKind, StepError } from "../definition/context.js";
import { misshapeOf } from "../shape.js";
import { askedBy } from "./retry-after.js";

export type Problem = Pick<StepError, "message" | "kind" | "data">;

/** An error is written into the documents of its run and of every parent above. */
const MAX_MESSAGE_LENGTH = 8_000;
/** With its causes, the data must not be nested more deeply than a document can be. */
const MAX_DATA_BYTES = 64 * 1024;
const MAX_DATA_DEPTH = 6;

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
  const unfit = data === undefined ? undefined : unfitness(data);
  if (unfit !== undefined)
    return { kind, message: shortened(message, ` (${unfit.slice(0, 400)})`) };
  return { kind, message: shortened(message), data };
}

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

/** A message without the platform's prefix and stack. It may be no text. */
function cleaned(message: unknown): string {
  if (typeof message !== "string") return readable(message);
  if (!message.startsWith("Uncaught ")) return message;
  return message.replace(/^Uncaught (?:\w*Error: )?/, "").replace(/\n\s+at [\s\S]*$/, "");
}

/** @param tail is kept whole. A shortened message is not shortened again. */
export function shortened(message: string, tail = ""): string {
  if (message.length + tail.length <= MAX_MESSAGE_LENGTH) return wellFormed(message + tail);
  const end = ` … (${message.length} characters)${tail}`;
  return wellFormed(message.slice(0, MAX_MESSAGE_LENGTH - end.length) + end);
}

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

/** How Convex and convex-test refuse arguments or a result, or show a value. */
const SHOWS_VALUES =
  /^(?:ArgumentValidationError|ReturnsValidationError|Validator error)\b|\bin original object /;

/** The kinds of errors whose messages the app or a schema writes. */
const WRITTEN_BY_APP: readonly Problem["kind"][] = ["thrown", "nonRetryable", "invalidInput"];

/** The end of a message that was written here, or in place of one of the app. */
const NOT_SHOWN = /(?:is|are) not shown, as [\w ]+ sensitive$/;

/** Where a list or an object is too large, which tells the names of fields. */
const PLACE = / at [^]*(?=; (?:a list|an object) can have at most)/;

/** The problem of a sensitive node without its values, and without the names of their fields. */
export function withoutValues(problem: Problem, why = "the node is sensitive"): Problem {
  const { data: _data, ...rest } = withoutShownValues(problem, why);
  const { kind, message } = rest;
  if (NOT_SHOWN.test(message)) return rest;
  if (WRITTEN_BY_APP.includes(kind))
    return { ...rest, message: `The message is not shown, as ${why}` };
  if (kind === "invalidOutput")
    return { ...rest, message: `What it gives cannot be stored: details are not shown, as ${why}` };
  return { ...rest, message: kind === "tooLarge" ? message.replace(PLACE, "") : message };
}

/** A problem without a value that Convex shows because it has refused it. */
export function withoutShownValues(problem: Problem, why: string): Problem {
  if (!SHOWS_VALUES.test(problem.message)) return problem;
  const { data: _data, ...rest } = problem;
  const refused = `Convex has refused its arguments or its result; the value is not shown, as ${why}`;
  return { ...rest, message: refused };
}

/** The deepest that arguments may be nested, and what those of any call may take. */
const MAX_ARGS_DEPTH = 64;
const MAX_ARGS_BYTES = 16 * 1024 * 1024;

/**
 * Calls a function of the app. @throws a {@link Failure} if it is gone, or its arguments or its
 * result are refused.
 */
export async function callFor<Result>(
  stage: string,
  args: unknown = {},
  call: () => Promise<Result>,
): Promise<Result> {
  const unfit = (why: string, isTooLarge = false) =>
    new Failure(
      isTooLarge ? "tooLarge" : "invalidOutput",
      `The args of "${stage}" cannot be passed: ${why}`,
    );
  if (Object.prototype.toString.call(args) !== "[object Object]") throw unfit("they are no object");
  const misshape = misshapeOf(args, "args", MAX_ARGS_DEPTH);
  if (misshape) throw unfit(misshape.text, misshape.isTooLarge);
  try {
    convexToJson(args as Value);
  } catch (error) {
    throw unfit((error as Error).message);
  }
  const bytes = getConvexSize(args as Value);
  if (bytes > MAX_ARGS_BYTES)
    throw unfit(
      `they take ${bytes} bytes of ${MAX_ARGS_BYTES}. Pass ids, and load what they name`,
      true,
    );
  try {
    return await call();
  } catch (error) {
    throw missing(stage, error) ?? refusedResult(stage, error) ?? error;
  }
}

/** How a deployment, and convex-test, say that there is no such function. */
const MISSING =
  /^(?:Could not find (?:public )?function for '|Could not find module for: |Expected a Convex function exported from module )/;

/** Says whether a call has failed because there is no such function. */
export const isMissing = (error: unknown): error is Error =>
  error instanceof Error && MISSING.test(error.message);

function missing(stage: string, error: unknown): Failure | undefined {
  if (!isMissing(error)) return undefined;
  const [what] = error.message.split("\n");
  return new Failure("removedNode", `The function of "${stage}" no longer exists: ${what}`);
}

/** How Convex says that a value is not a Convex value. */
const REFUSED =
  /\bis not a (?:supported Convex type|valid Convex value)|\bdoes not fit into a 64-bit|^(?:Uncaught Error: )?(?:Field name |Return value is a Query)/;
/** Stack frames of Convex: it checks a result, calls itself, or has called a function. */
const CONVERSION = /\bconvex\/(?:src|dist\/esm)\/values\/|^validateReturnValue /;
const BETWEEN = /\(<anonymous>\)$/;
const INVOCATION = /^(?:async )?invoke\w+ .*\bregistration_impl\b/;

/** The stage's failure if a function's result was refused; undefined if something else was. */
function refusedResult(stage: string, error: unknown): Failure | undefined {
  if (!(error instanceof Error) || error instanceof ConvexError) return undefined;
  // Only a deployment puts the stack into the message, which tells where the value came from.
  const frames = [...error.message.matchAll(/^\s+at (.+)$/gm)].map(([, frame = ""]) => frame);
  const ofResult = [CONVERSION, BETWEEN, INVOCATION];
  const isRefused =
    frames.length === 0
      ? REFUSED.test(error.message)
      : frames.some((frame) => CONVERSION.test(frame)) &&
        frames.every((frame) => ofResult.some((where) => where.test(frame)));
  if (!isRefused) return undefined;
  return new Failure(
    "invalidOutput",
    `The result of "${stage}" cannot be stored: ${cleaned(error.message)}`,
  );
}
