import { misshapeOf } from "@stepwise/workpool/core";
import { ConvexError, convexToJson, getConvexSize, type Value } from "convex/values";
import { cleaned, Failure } from "./failure.js";

/* Calls functions of the app, and tells a call that is refused from a function that throws. */

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
  const misshape = misshapeOf(args, "args", MAX_ARGS_DEPTH);
  if (misshape) throw unfit(misshape.text, misshape.isTooLarge);
  if (Object.prototype.toString.call(args) !== "[object Object]") throw unfit("they are no object");
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
